"""Fig. 5: what bends linear networks and chains without friction to the right, and whether noise runs forward.

Of the last, ``made`` is noise over signal, ``relative`` of :func:`.noise_by_layer.train_and_draw`; the others are
networks over ``training`` and ``seed``, and chains over ``noise`` and ``run``.
"""

from itertools import product

import numpy as np
import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech.metrics.curvature import curvature, steps
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import beside_others
from deepmech_book.spring_block.chains import mean_step
from deepmech_book.spring_block.words import SEPARATION, said
from deepmech_book.sweeps.spring_block.networks import PANELS
from deepmech_book.sweeps.spring_block.noise_by_layer import KINDS, STRENGTHS

# --- pictures and numbers of noise by layer

TRAININGS = {
    "large steps, as printed": "steps of 0.001 and of 0.01",
    "dropout": "dropout 10 %",
    "large steps": "steps of 10",
}
"""How networks of Fig. 5(a) were trained, by the names in the results."""


NAMED = {0.0: "ReLU", 1.0: "linear"}


def by_training(made):
    """Load curves, mean over seeds, by what each training was."""
    load = made["load_curve"].mean("seed").sel(training=list(TRAININGS))
    return said(load.assign_coords(training=list(TRAININGS.values())), SEPARATION)


def by_panel(relative):
    """Noise over signal, logarithm to base 10, mean over seeds, by the title of its panel."""
    # Of layer 1 under dropout, which comes before its own, there is none.
    mean = xr.apply_ufunc(np.log10, relative.where(relative > 1e-6)).mean("seed")
    panels = {
        f"{kind},\n{NAMED.get(slope, f'α={slope:g}')}": mean.sel(noise=kind, slope=slope, drop=True)
        for kind in ("dropout", "data noise")
        for slope in mean["slope"].values
    }
    return {title: said(one, "noise / signal (log₁₀)") for title, one in panels.items()}


def growth(made):
    """By how much the logarithm (base 10) of noise over signal grows on its way, over ``signal`` and the rest.

    Of activations from the second layer, the first that has dropout before it, to the last; of gradients back.
    """
    inside = xr.apply_ufunc(np.log10, made["relative"].sel(layer=slice(2, None)))
    rise = inside.isel(layer=-1, drop=True) - inside.isel(layer=0, drop=True)
    return rise * xr.DataArray([1.0, -1.0], {"signal": ["activations", "gradients"]})


def sags(kind, diagram, slopes):
    """Where the load curves of ``diagram``, the panel of Fig. 1 of this ``kind`` of noise, are convex over ``strength``
    and ``slope``: where the interval of the curvature lies below 0.
    """
    noise = next(panel for panel in PANELS if panel in diagram.dims)
    bend = diagram["curvature"].sel({noise: list(KINDS[kind]), "slope": slopes}).rename({noise: "strength"})
    return estimate(bend.assign_coords(strength=list(STRENGTHS)), "seed", "symmetric").high < 0


def by_cell(growth, panels):
    """Growth of noise in each ``cell`` of these panels by its ``curve``, convex or not, with intervals over seeds."""
    cells, words, sag = [], [], []
    for kind, diagram in panels.items():
        bent = sags(kind, diagram, growth["slope"].values)
        for slope, (strength, value) in product(growth["slope"].values, zip(STRENGTHS, KINDS[kind], strict=True)):
            at = {"slope": slope, "strength": strength, "drop": True}
            words.append(f"{kind} {value:g}, {NAMED.get(slope, f'slope {slope:g}')}")
            cells.append(growth.sel(noise=kind, **at))
            sag.append(bool(bent.sel(**at)))
    shapes = xr.DataArray([sag, np.invert(sag)], {"curve": ["convex", "not convex"], "cell": words})
    found = estimate(xr.concat(cells, xr.Variable("cell", words)), "seed", "symmetric")
    return found.map(lambda one: said(one.where(shapes), "growth of noise / signal (log₁₀)"))


# --- claims


@measures("A.5a.small_step")
def small_step(made):
    """Largest deviation of a layer's step of D from the mean step, by that."""
    step = steps(made["load_curve"].sel(training="small steps", drop=True))
    uneven = abs(step - step.mean("layer")).max("layer") / step.mean("layer")
    return Measurement(estimate(uneven, "seed", "symmetric"))


@measures("A.5a.bends")
def bends(made, batches):
    """Curvature with dropout, with the printed large steps of one sample each (``batches``), and with larger ones."""
    bend = made["curvature"]
    kinds = {
        "dropout": bend.sel(training="dropout", drop=True),
        "steps of 0.01, one sample each": batches["curvature"].isel(batch=-1, drop=True),
        "much larger steps": bend.sel(training="large steps", drop=True),
    }
    quiet = bend.sel(training="small steps", drop=True)
    found = {name: beside_others(one, quiet, "seed") for name, one in kinds.items()}
    single = float(found["steps of 0.01, one sample each"].value)
    words = f"Convex, if only a little (c = −{-single:.3f} after single-sample steps)." if single < 0 else ""
    return Measurement(stack(found, "training"), detail=words)


@measures("A.5b.noiseless")
def noiseless(free):
    """Elongations at rest without noise, and the equal ones."""
    quiet = steps(free["load_curve"].sel(noise=0.0, drop=True).isel(run=0), dim="block")
    return Measurement(quiet, expected=1 / quiet.size)


@measures("A.5b.convex")
def convex(free):
    """Curvature at each noise above zero, mean over runs."""
    noisy = free["load_curve"].sel(noise=free.noise[free.noise > 0])
    return Measurement(estimate(curvature(noisy, dim="block"), "run", "skewed"))


@measures("A.5b.limit")
def limit(free, friction_left):
    """Mean step in elongation at every noise, and half of ``friction_left``, at stiffness 1."""
    step = estimate(mean_step(free["position"]), "run", "skewed")
    return Measurement(step, expected=-friction_left / 2, null=0.0)


@measures("A.text.forward_noise")
def forward_noise(made):
    """Growth of the noise of activations before training, by kind of noise."""
    start = growth(made).sel(signal="activations", drop=True).isel(at_epoch=0, drop=True)
    return Measurement(estimate(start.mean(["slope", "strength"]), "seed", "symmetric"))


@measures("A.text.forward_noise.dropout", "A.text.forward_noise.data")
def accumulates(made, diagram):
    """Growth of the noise of activations after training, of one kind of noise, in the cells of ``diagram``, its panel
    of Fig. 1, that are convex: whose interval of the curvature lies below 0."""
    grows = growth(made).sel(signal="activations", drop=True).isel(at_epoch=-1, drop=True)
    sag = sags(str(made["noise"].item()), diagram, grows["slope"].values).stack(at=["strength", "slope"]).values
    cells = grows.stack(at=["strength", "slope"]).transpose("at", "seed")
    if not sag.any():
        return Measurement(not_testable="no load curve of these networks is convex")
    named = [f"slope {slope:g}, {strength}" for strength, slope in cells["at"].values]
    cells, others = cells.drop_vars(["at", "strength", "slope"]).assign_coords(at=named)[sag], cells[~sag].mean("seed")
    words = f"Cells of nine whose load curves are convex: {len(cells)}."
    if others.size:
        words += f" In the others it grows by {float(others.min()):.2f} to {float(others.max()):.2f}."
    return Measurement(estimate(cells, "seed", "symmetric"), detail=words)
