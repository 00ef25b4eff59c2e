"""Pairs of the page glass/displacement, and its pictures' numbers on walks that are known in closed form."""

import numpy as np
import pytest
import xarray as xr
from runs_glass import N, sliding_run

from deepmech_book.glass import displacement, phases
from deepmech_book.sweeps.glass import walks
from pairs import Page

page = Page("glass/displacement")
TIMES = np.unique(np.geomspace(1, 1e5, 60).round())


def walked(phase, rng, times=TIMES, temperatures=(0.1, 1e-4, 1e-6, 0.0), speed=1e-7):
    """As many networks of a phase as ship, after one wait."""
    slide = 0.0 if phase == "overparameterised" else speed
    how = {"temperatures": temperatures, "waits": (20_000,), "times": times, "phase": phase, "rng": rng}
    return sliding_run(slide, n_seeds=N[phase], **how).drop_vars("loss")


def scaled(run, factors):
    """The run with displacements times a factor for each network."""
    return run.assign(msd=(run.msd * xr.DataArray(factors, dims="seed")).transpose(*run.msd.dims))


def curve(rise):
    """The local power is 1, 0.1 for a while and more by ``rise`` in the end."""
    power = np.select([TIMES < 100, TIMES < 3000], [1.0, 0.1], 0.1 + rise)
    steps = np.diff(np.log(TIMES)) * (power[1:] + power[:-1]) / 2
    return xr.DataArray(1e-9 * np.exp(np.append(0.0, np.cumsum(steps))), {"time": TIMES}, "time")


@page.pair("C.5.no_plateau", usual=0.0, reach=0.06)
def a_rise_after_a_rest(level, rng, rival):
    """Some networks are caged, others show a plateau without an end; displacements differ by factors.

    Of the glass formers of the rival few are caged, too.
    """
    runs, first = {phase: walked(phase, rng) for phase in N}, 0
    several = sum(N[phase] for phase in phases.WITH_LOSS)
    drawn = np.append(rng.permutation(several) < round(level[""] * several), np.ones(N["overparameterised"], bool))
    for phase, run in runs.items():
        rises = [curve(0.35 if one else 0.2) for one in drawn[first : first + N[phase]]]
        each, first = (xr.concat(rises, "seed") * xr.ones_like(run.msd)).transpose(*run.msd.dims), first + N[phase]
        runs[phase] = scaled(run.assign(msd=each), np.exp(rng.standard_normal(N[phase])))
    glass = xr.concat([curve(0.0 if rival else 1.3)] * 2, "seed")
    return {"runs": runs, "glass": glass}


HOT = {"regularised": 0.011, "underparameterised": 0.0147, "overparameterised": 0.05}


@page.pair("C.5.hot_is_free", panels=N, usual=1.0, expected=1.0, rival=False, reach=HOT)
def kicks(level, rng, rival):
    runs = {}
    for p, spread in zip(N, (0.027, 0.035, 0.02), strict=True):
        run = walked(p, rng, temperatures=(0.1, 0.0))
        runs[p] = scaled(run, level[p] + spread * rng.standard_normal(N[p]))
    return {"runs": runs}


@page.pair("C.5.over_diffuses", panels=(0.1, 1e-4, 1e-6), usual=1.0, expected=1.0, power=0.5)
def no_landscape(level, rng, rival):
    """Three networks, each farther or less far than free walks by the same at all temperatures."""
    over = walked("overparameterised", rng)
    each = xr.DataArray([*level.values(), 1.0], {"temperature": over.temperature}, "temperature")
    each = each + 0.028 * xr.DataArray(rng.standard_normal(3), dims="seed")
    over = over.assign(msd=(over.msd * each).transpose(*over.msd.dims))
    under = walked("underparameterised", rng, speed=0.0 if rival else 1e-6)
    return {"runs": {"overparameterised": over, "underparameterised": under}}


LEARNT = 9
"""Cold networks that rest at smaller rates."""


def smaller(claim, slower, usual, reach):
    @page.pair(claim, usual=usual, reach=reach, rival=False)
    def steps(level, rng, _):
        """Swings whose squares differ by factors, and what a smaller rate leaves of them."""
        whole = np.exp(rng.standard_normal(LEARNT))
        left = level[""] * np.exp(reach / level[""] / 2.306 * LEARNT**0.5 * rng.standard_normal(LEARNT))
        rows = xr.DataArray(np.stack([whole, left * whole]), {"slower": [1, slower]}, ("slower", "seed"))
        return {"run": xr.Dataset({"early": rows, "gradient_norm": rows, "drift_norm": rows}), "slower": slower}


smaller("C.5.steps", 4, 0.1, 0.04)
smaller("C.5.steps_half", 2, 0.25, 0.065)


def by_batch(levels):
    """Displacements (network, batch size), in units of 10⁻⁴, that are level from 100,000 steps on."""
    time = np.geomspace(1, 1e6, 60)
    far = 1e-4 * np.array(levels)[:, None, :, None] * np.minimum(time / 1e5, 1)
    coords = {"seed": range(len(levels)), "waiting": [20_000], "batch_size": [1, 8, 32, 128][: len(levels[0])]}
    coords |= {"time": time}
    return xr.Dataset({"msd": (tuple(coords), far)}, coords, sliding_run(times=TIMES).attrs)


@page.pair("C.5.localised", panels=(0, 1), usual={0: 1.56, 1: 1.27}, reach=0.03)
def decay_confines(level, rng, rival):
    return {"batches": by_batch([[level[0]], [level[1]]]), "control": by_batch([[1.0 if rival else 9.7]])}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_pictures_show_free_walks_at_one_and_a_slide_at_two():
    free, slide = (sliding_run(speed, times=TIMES) for speed in (0.0, 1e-7))
    beside = displacement.over_free({"free": free, "slide": slide})
    assert np.allclose(beside.sel(phase="free", temperature=[0.1, 1e-3]), 1)
    late = float(beside.sel(phase="slide", time=TIMES[-1], temperature=0.0))
    assert late == pytest.approx((1e-7 * TIMES[-1]) ** 2 / (2 * walks.diffusion(1e-6) * TIMES[-1]))
    assert beside.attrs["long_name"] and beside.time.attrs["units"] == "steps"
    powers = displacement.powers(slide)
    assert float(powers.sel(temperature=1.0)[:15].max()) == pytest.approx(1, abs=0.01)
    assert float(powers.sel(temperature=0.0).min()) == pytest.approx(2, abs=0.01)


def test_weights_in_a_well_fall_behind_free_ones():
    beside = displacement.beside_well(sliding_run(0.0, times=TIMES), 0.1)
    rate = walks.RATE * phases.weight_decay(sliding_run()) * TIMES[-1]
    assert np.allclose(beside.sel(kind="networks"), 1)
    assert float(beside.sel(kind="weight decay alone")[-1]) == pytest.approx((1 - np.exp(-rate)) / rate, rel=1e-3)


def test_a_landscape_that_moves_weights_at_once_leaves_no_time_to_look():
    ratio, _ = displacement.early(sliding_run(speed=1e-4), 1.0)
    assert ratio.reason == displacement.TOO_FAST
