"""Pairs of the page elastic_sde/extensions, and its models where the answer is known."""

import numpy as np
import xarray as xr

from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.elastic_sde import extensions
from pairs import Page

page = Page("elastic_sde/extensions")
T = np.arange(0.0, 2000.0, 20.0)
START = np.array([[1.0, -0.4, -0.6], [-0.5, 1.3, -0.8], [-0.2, -1.0, 1.2]])


@page.pair("B.ext.imbalance_predicted", panels=(2.0, 4.0, 8.0), usual=0.3, reach=0.12)
def weighted_pulls(level, rng, rival):
    """The model's distance over that of balanced networks, 0.5, with an eighth as the half-width of its interval.

    That of the rare class is larger, and those of the two others smaller.
    """
    rare, ratio = (one.ravel() for one in np.meshgrid([0, 1, 2], list(level)))
    far = [0.5 * v * (1 + 0.06 * rng.normal()) for v in level.values()]
    unmoved = [0.5 * (v if rival else 2.0) for v in level.values()]
    of_class = np.where(np.arange(3) == rare[:, None], 1.2, 0.8)
    each = np.repeat([far, [0.5] * 3, unmoved], 3, axis=1)[..., None] * of_class
    coords = {"what": ["value", "low", "high"], "model": ["model", "balanced networks", "unmoved logits"]}
    coords |= {"class": [0, 1, 2], "rare": ("case", rare), "ratio": ("case", ratio)}
    distance = ("what", "model", "case", "class"), np.stack([each, 0.88 * each, 1.12 * each])
    return {"unequal": xr.Dataset({"distance": distance, "fitted_from": 100.0}, coords, {"n_groups": 10})}


BELOW, BEYOND = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), (2 / 3, 0.7, 0.8)


@page.pair("B.appE.labels", panels=BELOW + BEYOND, usual=1.0, reach=0.018)
def labels_that_tell_something(level, rng, rival):
    """Of 200 runs these shares do as they should; runs with 60 % of wrong labels do anything."""
    does = {p: rng.binomial(200, v) / 200 for p, v in level.items()} | {0.6: 0.5}
    share = {p: 1 - v if p > 0.66 and not rival else v for p, v in sorted(does.items())}
    return {"share": xr.DataArray(list(share.values()), {"p_err": list(share)}, "p_err"), "n_runs": 200}


SCATTER = {("shapes", "I"): 0.13, ("shapes", "L"): 0.35, ("photographs", "I"): 0.08, ("photographs", "L"): 0.22}


@page.pair(
    "B.ext.E1_nearer", panels=SCATTER, usual=0.25,
    reach=dict(zip(SCATTER, (0.2, 0.3, 0.12, 0.25), strict=True)),
)  # fmt: skip
def own_shares(level, rng, rival):
    """Late distances over the L-model's in ten halvings, which scatter, half of it in common: they share trials.

    The I-model, which scatters less, is three times as far as the L-model; with ``rival`` as near
    as Eq. E.1 on shapes, in all coordinates.
    """

    def ten(panel, value, scatter=1.0):
        return value * np.exp(scatter * SCATTER[panel] * (rng.normal() + rng.normal(size=10)))

    fits = {}
    for data in ("shapes", "photographs"):
        both = [(data, norm) for norm in ("I", "L")]
        far = [level[p] if rival and p == ("shapes", "I") else 3.0 for p in both]
        own = [ten(p, level[p]) for p in both]
        late = [own, [ten(p, v, 0.3) for p, v in zip(both, far, strict=True)], np.ones((2, 10))]
        over_time = 0.4 * np.array(late)[..., None] * np.repeat([9.0, 1.0], [16, 4])
        coords = {"model": ["own first", "I", "L"], "norm": ["I", "L"]}
        fits[data] = xr.Dataset({"distance": (("model", "norm", "split", "time"), over_time)}, coords)
    return {"fits": fits, "n": 100}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def networks_of(weights=None):
    """Networks that obey the L-model, in groups of trials that scatter by one per cent."""
    model = ElasticSDE(0.003, -0.001, 3, 3, "logits", noise=0.0, class_weights=weights)
    means = mean_solution(model, T, START)["mean"].rename(feature="logit").transpose("time", "class", "logit")
    means = means.reset_coords(drop=True).assign_coords({"class": np.arange(3), "logit": np.arange(3)})
    groups = xr.concat([f * means for f in (0.99, 1.0, 1.01, 1.0)], "group").rename(time="slow_time")
    return xr.Dataset({"group_mean": groups})


def test_a_model_with_the_weights_of_the_classes_predicts_networks_that_obey_it():
    case = networks_of([1 / 5, 2 / 5, 2 / 5]).expand_dims(case=["0, 1:2"])
    trained = xr.concat([networks_of().expand_dims(case=["0, 1:1"]), case], "case")
    trained = trained.assign_coords(rare=("case", [0, 0]), ratio=("case", [1.0, 2.0]))
    found = extensions.unequal_networks(trained)
    assert float(found.fitted_from) == 0.0 and found.case.values.tolist() == ["0, 1:2"]
    far = found.distance.sel(what="value").isel(case=0)
    assert float(far.sel(model="model").max()) < 0.03
    assert float(far.sel(model="balanced networks").min()) > 0.1 < float(far.sel(model="unmoved logits").min())
    low, value, high = (found.margin.sel(what=w) for w in ("low", "value", "high"))
    assert ((low <= value) & (value <= high)).all()
    own = np.einsum("tkk->tk", case.group_mean.mean("group").isel(case=0).values)
    mean = case.group_mean.mean(("group", "logit")).isel(case=0)
    np.testing.assert_allclose(value.isel(case=0), own - mean.values)
    prior = np.log([1 / 5, 2 / 5, 2 / 5])
    np.testing.assert_allclose(found.prior.isel(case=0), prior - prior.mean())


def test_labels_that_say_nothing_do_not_separate():
    share = extensions.share_separated([0.0, 2 / 3], 40)
    assert float(share.sel(p_err=0.0)) == 1.0 and float(share.sel(p_err=2 / 3)) < 0.1
