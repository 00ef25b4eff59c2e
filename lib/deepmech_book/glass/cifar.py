"""The same on photographs (Figs. A3, A4(d-f), A8): where networks come to rest, how they walk, what a line explains."""

from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import estimate, stack, unknown
from deepmech.core.labels import over
from deepmech.sweeps import sweep_of
from deepmech_book.claims.display import RAISED
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.glass import heterogeneity, phases, regimes, relaxation, transitions
from deepmech_book.glass.clocks import measures_walks
from deepmech_book.glass.experiments import experiment
from deepmech_book.glass.phases import origins
from deepmech_book.sweeps.glass import walks
from deepmech_book.sweeps.glass.data import title_of
from deepmech_book.sweeps.shipped import result

COLLAPSED = 0.499
"""Data loss above which a network counts as fallen to the origin, where it is ½: here a learnt loss is high."""
NO_NULL = "the mean loss of random labels crosses the level nowhere; give wider networks (widths_null)"


# --- pictures and tables


def by_labels(results):
    """Losses over ratio N/P_D of several results, along labels."""
    parts = [transitions.by_ratio(one) for one in results.values()]
    return xr.concat(parts, over("labels", list(results)), join="outer")


def coldest_alphas(runs):
    """α₂ at the lowest temperature above 0, and that of Gaussian groups, means over runs, by phase."""
    cold = {p: heterogeneity.alphas(run).mean("seed").sel(temperature=[phases.coldest(run)]) for p, run in runs.items()}
    return tuple(phases.panels({p: one[which] for p, one in cold.items()}) for which in ("all", "mixture"))


def falls_at(result, level):
    """The smallest λ from which on a network's data loss stays above a level; nan if there is none."""
    loss = transitions.over_decay(result)
    stays = transitions.above_for_good(loss, level).astype(bool) & loss.notnull().all("regularisation")
    return loss.regularisation.where(stays).min("regularisation")


def falls_over_lines(decays):
    """The λ at which networks on MNIST (of the page on transitions) and on photographs fall, over that of a linear fit.

    ``middle``, ``first`` and ``last`` of the networks, by ``data``, whose names say how much a line explains.
    """
    parts = []
    for networks, level in ((result(experiment("glass-ttt")), phases.LEARNT), (decays, COLLAPSED)):
        name, n = (sweep_of(networks).fixed["data"][word] for word in ("name", "n_data"))
        line = result(experiment("glass-linear", {"n_data": [n]}, dataset=name, n_data=n)).isel(n_data=0)
        at = falls_at(networks, level)
        found = xr.Dataset({"middle": at.median(), "first": at.min(), "last": at.max()})
        data = f"{title_of(name).split(' ')[0]}: a line explains {100 * float(line.explained):.0f} %"
        parts.append(found.expand_dims(data=[data], line=[float(line.gives_way)]))
    whole = xr.concat(parts, "data", join="outer").sortby("line")
    names = {"line": "$\\lambda$ at which a straight line gives way", "middle": "$\\lambda$ at which networks fall"}
    for name, words in names.items():
        whole[name].attrs.update(long_name=words, units="1")
    return whole


def silent_weights(runs, temperature):
    """Root mean square displacements at silent units, of others and of a free walk, in words; what decay had left."""
    rows = {}
    for phase, run in runs.items():
        group = run[["end_square", "end_count"]].isel(waiting=0).sel(temperature=temperature).sum(["seed", "layer"])
        size = np.sqrt(group.end_square / group.end_count.where(group.end_count > 0))
        last, power = float(run.msd.isel(waiting=0).dropna("time").time[-1]), round(phases.decayed(run))
        left = f"e{str(power).translate(RAISED)}" + (f" ≈ {np.exp(power):.0f}" if power < 10 else ", to nothing")
        rows[phase] = {
            "at silent units": f"{float(size.sel(alive=0)):.2g}".replace("nan", "–"),  # there are none
            "other weights": f"{float(size.sel(alive=1)):.2g}",
            "a free walk": f"{np.sqrt(2 * walks.diffusion(temperature) * last):.2g}",
            "decay has shrunk them by": left if power else "1",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


# --- claims


@measures("C.A3.n_star")
def n_star(sizes, shuffled):
    """N/P_D at which the mean loss vanishes; the null: with shuffled labels."""
    null, reached = transitions.n_star(shuffled), np.isfinite(transitions.n_star(sizes))
    star = estimate(sizes, "seed", "symmetric", of=transitions.n_star) if reached else unknown(transitions.NOWHERE)
    middle = transitions.typical(transitions.by_ratio(sizes)).to_series()
    losses = ", ".join(f"{v:.1g} at {r:.2f}" for r, v in middle.items())
    words = f"{transitions.origin(sizes)} Mean loss: {losses}."
    return Measurement(unknown(NO_NULL) if np.isnan(null) else star, null=null, detail=words)


@measures("C.A3.scatter")
def scatter(sizes):
    """Share of the larger networks that are without loss."""
    return Measurement(transitions.without_loss(sizes), null=1.0, detail=transitions.origin(sizes))


@measures("C.A3.sharp")
def sharp(decays):
    """Share of the loss's rise in the step that ends at the origin, mean over networks; the null: of their mean."""
    return transitions.sharp(decays, COLLAPSED)


@measures_walks("C.A4.hot_slope")
def hot_slope(runs):
    """The power of T that τ₉₀ follows where hot, in the phases with loss; where only the landscape moves weights, 0."""
    lossy = {phase: runs[phase] for phase in phases.WITH_LOSS}
    hot = {phase: regimes.select_hot(phases.times(run)) for phase, run in lossy.items()}
    found = {phase: regimes.power_of_temperature(table) for phase, table in hot.items()}
    return Measurement(stack(found, "phase"), expected=-1.0, null=0.0, detail=origins(lossy))


@measures_walks("C.A4.cold_flat")
def cold_flat(runs):
    """τ₉₀ where cold over that at T = 0; of free walks at least ten."""
    judged = {phase: relaxation.cold_over_rest(runs[phase]) for phase in phases.WITH_LOSS}
    free = xr.DataArray([null for _, null in judged.values()], {"phase": list(judged)}, "phase")
    return Measurement(stack({phase: one for phase, (one, _) in judged.items()}, "phase"), expected=1.0, null=free)


@measures_walks("C.A8.cold_is_not")
def cold_is_not(runs):
    """α₂ when coldest, in the phases with loss, beside that of Gaussian groups."""
    found, each = heterogeneity.with_loss(runs, heterogeneity.far_from_gaussian)
    return Measurement(found, detail=" ".join(f"{phase.capitalize()}: {words}" for phase, (_, words) in each.items()))


@measures_walks("C.A8.less", lossless=True)
def less(runs):
    """|α₂| at T = 0.001 of networks without loss over the smaller one of the two other phases."""
    alphas = {phase: heterogeneity.alphas(run)["all"].mean("seed").sel(temperature=1e-3) for phase, run in runs.items()}
    late = {phase: abs(float(alpha[-1])) for phase, alpha in alphas.items()}
    words = ", ".join(f"{v:.2g} ({phase})" for phase, v in late.items())
    return Measurement(late["overparameterised"] / min(late[p] for p in phases.WITH_LOSS), detail=f"{words}.")


def share_bimodal(run, n=3, every=11):
    """Sets of so few networks, each so-many-th of all, and their share whose dip is beyond 95 % of uniform samples'."""
    sets = [run.isel(seed=list(some)) for some in list(combinations(range(run.sizes["seed"]), n))[::every]]
    return len(sets), float(np.mean([heterogeneity.modes(some, phases.coldest(run)).p < 0.05 for some in sets]))


@measures_walks("C.A8.bimodal")
def bimodal(runs, on_mnist):
    """The dip of motilities when coldest, beside that of Gaussian groups; ``on_mnist``: regularised networks there."""
    found, _ = heterogeneity.with_loss(runs, heterogeneity.two_modes)
    n, share = share_bimodal(on_mnist)
    words = f"Of {n} sets of three networks on MNIST, {100 * share:.0f} % have a dip beyond uniform samples'."
    return Measurement(found, detail=words)


@measures_walks("C.A8.unimodal", lossless=True)
def unimodal(runs):
    """The dip of motilities of networks without loss, when coldest; the null: the smaller one of the other phases."""
    dips = {phase: float(heterogeneity.two_modes(run)[0].value) for phase, run in runs.items()}
    words = origins({"overparameterised": runs["overparameterised"]})
    return Measurement(dips["overparameterised"], null=min(dips[phase] for phase in phases.WITH_LOSS), detail=words)
