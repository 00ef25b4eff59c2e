"""Pairs of the page glass/kinks: networks without noise whose gradients, spans and times are known."""

import numpy as np
import xarray as xr

from deepmech_book.glass import kinks
from deepmech_book.sweeps.glass.kinks import KINDS, SETS
from pairs import Page

page = Page("glass/kinks")
N = 12
"""Networks of each kind and phase that ship."""
FAR = 0.55
"""What a rival is at that does not do as well."""
REACH = 2.201 / N**0.5
TIMES = np.unique(np.geomspace(1, 1e5, 300).round())
WAITS = [10_000, 50_000]


def around(level, reach, rng):
    """Numbers of networks whose mean is in truth ``level``, with an interval of this half-width."""
    return level + reach / REACH * rng.standard_normal(N)


def by_factors(level, reach, rng):
    """The same of a geometric mean."""
    return np.exp(around(np.log(level), reach / level, rng))


def run(tau=None, **values):
    """Networks whose overlaps fall to 0.9 after ``tau`` (of a source, by wait and network); by default as walks do."""
    sources = ["walk", *KINDS]
    times = {name: np.tile([[1000.0], [2000.0]], N) for name in sources} | (tau or {})
    made = xr.DataArray(np.stack([times[name] for name in sources]), {"source": sources}, ("source", "waiting", "seed"))
    time = xr.DataArray(TIMES, {"time": TIMES}, "time")
    one, sets = xr.DataArray(np.ones((2, N)), dims=("waiting", "seed")), xr.DataArray(list(SETS), dims="set")
    base = {"gradient_norm": 8 * one, "drift_norm": one, "cos_way": 0.1 * one, "cos_drift": 0.9999 * one}
    base |= {name: (0 * one).expand_dims(set=sets) for name in ("rank", "in_gradient", "in_way")}
    made = xr.Dataset({"overlap": 0.9 ** (time / made), **base}, {"waiting": WAITS, "set": list(SETS)})
    return made.assign({name: one if isinstance(one, xr.DataArray) else (base["cos_way"].dims, one) for name, one in
                        values.items()})  # fmt: skip


def at_first(values):
    """Numbers of networks at the first wait; those at the second are another's."""
    return np.stack([values, np.full_like(values, 0.5)])


def grown(source, excess):
    """Times foretold whose growth is smaller than that of walks by a factor, of which this is the logarithm."""
    return {source: np.stack([np.full_like(excess, 1000), 2000 * np.exp(-excess)])}


def pair(claim, usual, make, reach=None, power=1.0, **told):
    """Networks of a claim: ``make(numbers, beside)`` of numbers about the level, and such of the rival, if it does as
    well; ratios scatter by factors. ``reach`` is that of each phase; ``told`` is told both the maker and the claim's
    function."""
    scatter, panels = by_factors if make in RATIOS else around, kinks.PHASES if reach else ("",)

    @page.pair(claim, panels=panels, usual=usual, reach=reach and dict(zip(panels, reach, strict=True)), power=power)
    def networks(level, rng, rival):
        reaches = page.pairs[claim].reach
        drawn = {p: [scatter(one, reaches[p], rng) for _ in range(2)] for p, one in level.items()}
        others = {p: beside if rival else beside - level[p] + FAR for p, (_, beside) in drawn.items()}
        made = {p: make(own, others[p], **told) for p, (own, _) in drawn.items()}
        return {"runs": made if reach else {kinks.AGEING: made[""]}, **told}


def told(ratio, _, source):
    """Times foretold that are so many times as long as those walked, after the first wait."""
    return run({source: np.stack([1000 * ratio, np.full_like(ratio, 2000)])})


def growing(factor, _, source):
    return run(grown(source, np.log(factor)))


def grown_beside(own, rival, source, other):
    return run(grown(source, own) | grown(other, rival))


def longer(ratio, _):
    return run(gradient_norm=at_first(ratio))


def pointing(numbers, _, cosine):
    return run(**{cosine: at_first(numbers)})


def shared(own, near, share):
    """A share of kinks and of pairs near zero."""
    rows = np.stack([at_first(own), at_first(0.2 + 0 * own), at_first(near)])
    return run(**{share: xr.DataArray(rows, {"set": list(SETS)}, ("set", "waiting", "seed"))})


def spanning(factor, _):
    rank = np.tile(np.stack([np.full_like(factor, 100), 100 * factor]), (len(SETS), 1, 1))
    return run(rank=xr.DataArray(rank, {"set": list(SETS)}, ("set", "waiting", "seed")))


def at_rates(ratios):
    """Gradient over drift at three rates."""
    rows = xr.DataArray(np.stack(ratios), {"slower": [1, 4, 16]}, ("slower", "seed"))
    steep = xr.DataArray(np.full(rows.sizes["seed"], 0.04), dims="seed")
    return xr.Dataset({"gradient_norm": 2 * rows, "drift_norm": 2 + 0 * rows, "steepness": steep})


RATIOS = (told, growing, longer, spanning)
pair("C.3.kinks.gradient", 8, longer, (1.28, 1.19))
pair("C.3.kinks.smooth", 1, longer, (0.00017, 0.00016))
pair("C.3.kinks.direction", 0.1, pointing, (0.084, 0.0123), power=0.8, cosine="cos_way")
pair("C.3.kinks.smooth_direction", 0.99999, pointing, (2e-8, 4.3e-7), cosine="cos_drift")
pair("C.3.kinks.instant", 0.2, told, (0.069, 0.02), source="one instant")
pair("C.3.kinks.look", 1, told, (0.0108, 0.008), source="first look")
pair("C.3.kinks.smooth_instant", 1, told, (0.0018, 0.0018), source="one instant")
# Of span and ageing the wider interval of both phases: as wide as the rules, and twelve networks too few to be sure.
pair("C.3.kinks.span", 0.99, shared, (0.078, 0.078), power=0, share="in_gradient")
pair("C.3.kinks.way", 0.005, shared, (0.0038, 0.0032), share="in_way")
pair("C.3.kinks.grows", 2, spanning, (0.066, 0.059))
pair("C.3.kinks.renewed", 1.025, growing, (0.023, 0.018), source="renewed look")
pair("C.3.kinks.ageing", 1.025, growing, (0.102, 0.102), power=0, source="kinks")
for claim, (source, other) in kinks.RIVALS.items():
    pair(claim, 0.05, grown_beside, power=1 if "renewed" in claim else 0, source=source, other=other)


@page.pair("C.3.kinks.slower_gradient", panels=kinks.PHASES, usual=8, reach=1.4, rival=False)
def at_smallest(level, rng, _):
    reaches = page.pairs["C.3.kinks.slower_gradient"].reach
    each = {p: by_factors(one, reaches[p], rng) for p, one in level.items()}
    return {"runs": {p: at_rates([8 + 0 * ratio, 8 + 0 * ratio, ratio]) for p, ratio in each.items()}}


def with_kinks(claim, source, reach):
    @page.pair(claim, panels=("with ReLU", "with ReLU over smooth"), usual=1.4, reach=reach)
    def networks(level, rng, _):
        own, over = (by_factors(level[p], reach, rng) for p in level)
        each = {"kinked": grown(source, np.log(own)), "smooth": grown("first look", np.log(own / over))}
        return {name: {kinks.AGEING: run(told)} for name, told in each.items()} | {"source": source}


@page.pair("C.3.kinks.slower", panels=kinks.PHASES, usual=0.95, reach=0.15)
def smaller_steps(level, rng, rival):
    """A ratio of eight, or where the rival does as well of little more than one, of which a share is left."""
    whole, reaches = 1.2 if rival else 8.0, page.pairs["C.3.kinks.slower"].reach
    shares = {p: by_factors(one, reaches[p], rng) for p, one in level.items()}
    runs = {p: at_rates([whole + 0 * share, whole * share, whole * share]) for p, share in shares.items()}
    return {"runs": runs, "smooth": {p: at_rates([1 + 0 * share] * 3) for p, share in shares.items()}}


with_kinks("C.3.kinks.excess", "first look", 0.156)
with_kinks("C.3.kinks.excess_alike", "Hessian", 0.079)

test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_a_time_that_a_record_does_not_see_is_its_end():
    still = run({"walk": np.full((2, N), 1e7), "one instant": np.full((2, N), 1e-3)})
    made = kinks.times(still).isel(waiting=0, seed=0, drop=True)
    assert float(made.sel(source="walk")) == TIMES[-1] and float(made.sel(source="one instant")) == TIMES[0]


def test_networks_that_diverged_or_have_not_learnt_do_not_count():
    two = run().assign(diverged=("seed", [True, *[False] * 11]), loss=("seed", [0.1, 0.1, 0.31, 0.19, *[0.5] * 8]))
    assert kinks.counted(two).tolist() == [False, True, False, True, *[False] * 8]
