"""App. E of paper B against networks: fits and predictions on class means that obey a known model."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution, mixed_logits, tabulated_paths
from deepmech_book.experiments.elastic_sde import extensions, extensions_fit
from deepmech_book.experiments.elastic_sde.effects import late_mean

TIMES = np.arange(30) * 200.0 + 100.0
INTRA, INTER = 0.006 * np.exp(-TIMES / 2000), -0.002 * np.exp(-TIMES / 1500)
START = np.array([[0.06, -0.02, -0.04], [-0.03, 0.08, -0.05], [-0.04, -0.01, 0.05]])
WEIGHTS, ERROR = np.array([0.5, 0.3, 0.2]), 0.3


def tables():
    """The effects over the time since the first record, as a model takes them."""
    return [xr.DataArray(e, dims="time", coords={"time": TIMES - TIMES[0]}) for e in (INTRA, INTER)]


@pytest.mark.parametrize("own", [1.0, 0.6])
def test_fast_paths_are_the_solution_with_unequal_classes_and_wrong_labels(own):
    intra, inter = tables()
    model = ElasticSDE(
        intra=intra, inter=inter, n_classes=3, n_features=3, structure=mixed_logits(3, own), class_weights=WEIGHTS,
        label_mixing=ERROR,
    )  # fmt: skip
    exact = mean_solution(model, (TIMES - TIMES[0])[::7], START)["mean"].transpose("time", "class", "feature")
    rule, z = ("L", np.empty(0)) if own == 1 else ("one share", np.array([0.2 / own]))
    parts = extensions_fit.drift(rule, z, WEIGHTS, extensions_fit.evenly(3, ERROR))
    error = [
        abs(tabulated_paths(parts, INTRA, INTER, START, 200.0, n)[::7] - exact.values).max() / abs(exact.values).max()
        for n in (1, 2, 4)
    ]
    assert error[0] < 1e-3
    # Fourth order: halving the step divides the error by about 16.
    assert 11 < error[0] / error[1] < 22 and 11 < error[1] / error[2] < 22
    with pytest.raises(ValueError, match="two rows of one length"):
        tabulated_paths(parts, INTRA, INTER[1:], START, 200.0)


def test_shares_may_differ_between_classes():
    rows = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]])
    blocks = mixed_logits(3, rows)
    np.testing.assert_allclose(mixed_logits(3, np.where(np.eye(3) > 0, 0.6, 0.2)), mixed_logits(3, 0.6))
    # Every block has trace 1, as the projectors that it mixes have.
    np.testing.assert_allclose(np.einsum("ijaa->ij", blocks), 1.0)
    np.testing.assert_allclose(
        blocks[0, 1], (rows[1][:, None, None] * [mixed_logits(3, 1.0)[0, j] for j in range(3)]).sum(0)
    )
    with pytest.raises(ValueError, match="rows that add up to 1"):
        mixed_logits(3, 2 * rows)


@given(arrays.arrays(float, 6, elements=st.floats(0, 1)))
def test_shares_add_up_obey_the_condition_and_are_read_back(z):
    for rule in ("one share", "own first", "all shares"):
        share, factor = extensions_fit.constants(rule, z[:1] if rule == "one share" else z, 3)
        np.testing.assert_allclose(share.sum(1), 1.0)
        assert share.min() >= 0 and np.all(factor == 1)
        assert rule == "all shares" or np.all(np.diag(share)[:, None] >= share - 1e-12)
        again = extensions_fit.constants(rule, extensions_fit.numbers(rule, share, factor), 3)[0]
        np.testing.assert_allclose(again, share, atol=1e-9)
    share, factor = extensions_fit.constants("pairs", z[:2], 3)
    assert np.array_equal(factor, factor.T) and factor[np.triu_indices(3, 1)].mean() == pytest.approx(1)
    np.testing.assert_allclose(extensions_fit.numbers("pairs", share, factor), z[:2], atol=1e-12)


def test_an_imaginary_step_gives_the_slope_of_a_path():
    z, at = np.array([0.3, 0.9, 0.1, 0.5, 0.7, 0.2]), np.eye(6)[4]

    def end(z):
        drift = extensions_fit.drift("all shares", z, WEIGHTS, np.eye(3))
        return tabulated_paths(drift, INTRA, INTER, START, 200.0)[-1]

    slope = (end(z + 1e-6 * at) - end(z - 1e-6 * at)) / 2e-6
    np.testing.assert_allclose(end(z + 1e-30j * at).imag / 1e-30, slope, rtol=1e-6, atol=1e-9)


def path(rule, z, weights=(1 / 3, 1 / 3, 1 / 3), error=0.0, start=START):
    parts = extensions_fit.drift(rule, np.asarray(z, float), np.asarray(weights), extensions_fit.evenly(3, error))
    return xr.DataArray(
        tabulated_paths(parts, INTRA, INTER, start, 200.0, 8),
        dims=("time", "class", "logit"), coords={"time": TIMES, "class": range(3)},
    )  # fmt: skip


def test_fits_find_the_model_and_its_shares_again():
    z = [0.12, 0.27, 0.38, 0.18, 0.62, 0.27]
    made = path("own first", z)
    found = extensions_fit.fit_all(made, ("L", "one share", "own first"))
    share = extensions_fit.constants("own first", np.array(z), 3)[0]
    # Knots cannot follow exponentials exactly; what is left is far below what simpler models leave.
    assert float(found["own first"]["cost"]) < 0.02 < 3 * float(found["L"]["cost"])
    np.testing.assert_allclose(found["own first"]["share"], share, atol=0.05)
    costs = [float(f["cost"]) for f in found.values()]
    assert costs[0] >= costs[1] >= costs[2]
    with pytest.raises(ValueError, match="must be one of I, L"):
        extensions_fit.fit(made, "E.1")


def groups_of(made, noise=0.0, n=6):
    """Groups of trials around class means, as results hold them."""
    shake = noise * Stream.of("groups").normal("g", 0, (n, *made.shape))
    return (made.expand_dims(group=n) + shake).rename(time="slow_time")


def test_what_the_fit_has_not_seen_is_measured():
    quiet, loud = (groups_of(path("L", []), noise).rename(slow_time="time") for noise in (1e-9, 0.06))
    first = extensions_fit.begins(loud)
    assert extensions_fit.begins(quiet) == 0 < first < 20
    groups = groups_of(path("L", []), 0.01).rename(slow_time="time")
    one, other = extensions_fit.halves(groups, 3)
    np.testing.assert_allclose((one + other) / 2, groups.mean("group"))
    found = extensions_fit.compare(groups.isel(time=slice(first, None)), 3, ("I", "L"))
    late = late_mean(found["distance"].sel(norm="I"))
    # The right model is as near as other trials are; the wrong one is not.
    assert float(late.sel(model="L")) < 3 * float(late.sel(model="other trials")) < 0.1 * float(late.sel(model="I"))
    with pytest.raises(ValueError, match="do not rise above their noise"):
        extensions_fit.begins(-groups)


def test_own_effects_need_the_weights():
    groups = groups_of(path("L", [], WEIGHTS), 1e-4).rename(slow_time="time")
    found = extensions.own_effects(groups, WEIGHTS)
    assert float(found["cost"][0]) < 0.2 * float(found["cost"][1])
    assert float(found["distance"].sel(weights="as drawn", norm="I")) < 0.03
