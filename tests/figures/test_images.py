import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures

say = {"alt": "A made-up picture for tests."}


def maps():
    values = np.arange(2 * 3 * 4 * 5 * 6, dtype=float).reshape(2, 3, 4, 5, 6)
    coords = {"stage": ["early", "late"], "digit": [0, 4, 9], "layer": [0, 1, 2, 3]}
    return xr.DataArray(values, dims=("stage", "digit", "layer", "row", "column"), coords=coords)


def shown(fig):
    """Images by panel, row and column, each found at its own place."""
    axes = [sorted(ax.images, key=lambda im: (im.get_extent()[2], im.get_extent()[0])) for ax in fig.axes]
    return [[images[4 * i : 4 * i + 4] for i in range(3)] for images in axes]


def test_every_image_stands_in_its_row_and_column_of_its_panel():
    # Any order of dimensions.
    shuffled = maps().transpose("row", "layer", "stage", "column", "digit")
    fig = figures.images(shuffled, x="layer", y="digit", panel="stage", **say).render()
    found = np.array([[[im.get_array() for im in row] for row in panel] for panel in shown(fig)])
    np.testing.assert_array_equal(found, maps())
    for ax, stage in zip(fig.axes, ("early", "late"), strict=True):
        assert ax.get_title(loc="left") == stage
        assert [t.get_text() for t in ax.get_yticklabels()] == ["0", "4", "9"]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "2", "3"]
        assert ax.yaxis_inverted() and {im.origin for im in ax.images} == {"upper"}


def test_a_column_of_a_panel_has_one_grey_scale_and_uses_all_of_it():
    fig = figures.images(maps(), x="layer", y="digit", panel="stage", **say).render()
    limits = np.array([[[im.get_clim() for im in row] for row in panel] for panel in shown(fig)])
    columns = maps().transpose("stage", "layer", "digit", "row", "column").values.reshape(2, 4, -1)
    np.testing.assert_array_equal(limits[..., 0], np.repeat(columns.min(-1)[:, None], 3, axis=1))
    np.testing.assert_array_equal(limits[..., 1], np.repeat(columns.max(-1)[:, None], 3, axis=1))


def test_one_grid_without_panels():
    fig = figures.images(maps()[0], x="layer", y="digit", **say).render()
    assert len(fig.axes) == 1 and len(fig.axes[0].images) == 12


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="images maps: dimensions"):
        figures.images(maps(), x="layer", y="digit", **say)
    with pytest.raises(ValueError, match="not finite"):
        figures.images(maps().where(maps() > 0), x="layer", y="digit", panel="stage", **say)
