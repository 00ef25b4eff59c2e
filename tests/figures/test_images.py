import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures

say = {"alt": "A made-up picture for tests."}


def maps():
    values = np.arange(2 * 3 * 4 * 5 * 6, dtype=float).reshape(2, 3, 4, 5, 6)
    coords = {"stage": ["early", "late"], "digit": [0, 4, 9], "layer": [0, 1, 2, 3]}
    return xr.DataArray(values, dims=("stage", "digit", "layer", "row", "column"), coords=coords)


def test_every_image_stands_in_its_row_and_column_of_its_panel():
    # Any order of dimensions.
    shuffled = maps().transpose("row", "layer", "stage", "column", "digit")
    fig = figures.images(shuffled, x="layer", y="digit", panel="stage", **say).render()
    shown = np.array([ax.images[0].get_array() for ax in fig.get_axes()])
    np.testing.assert_array_equal(shown.reshape(maps().shape), maps())
    assert [group.get_suptitle() for group in fig.subfigs] == ["early", "late"]


def test_a_column_of_a_panel_has_one_grey_scale_and_uses_all_of_it():
    fig = figures.images(maps(), x="layer", y="digit", panel="stage", **say).render()
    limits = np.array([ax.images[0].get_clim() for ax in fig.get_axes()]).reshape(2, 3, 4, 2)
    columns = maps().transpose("stage", "layer", "digit", "row", "column").values.reshape(2, 4, -1)
    np.testing.assert_array_equal(limits[..., 0], np.repeat(columns.min(-1)[:, None], 3, axis=1))
    np.testing.assert_array_equal(limits[..., 1], np.repeat(columns.max(-1)[:, None], 3, axis=1))


def test_one_grid_without_panels():
    fig = figures.images(maps()[0], x="layer", y="digit", **say).render()
    assert len(fig.get_axes()) == 12


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="images maps: dimensions"):
        figures.images(maps(), x="layer", y="digit", **say)
    with pytest.raises(ValueError, match="not finite"):
        figures.images(maps().where(maps() > 0), x="layer", y="digit", panel="stage", **say)
