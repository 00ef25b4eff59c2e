"""Planes of values, slices of landscapes and images: what is drawn stands where it was given."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures

say = {"alt": "A made-up plane for tests."}


def plane(nx=5, ny=4):
    x, y = np.linspace(0, 2, nx), np.linspace(10, 13, ny)
    return xr.DataArray(x[:, None] + 10 * y, {"a": x, "b": y}, ("a", "b"))


def drawn(values, **more):
    return figures.heat(values, x="a", y="b", **say, **more).render().axes[0]


def test_cells_are_centred_on_their_parameters_and_carry_their_values():
    many = plane(nx=9)
    mesh, turned = (drawn(one).collections[0] for one in (many, many.T))
    for one in (mesh, turned):
        np.testing.assert_allclose(one.get_array(), many.values.T)
    centres = mesh.get_coordinates()[:-1, :-1] + np.diff(mesh.get_coordinates()[:, 0], axis=0).mean(0) / 2
    np.testing.assert_allclose(centres[:, 0, 1], many.b, atol=1e-9)


def test_few_cells_are_oriented_as_phase_diagrams_and_carry_their_numbers():
    uneven = plane().assign_coords(a=[0.0, 0.1, 0.3, 0.9, 2.0]).rename(a="dropout", b="slope")
    ax = figures.heat(uneven, x="dropout", y="slope", **say).render().axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "0.1", "0.3", "0.9", "2"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["13", "12", "11", "10"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dropout probability", r"negative slope $\alpha$")
    values = {t.get_position(): float(t.get_text()) for t in ax.texts}
    assert values[0, 0] == pytest.approx(float(uneven[0, -1]), rel=0.05)
    assert values[4, 3] == pytest.approx(float(uneven[-1, 0]), rel=0.05)
    many = drawn(plane(nx=9))
    assert many.get_xticks().tolist() != plane(nx=9).a.values.tolist() and not many.texts


def test_numbers_of_cells_have_the_same_decimals():
    values = xr.DataArray([[0.06, 0.001], [-0.0085, 0.01]], {"a": [0.0, 1.0], "b": [0.0, 1.0]}, ("a", "b"))
    texts = {t.get_position(): t.get_text() for t in drawn(values).texts}
    assert texts == {(0, 0): "0.060", (0, 1): "0.001", (1, 0): "−0.009", (1, 1): "0.010"}


def test_slices_have_their_own_lengths_and_one_shading():
    u, of = np.linspace(-1, 1, 9), {"of": ["one", "two"]}
    bowls = [10.0 * (u[:, None] ** 2 + k * u**2) + 0.01 for k in (1, 4)]
    bowls = xr.DataArray(bowls, {**of, "u": u, "v": u}, ("of", "u", "v"))
    how = {
        "scale": xr.DataArray([1.0, 0.01], of),
        "marks": xr.DataArray(np.zeros((2, 3, 2)), of, ("of", "point", "axis")),
    }
    fig = figures.slices(bowls, x="u", y="v", panel="of", limits=(0.1, 100), **how, **say).render()
    one, two = fig.axes[:2]
    assert np.ptp(one.get_xlim()) == pytest.approx(100 * np.ptp(two.get_xlim()))
    meshes = [ax.collections[0] for ax in (one, two)]
    assert meshes[0].norm.vmin == meshes[1].norm.vmin == 0.1
    # x runs along u: the second bowl is steeper along v, which is upwards.
    shown = meshes[1].get_array().reshape(9, 9)
    assert shown[0, 4] == pytest.approx(40.01) and shown[4, 0] == pytest.approx(10.01) and shown[4, 4] == 0.1
    assert [t.get_text() for t in one.texts] == ["1", "2", "3"]


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
    alone = figures.images(maps()[0], x="layer", y="digit", **say).render()
    assert len(alone.axes) == 1 and len(alone.axes[0].images) == 12


def test_a_column_of_a_panel_has_one_grey_scale_and_uses_all_of_it():
    fig = figures.images(maps(), x="layer", y="digit", panel="stage", **say).render()
    limits = np.array([[[im.get_clim() for im in row] for row in panel] for panel in shown(fig)])
    columns = maps().transpose("stage", "layer", "digit", "row", "column").values.reshape(2, 4, -1)
    ends = np.stack([columns.min(-1), columns.max(-1)], -1)
    np.testing.assert_array_equal(limits, np.repeat(ends[:, None], 3, axis=1))


@pytest.mark.parametrize(
    ("words", "draw"),
    {
        "labels along 'a' must be two or more and rise": lambda: drawn(plane()[::-1]),
        "heat values: none is finite": lambda: drawn(plane() * np.nan),
        "heat values: dimensions are": lambda: drawn(plane().rename(a="c")),
        "slices limits": lambda: figures.slices(
            maps()[0, ..., 0], x="digit", y="row", panel="layer", limits=(0, 1), **say
        ),
        "images maps: dimensions": lambda: figures.images(maps(), x="layer", y="digit", **say),
        "images maps: some numbers are not finite": lambda: figures.images(
            maps()[0].where(maps()[0] > 0), x="layer", y="digit", **say
        ),
    }.items(),
)
def test_what_does_not_fit_is_refused(words, draw):
    with pytest.raises(ValueError, match=words):
        draw()
