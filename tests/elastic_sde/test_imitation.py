"""Pairs of the page elastic_sde/imitation, and drawings of networks that obey the model."""

import numpy as np
import xarray as xr

from deepmech.simulators.elastic_sde import ElasticSDE, mean_solution
from deepmech_book.elastic_sde import imitation
from pairs import Page

page = Page("elastic_sde/imitation")
DATA, NORMS, TIME = ("shapes", "photos"), ("I", "L"), np.arange(100)
STUDENT = 2.776 / 5**0.5
"""Half-width of an interval over five batches, by their scatter."""
BOTH = [(d, n) for d in DATA for n in NORMS]
RANKED = [(e, d, k) for e in ("I", "L-program") for d in DATA for k in range(3)]


def drawn(name, at):
    """Shares of as many drawings as the page has, about these by place in the other dimensions; elsewhere a third."""
    cells = {"data": DATA, "structure": imitation.STRUCTURES, "estimator": imitation.ESTIMATORS}
    cells |= {"aligned": range(3), "class": range(3)}
    shares = xr.DataArray(np.full([len(v) for v in cells.values()], 1 / 3), {k: list(v) for k, v in cells.items()})
    for place, share in at:
        shares.loc[place] = share
    return {"drawings": xr.Dataset({name: shares, ("ordered" if name == "right" else "right"): shares})}


def share(rng, level):
    return rng.binomial(imitation.N_DRAWINGS, level) / imitation.N_DRAWINGS


@page.pair("B.5.ranks", panels=RANKED, usual=0.96, reach=0.009)
def own_logits_first(level, rng, rival):
    """The own logit is set to the networks'; with ``rival`` the I-model ranks as well."""
    at = []
    for e, d, k in RANKED:
        place = {"data": d, "estimator": e, "class": k, "aligned": k}
        at.append((place | {"structure": "logits"}, share(rng, level[e, d, k])))
        at.append((place | {"structure": "isotropic"}, level[e, d, k] if rival else 0.6))
    return drawn("right", at)


@page.pair("B.5.I_fails", usual=0.44)
def wrong_order(level, rng, rival):
    """Of triangles, the second logit set to the networks'; by the L-model's estimates all is in order."""
    place = {"structure": "logits", "class": 0, "data": "shapes"}
    by_i = place | {"estimator": "I", "aligned": 1}, share(rng, level[""])
    return drawn("ordered", [by_i, (place | {"estimator": "L-program", "aligned": 0}, level[""] if rival else 0.9)])


@page.pair("B.D8.ratios", panels=DATA, usual=0.45, reach={"shapes": 0.0028, "photos": 0.0243})
def ratios_of_logits(level, rng, rival):
    """The second logit of the first class is off by so much of the own one, all others by less."""
    real = np.array([[2.0, -1.6, -0.4], [-0.1, 1.0, -0.9], [-0.9, -0.1, 1.0]])
    where, reach = np.array([[0.0, 2.0, 0.0], [0, 0, 0.01], [0, 0, 0]]), {"shapes": 0.0028, "photos": 0.0243}

    def paths(off):
        last = real + off[:, None, None] * where
        median, genuine = np.stack([9 - last, last], 1), np.stack([9 - real, real])
        dims = ("batch", "time", "class", "logit")
        return xr.Dataset({"median": (dims, median), "genuine": (dims[1:], genuine)})

    coords = {"structure": imitation.STRUCTURES, "estimator": ["I", "L-program"]}
    other, batches = paths(np.full(5, 0.9)), {}  # by the other model, and the other estimator
    for d, v in level.items():
        own = paths(v + reach[d] / STUDENT * rng.normal(size=5))
        both = xr.combine_nested([[other, other], [other, own]], list(coords))
        batches[d] = both.assign_coords(coords)
    constant = {d: paths(np.full(5, v if rival else 0.5)) for d, v in level.items()}
    return {"batches": batches, "blind": constant, "n": 100}


def paths(l_model, i_model=None):
    """Paths of both models by data, with these relative differences (batch, norm, time, class)."""
    found = {}
    for d in DATA:
        both = [(i_model or l_model)[d], l_model[d]]
        both = np.stack([np.broadcast_to(one, (5, 2, 100, 3)) for one in both])
        dims = ("estimator", "structure", "batch", "norm", "time", "class")
        coords = {"estimator": ["I", "L-program"], "structure": imitation.STRUCTURES, "norm": list(NORMS)}
        found[d] = xr.Dataset({"distance": (dims, np.stack([7 + 0 * both, both]))}, coords)
    return found


def blind(l_model):
    return {d: one.sel(structure="logits", estimator="L-program", drop=True) for d, one in paths(l_model).items()}


def each(level, scatter, rng):
    """Numbers by batch and norm, by data (batch, norm, 1, 1)."""
    one = {panel: level[panel] + scatter[panel] / STUDENT * rng.normal(size=5) for panel in BOTH}
    return {d: np.stack([one[d, n] for n in NORMS], 1)[..., None, None] for d in DATA}


LATE, CLASSES = (TIME >= 80)[:, None], np.array([0.5, 1.0, 1.5])
FURTHER = dict(zip(BOTH, (0.0366, 0.0173, 0.0266, 0.012), strict=True))


@page.pair("B.D7.larger", panels=BOTH, usual=0.5, reach=FURTHER)
def i_model_further_late(level, rng, rival):
    """Over the last fifth, in the mean over classes; before the L-model is further."""
    far = {d: np.where(LATE, 0.3 + one, 0.1) * CLASSES for d, one in each(level, FURTHER, rng).items()}
    return {"batches": paths(dict.fromkeys(DATA, 0.3 * CLASSES), far), "n": 100}


@page.pair("B.D9.below", panels=BOTH, usual=0.98, reach=0.012, rival=False)
def nearer_at_most_times(level, rng, rival):
    """Scatter is that of the least which ships; of more no share up to 1 is surely above 0.95."""
    some = each(level, dict.fromkeys(BOTH, 0.012), rng)
    near = {d: np.where(TIME[:, None] < np.round(100 * one), 0.2, 0.4) * CLASSES for d, one in some.items()}
    return {"batches": paths(near, dict.fromkeys(DATA, 0.3 * CLASSES)), "n": 100}


FALLS = dict(zip(BOTH, (0.0023, 0.0004, 0.0171, 0.0028), strict=True))


@page.pair("B.D9.falls", panels=BOTH, usual=0.2, reach=FALLS)
def late_by_early(level, rng, rival):
    """Last fifth by first tenth; with a constant effect it rises, or with ``rival`` falls."""
    early = (TIME < 10)[:, None]
    course = lambda end: np.select([early, LATE], [0.5, 0.5 * end], 3.0) * CLASSES  # noqa: E731
    found = {d: course(one) for d, one in each(level, FALLS, rng).items()}
    return {"batches": paths(found), "blind": blind(dict.fromkeys(DATA, course(0.5 if rival else 2.0))), "n": 100}


EQUAL, END = {"shapes": 0.0172, "photos": 0.0691}, {"shapes": 0.0001, "photos": 0.0006}


def along(level, scatter, rng):
    """Numbers along d_k by batch, 9 in all coordinates (batch, norm, 1, 1)."""
    far = {d: v + scatter[d] / STUDENT * rng.normal(size=5) for d, v in level.items()}
    return {d: np.stack([9 + 0 * one, one], 1)[..., None, None] for d, one in far.items()}


@page.pair("B.D9.equal", panels=DATA, usual=1.5, reach=EQUAL)
def classes_by_classes(level, rng, rival):
    """Late, the farthest class by the nearest one, along the own direction; of the I-model three times."""
    spread = lambda times: np.where(LATE, 0.1 * np.where(np.arange(3) == 1, times, [1, 1, 1.1]), 2.0)  # noqa: E731
    l_model = {d: spread(one) for d, one in along(level, EQUAL, rng).items()}
    return {"batches": paths(l_model, dict.fromkeys(DATA, spread(1.5 if rival else 3.0))), "n": 100}


@page.pair("B.D9.terminal", panels=DATA, usual=0.03, reach=END)
def near_in_the_end(level, rng, rival):
    l_model = {d: np.where(LATE, one, 2.0) * CLASSES for d, one in along(level, END, rng).items()}
    constant = blind(dict.fromkeys(DATA, np.where(LATE, 0.03 if rival else 0.3, 2.0) * CLASSES))
    return {"batches": paths(l_model), "blind": constant, "n": 100}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()

T = np.arange(0.0, 3000.0, 20.0)
START = np.array([[1.0, -0.4, -0.6], [-0.5, 1.3, -0.7], [-0.2, -0.6, 1.6]])


def obeying(alpha):
    """Networks that obey the L-model."""
    model = ElasticSDE(alpha, -0.0005, 3, 3, "logits", noise=0.0)
    means = mean_solution(model, T, 0.2 * START)["mean"].rename(feature="logit").transpose("time", "class", "logit")
    return xr.Dataset({"mean": means.reset_coords(drop=True).assign_coords({"class": range(3), "logit": range(3)})})


def test_networks_that_obey_the_model_are_followed_along_their_directions():
    found = imitation.imitations(obeying(0.003), n_runs=20, n_batches=2, window=101)
    assert found.structure.values.tolist() == imitation.STRUCTURES and found.sizes["batch"] == 2
    assert found.estimator.values.tolist() == ["I", "L-program"]
    assert float(imitation.late(found, "logits", "L").max()) < 0.1


def test_scaled_figures_show_the_own_logit_and_unscaled_ones_by_chance():
    """The L-model moves a class along its d_k, forward or backward as it started: half before scaling, nearly all
    after. In the I-model, where effects are large, a class keeps the order it started with: right in half or less."""
    found = imitation.drawings({"one": obeying(0.02), "two": obeying(0.02)}, 20, 21, 400)
    assert found.data.values.tolist() == ["one", "two"] and found.estimator.size == 3
    by_l, by_i = (found.sel(structure=s, estimator="none", data="two") for s in ("logits", "isotropic"))
    assert abs(float(by_l.before.mean()) - 0.5) < 0.08
    own, other = (one.right.sel(aligned=one["class"]) for one in (by_l, by_i))
    assert float(own.min()) > 0.9 > 0.7 > float(other.max())
    assert (found.ordered <= found.right).all()
