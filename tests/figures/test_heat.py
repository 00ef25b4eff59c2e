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
    many = plane(nx=9)
    mesh = drawn(many).render().axes[0].collections[0]
    np.testing.assert_allclose(mesh.get_array(), many.values.T)
    centres = mesh.get_coordinates()[:-1, :-1] + np.diff(mesh.get_coordinates()[:, 0], axis=0).mean(0) / 2
    np.testing.assert_allclose(centres[:, 0, 1], many.b, atol=1e-9)
    np.testing.assert_allclose(drawn(many.T).render().axes[0].collections[0].get_array(), many.values.T)


def test_few_cells_are_oriented_as_phase_diagrams_and_carry_their_numbers():
    uneven = plane().assign_coords(a=[0.0, 0.1, 0.3, 0.9, 2.0]).rename(a="dropout", b="slope")
    fig = figures.heat(uneven, x="dropout", y="slope", alt="A made-up plane for tests.").render()
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "0.1", "0.3", "0.9", "2"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["13", "12", "11", "10"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dropout probability", r"negative slope $\alpha$")
    values = {t.get_position(): float(t.get_text()) for t in ax.texts}
    assert values[0, 0] == pytest.approx(float(uneven[0, -1]), rel=0.05)
    assert values[4, 3] == pytest.approx(float(uneven[-1, 0]), rel=0.05)
    many = drawn(plane(nx=9)).render().axes[0]
    assert many.get_xticks().tolist() != plane(nx=9).a.values.tolist() and not many.texts


def test_a_boundary_does_not_widen_the_plane():
    line = {"boundary": ([-9, 9], [0, 99])}
    without, with_line = (drawn(plane(nx=9), **more).render().axes[0] for more in ({}, line))
    assert without.get_xlim() == with_line.get_xlim() and without.get_ylim() == with_line.get_ylim()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="labels along 'a' must be two or more and rise"):
        drawn(plane().isel(a=slice(None, None, -1)))
    with pytest.raises(ValueError, match="heat values: none is finite"):
        drawn(plane() * np.nan)
    with pytest.raises(ValueError, match="dimensions are"):
        drawn(plane().rename(a="c"))


def test_numbers_of_cells_have_the_same_decimals():
    values = xr.DataArray([[0.06, 0.001], [-0.0085, 0.01]], {"a": [0.0, 1.0], "b": [0.0, 1.0]}, ("a", "b"))
    texts = {t.get_position(): t.get_text() for t in drawn(values).render().axes[0].texts}
    assert texts == {(0, 0): "0.060", (0, 1): "0.001", (1, 0): "−0.009", (1, 1): "0.010"}
