"""Shading over a plane: values stand where their parameters are."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures


def plane(nx=5, ny=4):
    x, y = np.linspace(0, 2, nx), np.linspace(10, 13, ny)
    return xr.DataArray(x[:, None] + 10 * y, {"a": x, "b": y}, ("a", "b"))


def drawn(values, **more):
    words = {"label": "value", "x_label": "a", "y_label": "b", "alt": "A made-up plane for tests."}
    return figures.heat(values, x="a", y="b", **words, **more)


def test_cells_are_centred_on_their_parameters_and_carry_their_values():
    ax = drawn(plane()).render().axes[0]
    mesh = ax.collections[0]
    np.testing.assert_allclose(mesh.get_array(), plane().values.T)
    centres = mesh.get_coordinates()[:-1, :-1] + np.diff(mesh.get_coordinates()[:, 0], axis=0).mean(0) / 2
    np.testing.assert_allclose(centres[:, 0, 1], plane().b, atol=1e-9)
    np.testing.assert_allclose(drawn(plane().T).render().axes[0].collections[0].get_array(), plane().values.T)


def test_few_columns_have_a_tick_each_where_they_were_measured():
    uneven = plane().assign_coords(a=[0.0, 0.1, 0.3, 0.9, 2.0])
    ax = drawn(uneven).render().axes[0]
    assert ax.get_xticks().tolist() == uneven.a.values.tolist() and ax.get_yticks().tolist() == [10, 11, 12, 13]
    many = drawn(plane(nx=9)).render().axes[0]
    assert many.get_xticks().tolist() != plane(nx=9).a.values.tolist()


def test_a_boundary_does_not_widen_the_plane():
    without, with_line = (drawn(plane(), **more).render().axes[0] for more in ({}, {"boundary": ([-9, 9], [0, 99])}))
    assert without.get_xlim() == with_line.get_xlim() and without.get_ylim() == with_line.get_ylim()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="labels along 'a' must be two or more and rise"):
        drawn(plane().isel(a=slice(None, None, -1)))
    with pytest.raises(ValueError, match=r"heat boundary: shapes are \(3,\) along 'a' and \(2,\) along 'b'"):
        drawn(plane(), boundary=([0, 1, 2], [10, 13]))
    with pytest.raises(ValueError, match="heat values: none is finite"):
        drawn(plane() * np.nan)
    with pytest.raises(ValueError, match="dimensions are"):
        drawn(plane().rename(a="c"))
