"""Laws of inputs: every public function of arrays answers edge cases with numbers, or with an error of its own."""

import traceback
import warnings

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.core.estimates import linear_slope
from deepmech.core.random import Stream
from deepmech.metrics import curvature, elasticity, glass, relaxation, separability, separation
from deepmech.metrics.folds import FoldAssigner, FoldMoments
from deepmech_book.sweeps.glass import surfaces

STREAM = Stream.of("test laws of inputs", 0)
A, B, C = STREAM.normal("points", 0, (3, 12, 4))
Y, T = np.arange(12) % 3, np.arange(1.0, 31)
FALL = np.exp(-T / 8)
MEANS = 1 + STREAM.normal("means", 0, (3, 4, 4))
GROUP = np.arange(48) % 3


def timed(values, *dims):
    values = np.asarray(values)
    return xr.DataArray(values, {"time": np.arange(1.0, values.shape[-1] + 1)}, dims)


# Name -> a usual input, and the function of it.
CALLS = {
    "data_separation": (A, lambda a: separation.data_separation(a, Y)),
    "data_separation, D_hat": (A, lambda a: separation.data_separation(a, Y, "D_hat")),
    "data_separation, debiased": (A + Y[:, None], lambda a: separation.data_separation(a, Y, debias=True)),
    "curvature": (A, curvature.curvature),
    "descent": (A, curvature.descent),
    "probe_error": (A, lambda a: separation.probe_error(a, B[:, 0])),
    "probe_error, targets": (B[:, 0], lambda a: separation.probe_error(A, a)),
    "class_means": (np.stack([A, B, C]), lambda a: elasticity.class_means(a, [[0, 1] * 6] * 3, pool=3)),
    "margins": (MEANS, elasticity.margins),
    "integrated_effects, I": (MEANS, lambda a: elasticity.integrated_effects(a, "I").A),
    "integrated_effects, L": (MEANS, lambda a: elasticity.integrated_effects(a, "L").A),
    "relative_difference": (MEANS, lambda a: elasticity.relative_difference(a, MEANS)),
    "linearly_separable": (A, lambda a: separability.linearly_separable(a, B + 9)),
    "separable": (np.stack([A, B, C]), separability.separable),
    "separated_along": (np.stack([A, B, C]), lambda a: separability.separated_along(a, np.ones(4))),
    "separated_along, direction": (A[0], lambda a: separability.separated_along(np.stack([A, B]), a)),
    "etf_distance": (A[:3], separability.etf_distance),
    "displacement_sums": (A.ravel(), lambda a: glass.displacement_sums(a, B.ravel(), GROUP, 3, [0.1]).square),
    "displacement_sums, windows": (T, lambda a: glass.displacement_sums(A.ravel(), B.ravel(), GROUP, 3, a).square),
    "non_gaussian": (T[:2], lambda a: glass.non_gaussian(a, [3.0, 4.0], [5.0, 5.0])),
    "mixture_non_gaussian": (T[:2], lambda a: glass.mixture_non_gaussian(a, [5.0, 6.0])),
    "mixture_non_gaussian, counts": (T[:2], lambda a: glass.mixture_non_gaussian([5.0, 6.0], a)),
    "motility": (A.ravel(), lambda a: glass.motility(a, B.ravel())[0]),
    "Plane.through": (A[:3], lambda a: surfaces.Plane.through(a).axes),
    "decorrelation_time": (FALL, lambda a: relaxation.decorrelation_time(T, a).time),
    "decorrelation_time, times": (T, lambda a: relaxation.decorrelation_time(a, FALL).time),
    "exponent": (FALL, lambda a: relaxation.exponent(T, a).value),
    "exponent, x": (T, lambda a: relaxation.exponent(a, FALL).value),
    "collapse": (np.stack([FALL, FALL**2]), lambda a: relaxation.collapse(T, a, np.array([8.0, 4.0])).spread),
    "collapse, taus": (T[:2], lambda a: relaxation.collapse(T, np.stack([FALL, FALL**2]), a).spread),
    "decorrelation_times": (
        np.stack([FALL, FALL**2]),
        lambda a: relaxation.decorrelation_times(timed(a, "seed", "time")).tau,
    ),
    "local_powers": (A**2, lambda a: relaxation.local_powers(timed(a, "seed", "time"))),
    "linear_slope": (FALL, lambda a: linear_slope(T, a).value),
    "linear_slope, x": (T, lambda a: linear_slope(a, FALL).value),
}

EDGES = {
    "float32": lambda a: a.astype(np.float32),
    "whole": lambda a: (10 * a).astype(int),
    "list": np.ndarray.tolist,
    "tensor": torch.tensor,
    "zero": lambda a: 0 * a,
    "constant": lambda a: 0 * a + 3,
    "nan": lambda a: np.nan * a,
    "a nan": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 1, np.nan, a),
    "infinite": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 1, np.inf, a),
    "tiny": lambda a: 1e-300 * a,
    "huge": lambda a: 1e300 * a,
    "none": lambda a: a[:0],
    "no features": lambda a: a[..., :0],
    "one": lambda a: a[:1],
    "one feature": lambda a: a[..., :1],
}


@pytest.mark.parametrize("name", CALLS)
def test_edge_cases_give_numbers_or_an_error_of_our_own(name):
    usual, call = CALLS[name]
    for edge, of in EDGES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # nan and inf go through as such
            try:
                call(of(usual))
            except ValueError as error:
                where = traceback.extract_tb(error.__traceback__)[-1].filename
                assert "deepmech" in where, f"{name}, {edge}: {error}"


@pytest.mark.parametrize("name", CALLS)
def test_views_and_read_only_arrays_are_read_alike_and_left_alone(name):
    usual, call = CALLS[name]
    fixed = usual.copy()
    fixed.flags.writeable = False
    backwards = np.ascontiguousarray(usual[..., ::-1])[..., ::-1]
    for other in (fixed, backwards, usual.astype(">f8")):
        np.testing.assert_array_equal(np.asarray(call(other)), np.asarray(call(usual.copy())))


SCALE_FREE = [
    *("data_separation", "data_separation, D_hat", "data_separation, debiased", "curvature", "descent"),
    *("probe_error", "integrated_effects, I", "integrated_effects, L", "separated_along, direction"),
    *("etf_distance", "mixture_non_gaussian", "mixture_non_gaussian, counts"),
]


@pytest.mark.parametrize("name", SCALE_FREE)
@given(st.sampled_from([-290, -200, -160, -101, -99, 99, 101, 160, 200, 290]))
def test_a_measure_without_scale_has_none_wherever_the_numbers_are_finite(name, power):
    usual, call = CALLS[name]
    found = np.asarray(call(usual * 10.0**power))
    np.testing.assert_allclose(found, np.asarray(call(usual)), rtol=1e-6, atol=1e-9)


@given(st.lists(st.sampled_from([-300, -200, -120, -10, 0, 10, 25, 120, 200, 300]), min_size=3, max_size=3))
def test_sums_of_folds_have_no_scale_and_large_features_decide(powers):
    """Batches of one layer on scales of their own: as if the smaller ones were zero, where they are 1e100 smaller."""
    x, y = 5 * STREAM.normal("batches", 0, (3, 60, 4)) + np.arange(60)[:, None] % 3, torch.arange(60) % 3
    found, expected, deal = FoldMoments(3), FoldMoments(3), [FoldAssigner()] * 2
    for batch, power in zip(x, powers, strict=True):
        places = deal[0](y)
        relative = 10.0 ** (power - max(powers)) if power - max(powers) > -150 else 0.0
        found.update(torch.tensor(batch * 10.0**power), y, places)
        expected.update(torch.tensor(batch * relative), y, places)
    for debias in (False, True):
        assert found.separation(debias) == pytest.approx(expected.separation(debias), abs=1e-7, nan_ok=True)
        np.testing.assert_allclose(found.leave_one_out(debias), expected.leave_one_out(debias), atol=1e-6)


def test_curves_without_values_are_named():
    with pytest.raises(ValueError, match=r"collapse: curves: that of τ = 4 has fewer than two finite values"):
        relaxation.collapse(T, np.stack([FALL, np.full(30, np.nan)]), np.array([8.0, 4.0]))
    with pytest.raises(ValueError, match=r"linear_slope: x = .*two or more of them different"):
        linear_slope([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    for points in ([A[0], A[1], A[0]], [A[0], A[0], A[1]], [A[0], A[1], A[1]], [A[0]] * 3):
        with pytest.raises(ValueError, match=r"Plane.through: .* or two are the same"):
            surfaces.Plane.through(np.array(points))
