"""Slices of landscapes: what is drawn is what was given."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures

U = np.linspace(-1, 1, 9)
BOWLS = xr.DataArray(
    [10.0 * (U[:, None] ** 2 + k * U**2) + 0.01 for k in (1, 4)],
    {"of": ["one", "two"], "u": U, "v": U},
    ("of", "u", "v"),
)
WORDS = {"label": "energy", "alt": "Two bowls of one shading."}


def test_panels_have_their_own_lengths_and_one_shading():
    scale = xr.DataArray([1.0, 0.01], {"of": ["one", "two"]}, ("of",))
    marks = xr.DataArray(np.zeros((2, 3, 2)), {"of": ["one", "two"]}, ("of", "point", "axis"))
    fig = figures.slices(BOWLS, x="u", y="v", panel="of", scale=scale, marks=marks, limits=(0.1, 100), **WORDS).render()
    one, two = fig.axes[:2]
    assert np.ptp(one.get_xlim()) == pytest.approx(100 * np.ptp(two.get_xlim()))
    meshes = [ax.collections[0] for ax in (one, two)]
    assert meshes[0].norm.vmin == meshes[1].norm.vmin == 0.1
    # x runs along u: the second bowl is steeper along v, which is upwards.
    shown = meshes[1].get_array().reshape(9, 9)
    assert shown[0, 4] == pytest.approx(40.01) and shown[4, 0] == pytest.approx(10.01) and shown[4, 4] == 0.1
    assert [t.get_text() for t in one.texts] == ["1", "2", "3"]


def test_logarithms_need_positive_limits():
    with pytest.raises(ValueError, match="limits"):
        figures.slices(BOWLS, x="u", y="v", panel="of", limits=(0, 1), **WORDS)
