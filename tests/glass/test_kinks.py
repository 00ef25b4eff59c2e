"""Pairs of the page glass/kinks: networks without noise whose gradients, spans and times are known."""

import numpy as np
import xarray as xr

from deepmech_book.glass import kinks
from deepmech_book.sweeps.glass.kinks import KINDS, SETS
from pairs import Page

page = Page("glass/kinks")
N = {"kinked": 5, "smooth": 3}
"""Networks of each phase that ship, and the half-width of an interval of so many in standard deviations."""
REACH = {5: 2.776 / 5**0.5, 3: 4.303 / 3**0.5}
TIMES = np.unique(np.geomspace(1, 1e5, 300).round())
WAITS = [10_000, 50_000]


def around(level, reach, n, rng):
    """Numbers of n networks whose mean is in truth ``level``, with an interval of this half-width."""
    return level + reach / REACH[n] * rng.standard_normal(n)


def by_factors(level, reach, n, rng):
    """The same of a geometric mean."""
    return np.exp(around(np.log(level), reach / level, n, rng))


def run(n, tau=None, **values):
    """Networks whose overlaps fall to 0.9 after ``tau`` (of a source, by wait and network); by default as walks do."""
    sources = ["walk", *KINDS]
    times = {name: np.tile([[1000.0], [2000.0]], n) for name in sources} | (tau or {})
    made = xr.DataArray(np.stack([times[name] for name in sources]), {"source": sources}, ("source", "waiting", "seed"))
    time = xr.DataArray(TIMES, {"time": TIMES}, "time")
    one, sets = xr.DataArray(np.ones((2, n)), dims=("waiting", "seed")), xr.DataArray(list(SETS), dims="set")
    base = {"gradient_norm": 8 * one, "drift_norm": one, "cos_way": 0.1 * one, "cos_drift": 0.9999 * one}
    base |= {name: (0 * one).expand_dims(set=sets) for name in ("rank", "in_gradient", "in_way")}
    made = xr.Dataset({"overlap": 0.9 ** (time / made), **base}, {"waiting": WAITS, "set": list(SETS)})
    return made.assign({name: one if isinstance(one, xr.DataArray) else (base["cos_way"].dims, one) for name, one in
                        values.items()})  # fmt: skip


def at_first(values):
    """Numbers of networks at the first wait; those at the second are another's."""
    return np.stack([values, np.full_like(values, 0.5)])


def in_sets(kinked, near):
    """A share of kinks and of pairs near zero, (set, waiting, seed)."""
    rows = np.stack([at_first(kinked), at_first(0.2 + 0 * kinked), at_first(near)])
    return xr.DataArray(rows, {"set": list(SETS)}, ("set", "waiting", "seed"))


def of_phases(kind, level, make):
    return {kind: {phase: make(phase, level[phase]) for phase in kinks.PHASES}}


def told_by(source, ratio):
    """Times foretold that are so many times as long as those walked, after the first wait."""
    return {source: np.stack([1000 * ratio, np.full_like(ratio, 2000)])}


def grown(source, excess):
    """Times foretold whose growth is smaller than that of walks by a factor, of which this is the logarithm."""
    return {source: np.stack([np.full_like(excess, 1000), 2000 * np.exp(-excess)])}


PANELS = {"panels": kinks.PHASES}


def ratios(claim, kind, **how):
    @page.pair(claim, **PANELS, **how)
    def networks(level, rng, rival):
        return of_phases(
            kind,
            level,
            lambda p, one: run(N[kind], gradient_norm=at_first(by_factors(one, reach(claim), N[kind], rng))),
        )


def reach(claim):
    """The half-width of the interval that ships."""
    return page.pairs[claim].reach[next(iter(page.pairs[claim].reach))]


ratios("C.3.kinks.gradient", "kinked", usual=8.0)
ratios("C.3.kinks.smooth", "smooth", usual=1.0)


def cosines(claim, kind, name, **how):
    @page.pair(claim, **PANELS, **how)
    def networks(level, rng, rival):
        return of_phases(
            kind, level, lambda p, one: run(N[kind], **{name: at_first(around(one, reach(claim), N[kind], rng))})
        )


cosines("C.3.kinks.direction", "kinked", "cos_way", usual=0.1)
cosines("C.3.kinks.smooth.direction", "smooth", "cos_drift", usual=0.99995)


def memories(claim, kind, source, **how):
    @page.pair(claim, **PANELS, **how)
    def networks(level, rng, rival):
        return of_phases(
            kind, level,
            lambda p, one: run(N[kind], told_by(source, by_factors(one, reach(claim), N[kind], rng))),
        )  # fmt: skip


memories("C.3.kinks.instant", "kinked", "one instant", usual=0.15)
memories("C.3.kinks.look", "kinked", "first look", usual=1.0)
memories("C.3.kinks.smooth.instant", "smooth", "one instant", usual=1.0)


def shares(claim, name, usual, near):
    @page.pair(claim, **PANELS, usual=usual)
    def networks(level, rng, rival):
        def one(_, level):
            kinked, beside = (around(level, reach(claim), N["kinked"], rng) for _ in range(2))
            return run(N["kinked"], **{name: in_sets(kinked, beside if rival else beside - level + near)})

        return of_phases("kinked", level, one)


shares("C.3.kinks.span", "in_gradient", usual=0.99, near=0.5)
shares("C.3.kinks.way", "in_way", usual=0.01, near=0.5)


@page.pair("C.3.kinks.grows", **PANELS, usual=1.2)
def spans_that_grow(level, rng, rival):
    def one(_, level):
        factor = by_factors(level, reach("C.3.kinks.grows"), N["kinked"], rng)
        rank = np.tile(np.stack([np.full_like(factor, 100), 100 * factor]), (len(SETS), 1, 1))
        return run(N["kinked"], rank=xr.DataArray(rank, {"set": list(SETS)}, ("set", "waiting", "seed")))

    return of_phases("kinked", level, one)


def excesses(claim, source):
    @page.pair(claim, **PANELS, usual=1.0)
    def networks(level, rng, rival):
        return of_phases(
            "kinked", level,
            lambda p, one: run(5, grown(source, np.log(by_factors(one, reach(claim), 5, rng)))),
        )  # fmt: skip


excesses("C.3.kinks.renewed", "renewed look")
excesses("C.3.kinks.ageing", "kinks")


def excesses_beside(claim, source, other):
    @page.pair(claim, usual=0.05)
    def networks(level, rng, rival):
        own, beside = (around(level[""], reach(claim), 5, rng) for _ in range(2))
        null = beside if rival else beside - level[""] + 0.6
        return {"kinked": {kinks.AGEING: run(5, grown(source, own) | grown(other, null))}}


excesses_beside("C.3.kinks.renewed.first", "renewed look", "first look")
excesses_beside("C.3.kinks.renewed.slide", "renewed look", "renewed slide")
excesses_beside("C.3.kinks.ageing.bowl", "kinks", "first look")
excesses_beside("C.3.kinks.ageing.random", "kinks", "random directions")
excesses_beside("C.3.kinks.ageing.near", "kinks", "near pairs")

test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_a_time_that_a_record_does_not_see_is_its_end():
    still = run(5, {"walk": np.full((2, 5), 1e7), "one instant": np.full((2, 5), 1e-3)})
    made = kinks.times(still).isel(waiting=0, seed=0, drop=True)
    assert float(made.sel(source="walk")) == TIMES[-1] and float(made.sel(source="one instant")) == TIMES[0]


def test_networks_that_diverged_or_have_not_learnt_do_not_count():
    two = run(5).assign(diverged=("seed", [True, *[False] * 4]), loss=("seed", [0.1, 0.1, 0.31, 0.19, 0.5]))
    assert kinks.counted(two).tolist() == [False, True, False, True, False]
