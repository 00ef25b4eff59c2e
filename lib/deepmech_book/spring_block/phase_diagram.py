"""Which shapes chains take: Figs. 3, S13 and S14 of paper A.

``diagrams`` are chains by figure, a key of ``DIAGRAMS``, over ``friction_right``, ``noise``, ``run`` and ``block``;
``first`` is that of Fig. 3.
"""

from dataclasses import replace

import numpy as np

from deepmech.core.estimates import crossing, estimate
from deepmech.core.labels import over
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, averaged, simulate
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.spring_block.chains import DIAGRAMS, mean_step
from deepmech_book.spring_block.summaries import in_a_row
from deepmech_book.spring_block.words import said

LEFT = DIAGRAMS["A.3"].friction_left

# --- pictures


def straight_line(setting):
    """Noise ε at which the noise-averaged chain of a diagram of first order is straight, over friction to the right.

    Kicks ε̄ are those of a time step of 0.01; frictions that no noise of the diagram makes straight are left out.
    """
    frictions = np.linspace(0, setting.friction_left, 21)[1:-1]
    noises = np.linspace(0, setting.noise_range, 41)
    chain = replace(setting.chain(2, 2), friction_right=over("friction_right", frictions), noise=over("noise", noises))
    chain = replace(chain, noise=None, noise_bar=chain.noise_bar_at(0.01))
    bends = curvature(averaged(chain, setting.t_end, dt=0.25)["load_curve"], dim="block").values
    line = over("friction_right", frictions).copy(data=[crossing(noises, row, direction="falls") for row in bends])
    return line.dropna("friction_right")


def distance_from_overdamped(dampings, t_end=3.0, n_times=30):
    """Largest distance of quiet chains with inertia from the overdamped one, and a power law, γ⁻², through the last.

    Frictions are 0.02 and 0.12, times in units of the damping over the stiffness.
    """

    def position(damping, order):
        chain = Chain(friction_right=0.02, friction_left=0.12, noise=0.0, damping=damping)
        times = np.linspace(t_end / n_times, t_end, n_times) * damping
        return simulate(chain, times[-1], dt=0.001, order=order, record=times).position.values

    first = position(1.0, "first")
    far = dampings.copy(data=[abs(position(d, "second") - first).max() for d in dampings.values])
    law = far.isel(damping=-1, drop=True) * (far.damping[-1] / far.damping) ** 2
    return said(far, "largest distance", "in units of $y$"), law


# --- claims


def bends(run, rows):
    """Curvature of single runs in the rows of some frictions to the right."""
    return curvature(run["load_curve"], dim="block").sel(friction_right=rows(run.friction_right))


@measures("A.3.convex")
def convex(diagrams):
    """Curvature at the strongest noise, in every row of a diagram whose friction to the left is the larger one."""
    found = {}
    for name, run in diagrams.items():
        bend = bends(run, lambda mu, left=DIAGRAMS[name].friction_left: mu < left).isel(noise=-1, drop=True)
        found[f"Fig. {name.removeprefix('A.')}"] = estimate(bend, "run", "skewed")
    return Measurement(in_a_row(found))


@measures("A.3.monotone")
def monotone(first):
    """Steps of the curvature from noise to noise, in the rows where friction to the left is the larger one."""
    return Measurement(estimate(bends(first, lambda mu: mu < LEFT).diff("noise"), "run", "skewed"))


@measures("A.3.never_convex")
def never_convex(first):
    """Curvature in the rows where it is not."""
    return Measurement(estimate(bends(first, lambda mu: mu >= LEFT), "run", "skewed"))


@measures("A.3.eq8")
def equation_8(strong):
    """Mean step in elongation over the recorded times, beside Eq. 8 and the step without noise, at stiffness 1."""
    step, mu = mean_step(strong["position"]).mean("time"), strong.friction_right
    return Measurement(estimate(step, "run", "skewed"), expected=(mu - LEFT) / 2, null=mu)


def movement(position):
    """Root mean square over blocks, wall and target left out, of the way from one recorded time to the next."""
    moved = position.isel(block=slice(1, -1)).diff("time")
    return (moved**2).mean("block") ** 0.5


@measures("A.S14.decay")
def decay(fading, constant):
    """How far a block moves between the last two of four times, with noise that fades and with noise that stays."""
    moved, moved_on = (movement(one["position"]).mean("friction_right") for one in (fading, constant))
    words = (
        f"Between the first two times it moves by {float(moved.isel(time=0).mean('run').max()):.2f} under fading noise."
    )
    last = estimate(moved.isel(time=-1, drop=True), "run", "skewed")
    return Measurement(last, null=moved_on.isel(time=-1, drop=True).mean("run"), detail=words)
