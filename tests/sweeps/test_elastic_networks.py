"""LeNet experiments of paper B: what cells keep of a log, and measures on data whose answer is known."""

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from slices import TRIALS, cells

from deepmech import over
from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution, mixed_logits
from deepmech.sweeps import run
from deepmech.trainers import SingleSample, train_lenet
from deepmech_book.elastic_sde import logits, paths, readings
from deepmech_book.sweeps.elastic_sde import extension_models, networks
from deepmech_book.sweeps.elastic_sde.data import SETTINGS, images
from deepmech_book.sweeps.elastic_sde.paths import tabulated_paths


def test_what_a_cell_keeps_is_what_the_log_holds():
    fixed = {k: v for k, v in TRIALS.items() if k != "label_error"} | {"n_trials": 20}
    made = networks.train_cells(cells({"label_error": 0.25}), **fixed).isel(cell=0)
    data = images("geomnist", 3, 12, 5)
    log = train_lenet(
        SingleSample(iterations=40, label_error=0.25), data, seed=over("trial", range(20)), record=[0, 40],
        experiment="elastic networks",
    )  # fmt: skip
    z, label, true = (log[n].values for n in ("logits", "label", "true_class"))
    for k, block, (by, name) in itertools.product(range(3), range(2), ((label, "mean"), (true, "mean_true"))):
        part = slice(20 * block, 20 * block + 20)
        own, tenth = (z[:n, part][by[:n, part] == k].astype(float) for n in (20, 10))
        np.testing.assert_allclose(made[name].values[block, k], own.mean(0), rtol=3e-4, atol=1e-6)
        np.testing.assert_allclose(made[f"group_{name}"].values[0, block, k], tenth.mean(0), rtol=3e-4, atol=1e-6)
        if by is label:
            assert made["count"].values[block, k] == len(own)
            np.testing.assert_allclose(made["spread"].values[block, k], own.std(0), rtol=3e-4, atol=1e-6)
    np.testing.assert_allclose(made["loss"], log["loss"].values.reshape(20, 2, 20).mean((0, 2)), rtol=3e-4)
    right = (z.argmax(-1) == label).reshape(20, 2, 20).mean((0, 2))
    np.testing.assert_allclose(made["accuracy"], right, rtol=3e-4)
    np.testing.assert_allclose(made["validation_loss"], log["validation_loss"], rtol=3e-4)
    np.testing.assert_allclose(made["logits"].values[:, 1], z[:, 20], rtol=3e-4)


def test_a_rare_class_is_drawn_as_rarely_as_said():
    sweep = networks.trials("rare", rare=((0, 1.0), (2, 4.0)), n_trials=10, iterations=2000, n_checks=1)
    made = run(sweep)
    assert made["case"].values.tolist() == ["0, 1:1", "2, 1:4"]
    drawn = made["count"].sum("time").values / 20_000
    # Standard error of a share of 20,000 draws: below 0.0034.
    np.testing.assert_allclose(drawn, [[1 / 3] * 3, [4 / 9, 4 / 9, 1 / 9]], atol=0.014)
    with pytest.raises(ValueError, match="a class from 0 to 2"):
        networks.train_cells(cells({"rare": 3, "ratio": 2.0}), **TRIALS)


def test_rounding_keeps_leading_bits():
    x = Stream.of("rounding").normal("x", 0, 1000)
    kept = networks.rounded(x)
    assert np.abs(kept / x - 1).max() <= 2.0 ** -(networks.BITS + 1) * 1.001
    assert not np.any(kept.view(np.uint32) & np.uint32(2 ** (23 - networks.BITS) - 1))
    assert np.isnan(networks.rounded([np.nan]))[0] and networks.rounded([0.0])[0] == 0


def test_images_are_balanced():
    few, many = images("geomnist", 3, 4, 2), images("geomnist", 3, 9, 2)
    assert np.array_equal(np.bincount(many.y_train), [9, 9, 9]) and few.fingerprint != many.fingerprint
    # Training and validation images of a class are a grid of their own for each number of them.
    assert not np.array_equal(few.x_train, many.x_train[: len(few.x_train)])
    few, many = (images("geomnist-independent", 3, n, 2) for n in (4, 9))
    assert np.array_equal(few.x_train, many.x_train[: len(few.x_train)])
    two = images("geomnist", 2, 4, 2)
    assert two.n_classes == 2 and set(two.y_train) == {0, 1}
    with pytest.raises(ValueError, match="2 to 3"):
        images("geomnist", 4, 4, 2)


def test_the_published_sweeps_are_what_the_paper_says():
    sweep = networks.as_published("corruption")
    assert sweep.fixed["n_trials"] == 100 and sweep.fixed["iterations"] == 10_000 and sweep.fixed["per_class"] == 500
    assert sweep.cells["label_error"].values.tolist() == list(networks.LABEL_ERRORS)
    assert SETTINGS["geomnist"].learning_rate == 0.005


def by_the_model(structure, times):
    """Class means of a locally elastic model, as a result of trials would hold them."""
    start = np.array([[0.02, -0.01, 0.005], [-0.015, 0.034, 0.003], [0.01, -0.02, 0.025]])
    model = ElasticSDE(intra=0.004, inter=-0.001, n_classes=3, n_features=3, structure=structure)
    found = mean_solution(model, times, start)["mean"].rename(feature="logit").transpose("time", "class", "logit")
    return xr.Dataset({"mean": found.reset_coords(drop=True)})


@pytest.mark.parametrize(("structure", "model"), [("isotropic", "I"), ("logits", "L")])
def test_effects_of_the_model_are_found_again(structure, model):
    result = by_the_model(structure, np.arange(0.0, 3000.0, 10.0))
    found = readings.estimate(result, 101, (model,), start=10).isel(model=0)
    np.testing.assert_allclose(found["intra"], 0.004, rtol=1e-3)
    np.testing.assert_allclose(found["inter"], -0.001, rtol=5e-3)


def test_the_model_imitates_itself():
    times = np.arange(0.0, 3000.0, 10.0)
    result = by_the_model("logits", times)
    # Started where the networks start and driven by its own effects, it has nowhere else to go.
    same = paths.imitate(result, "L", "logits", window=51, n_runs=1, starts="genuine", n_times=300)
    assert float(same.distance.isel(time=slice(20, None)).max()) < 0.05
    assert np.all(same.right == 1)
    # From random starts the end is scaled to fit, in each batch of runs.
    blind = paths.imitate(result, "none", "logits", n_runs=400, n_batches=2)
    assert blind.sizes["batch"] == 2 and float(blind.right.min()) > 0.9
    last = blind.isel(time=blind.time > float(blind.time[-1]) - paths.LAST).mean("time")
    own = [last["median"][:, k, k] / last.genuine[..., k, k] for k in range(3)]
    np.testing.assert_allclose(own, 1.0, rtol=0.01)


def test_the_propagator_is_the_solution():
    t = np.arange(0.0, 500.0, 50.0)
    drive = xr.Dataset({"intra": ("time", 0.01 / (1 + t / 100)), "inter": ("time", -0.002 + 0 * t)}, {"time": t})
    start = Stream.of("propagator").normal("start", 0, (3, 3))
    for structure in ("isotropic", "logits"):
        steps = paths.propagator(drive, structure, t, 3)
        model = ElasticSDE(intra=drive["intra"], inter=drive["inter"], n_classes=3, n_features=3, structure=structure)
        whole = mean_solution(model, t, start)["mean"].transpose("time", "class", "feature")
        np.testing.assert_allclose(np.einsum("tabcd,cd->tab", steps, start), whole, rtol=1e-9, atol=1e-12)


def clouds(gap, n=60):
    """A result with three clouds of logits, ``gap`` apart in the directions of their classes."""
    s = Stream.of("clouds")
    label = (np.arange(2 * n).reshape(n, 2) % 3).astype(np.int8)
    z = s.normal("z", 0, (n, 2, 3)) + gap * np.eye(3)[label]
    mean = gap * np.eye(3)[None].repeat(20, 0)
    return xr.Dataset(
        {"logits": (("trial", "moment", "logit"), z), "label": (("trial", "moment"), label),
         "mean": (("time", "class", "logit"), mean)},
        {"class": range(3), "moment": [0, 9], "time": np.arange(20) * 100.0},
    )  # fmt: skip


def test_overlap_of_known_clouds():
    assert float(logits.overlap(clouds(20.0), slice(None)).max()) == 0
    found = clouds(20.0)
    order = Stream.of("mixed").permutation("order", 0, found.label.size)
    mixed = found.assign(label=found.label.copy(data=found.label.values.ravel()[order].reshape(found.label.shape)))
    assert float(abs(logits.overlap(mixed, slice(None)) - 0.5).max()) < 0.15
    # Two unit normals 3√2 apart along their difference: Φ(−3√2/√2) = Φ(−3) of pairs out of order.
    assert float(logits.overlap(clouds(3.0, 900), slice(None)).mean()) == pytest.approx(0.00135, abs=0.001)
    # Along a direction that tells two of three classes apart, the third is mixed with one of them or lies between.
    one = logits.overlap(clouds(20.0), slice(None), np.array([1.0, -1.0, 0.0]))
    assert one.shape == (3,) and np.all(one <= 0.5) and one.sel(pair="0, 1") == 0


def test_everything_runs_on_a_small_sweep():
    few = {"n_trials": 30, "iterations": 800, "thin": 10, "coarse": 100, "n_checks": 1}
    sweep = networks.trials("small", label_error=[0.0, 0.5], per_class=12, **few)
    made = run(sweep)
    assert made["mean"].sizes == {"label_error": 2, "time": 80, "class": 3, "logit": 3}
    found = readings.estimate(made, 175)
    assert np.isfinite(found["A"]).all() and set(found["A"].dims) == {"model", "label_error", "time"}
    # Three groups of trials have an interval, of two there is none.
    for groups, known in ((3, True), (2, False)):
        some = made.isel(group=slice(groups))
        assert readings.over_groups(some, lambda means: (means**2).mean(("time", "class", "logit"))).is_finite == known


def test_where_nobody_drew_a_class_its_neighbours_speak():
    times = np.arange(0.0, 300.0, 10.0)
    rows = np.outer(1 + times / 100, np.arange(1.0, 10.0)).reshape(-1, 3, 3)
    straight = xr.Dataset({"mean": (("time", "class", "logit"), rows)}, {"time": times})
    holes = straight.copy(deep=True)
    holes["mean"].values[[0, 7, 8, 29], 1] = np.nan
    xr.testing.assert_allclose(readings.class_means(holes), straight["mean"])
    assert readings.class_means(straight).identical(straight["mean"])


def test_images_are_drawn_with_replacement_where_asked():
    few, again = (images("geomnist", 3, 40, 10, seed, replacement=True) for seed in (0, 1))
    assert np.bincount(few.y_train).tolist() == [40] * 3 and np.bincount(few.y_test).tolist() == [10] * 3
    each = [len(np.unique(few.x_train[few.y_train == k], axis=0)) for k in range(3)]
    assert max(each) < 40  # of n drawn from n about n/e are missing
    assert few.fingerprint != images("geomnist", 3, 40, 10).fingerprint
    assert not np.array_equal(few.x_train, again.x_train)
    for which, n_classes in (("cifar-program", 3), ("cifar-program-2", 2)):
        fixed = networks.as_published(which).fixed
        assert fixed["replacement"] and fixed["n_classes"] == n_classes
        assert (fixed["per_class"], fixed["validation"]) == (2000, 500)


TIMES = np.arange(30) * 200.0 + 100.0
INTRA, INTER = 0.006 * np.exp(-TIMES / 2000), -0.002 * np.exp(-TIMES / 1500)
START = np.array([[0.06, -0.02, -0.04], [-0.03, 0.08, -0.05], [-0.04, -0.01, 0.05]])
WEIGHTS = np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("own", [1.0, 0.6])
def test_fast_paths_are_the_solution_with_unequal_classes(own):
    # A model takes effects over the time since the first record.
    intra, inter = (xr.DataArray(e, {"time": TIMES - TIMES[0]}, "time") for e in (INTRA, INTER))
    model = ElasticSDE(intra, inter, 3, 3, structure=mixed_logits(3, own), class_weights=WEIGHTS)
    exact = mean_solution(model, (TIMES - TIMES[0])[::7], START)["mean"].transpose("time", "class", "feature")
    rule, z = ("L", np.empty(0)) if own == 1 else ("one share", np.array([0.2 / own]))
    parts = extension_models.drift(rule, z, WEIGHTS)
    made = (tabulated_paths(parts, INTRA, INTER, START, 200.0, n)[::7] for n in (1, 2, 4))
    error = [abs(path - exact.values).max() / abs(exact.values).max() for path in made]
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
    pure = np.stack([mixed_logits(3, 1.0)[0, j] for j in range(3)])
    np.testing.assert_allclose(blocks[0, 1], (rows[1][:, None, None] * pure).sum(0))
    with pytest.raises(ValueError, match="rows that add up to 1"):
        mixed_logits(3, 2 * rows)


@given(arrays.arrays(float, 6, elements=st.floats(0, 1)))
def test_shares_add_up_obey_the_condition_and_are_read_back(z):
    for rule in ("one share", "own first", "all shares"):
        share, factor = extension_models.constants(rule, z[:1] if rule == "one share" else z, 3)
        np.testing.assert_allclose(share.sum(1), 1.0)
        assert share.min() >= 0 and np.all(factor == 1)
        assert rule == "all shares" or np.all(np.diag(share)[:, None] >= share - 1e-12)
        again = extension_models.constants(rule, extension_models.numbers(rule, share, factor), 3)[0]
        np.testing.assert_allclose(again, share, atol=1e-9)
    share, factor = extension_models.constants("pairs", z[:2], 3)
    assert np.array_equal(factor, factor.T) and factor[np.triu_indices(3, 1)].mean() == pytest.approx(1)
    np.testing.assert_allclose(extension_models.numbers("pairs", share, factor), z[:2], atol=1e-12)


def test_shares_lead_from_the_isotropic_model_to_the_l_model():
    x0 = START - START.mean(1, keepdims=True)

    def path(alpha, beta, structure):
        return mean_solution(ElasticSDE(alpha, beta, 3, 3, structure), [3.0], x0)["mean"].values

    np.testing.assert_allclose(path(1.0, -0.4, mixed_logits(3, 1.0)), path(1.0, -0.4, "logits"), rtol=1e-9, atol=1e-12)
    # With equal shares every class pulls along all directions alike, divided by K − 1.
    equal = path(1.0, -0.4, mixed_logits(3, 1 / 3))
    np.testing.assert_allclose(equal, path(1.0 / 2, -0.4 / 2, "isotropic"), rtol=1e-9, atol=1e-12)


def test_an_imaginary_step_gives_the_slope_of_a_path():
    z, at = np.array([0.3, 0.9, 0.1, 0.5, 0.7, 0.2]), np.eye(6)[4]

    def end(z):
        drift = extension_models.drift("all shares", z, WEIGHTS)
        return tabulated_paths(drift, INTRA, INTER, START, 200.0)[-1]

    slope = (end(z + 1e-6 * at) - end(z - 1e-6 * at)) / 2e-6
    np.testing.assert_allclose(end(z + 1e-30j * at).imag / 1e-30, slope, rtol=1e-6, atol=1e-9)


def path(rule, z, start=START):
    parts = extension_models.drift(rule, np.asarray(z, float), np.full(3, 1 / 3))
    return xr.DataArray(
        tabulated_paths(parts, INTRA, INTER, start, 200.0, 8),
        dims=("time", "class", "logit"), coords={"time": TIMES, "class": range(3)},
    )  # fmt: skip


def test_fits_find_the_model_and_its_shares_again():
    z = [0.12, 0.27, 0.38, 0.18, 0.62, 0.27]
    made = path("own first", z)
    found = extension_models.fit_all(made, ("L", "one share", "own first"))
    share = extension_models.constants("own first", np.array(z), 3)[0]
    # Knots cannot follow exponentials exactly; what is left is far below what simpler models leave.
    assert float(found["own first"]["cost"]) < 0.02 < 3 * float(found["L"]["cost"])
    np.testing.assert_allclose(found["own first"]["share"], share, atol=0.05)
    costs = [float(f["cost"]) for f in found.values()]
    assert costs[0] >= costs[1] >= costs[2]
    with pytest.raises(ValueError, match="must be one of I, L"):
        extension_models.fit(made, "E.1")


def groups_of(made, noise):
    """Six groups of trials around class means."""
    return made.expand_dims(group=6) + noise * Stream.of("groups").normal("g", 0, (6, *made.shape))


def test_what_the_fit_has_not_seen_is_measured():
    quiet, loud = (groups_of(path("L", []), noise) for noise in (1e-9, 0.06))
    first = extension_models.begins(loud)
    assert extension_models.begins(quiet) == 0 < first < 20
    groups = groups_of(path("L", []), 0.01)
    one, other = extension_models.halves(groups, 3)
    np.testing.assert_allclose((one + other) / 2, groups.mean("group"))
    found = extension_models.compare(groups.isel(time=slice(first, None)), 3, ("I", "L"))
    late = readings.late_mean(found["distance"].sel(norm="I"))
    # The right model is as near as other trials are; the wrong one is not.
    assert float(late.sel(model="L")) < 3 * float(late.sel(model="other trials")) < 0.1 * float(late.sel(model="I"))
    with pytest.raises(ValueError, match="do not rise above their noise"):
        extension_models.begins(-groups)


def test_trials_that_diverge_are_in_no_mean():
    # A step size at which some of twenty trials diverge within forty iterations.
    rate = {"learning_rate": 16.0}
    made = networks.train_cells(cells(rate), **TRIALS | {"n_trials": 20}).isel(cell=0)
    lost = np.isnan(made["validation_loss"].isel(at_iteration=-1)).values
    assert 0 < lost.sum() < 20 and int(made["left_out"]) == lost.sum()
    assert made["count"].sum() == 40 * (20 - lost.sum())
    for name in ("mean", "loss", "accuracy", "group_mean"):
        assert np.isfinite(made[name]).all(), name
    own = [TRIALS | {"n_trials": 1, "first_seed": i} for i in np.flatnonzero(~lost)]
    alone = [networks.train_cells(cells(rate), **one) for one in own]
    expected = np.mean([one["loss"].values[0] for one in alone], 0)
    np.testing.assert_allclose(made["loss"], expected, rtol=1e-3)
