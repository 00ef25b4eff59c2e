"""Claims of the page spring_block/linear_networks: Fig. 5 of paper A, and whether noise runs forward."""

from __future__ import annotations

import xarray as xr

from deepmech.core.estimates import estimate, stack
from deepmech.metrics.curvature import curvature, steps
from deepmech_book.analysis.nulls import beside, beside_others
from deepmech_book.analysis.spring_block import chains
from deepmech_book.analysis.spring_block.noise_by_layer import growth, where_convex
from deepmech_book.claims.functions import Measurement, measures

# --- Figure 5(a): ``made`` are networks over ``training``, as of sweeps.spring_block.linear_networks.figure_5a --------


@measures("A.5a.small_step")
def small_step(made: xr.Dataset) -> Measurement:
    """Largest deviation of a layer's step of D from the mean step, by that, over seeds."""
    step = steps(made["load_curve"].sel(training="small steps"))
    uneven = abs(step - step.mean("layer")).max("layer") / step.mean("layer")
    return Measurement(float(uneven.max()))


@measures("A.5a.nonlinearity")
def nonlinearity(made: xr.Dataset) -> Measurement:
    """Curvature with each activation, and without; ``made`` is over ``training``, one of them ``linear``."""
    bend = made["curvature"]
    return Measurement(beside(bend.drop_sel(training="linear"), bend.sel(training="linear", drop=True), "seed"))


@measures("A.5a.bends")
def bends(made: xr.Dataset, batches: xr.Dataset) -> Measurement:
    """Curvature with dropout, with the printed large steps of one sample each (``batches``), and with larger ones."""
    bend = made["curvature"]
    kinds = {
        "dropout": bend.sel(training="dropout", drop=True),
        "steps of 0.01, one sample each": batches["curvature"].isel(batch=-1, drop=True),
        "much larger steps": bend.sel(training="large steps", drop=True),
    }
    quiet = bend.sel(training="small steps", drop=True)
    return Measurement(stack({name: beside_others(one, quiet, "seed") for name, one in kinds.items()}, "training"))


# --- Figure 5(b): ``free`` are chains over ``noise`` and ``run``, without friction to the right -----------------------


@measures("A.5b.noiseless")
def noiseless(free: xr.Dataset) -> Measurement:
    """Elongations at rest without noise, and the equal ones."""
    quiet = steps(free["load_curve"].sel(noise=0.0, drop=True).isel(run=0), dim="block")
    return Measurement(quiet, expected=1 / quiet.size)


@measures("A.5b.convex")
def convex(free: xr.Dataset) -> Measurement:
    """Curvature at each noise above zero, mean over runs."""
    noisy = free["load_curve"].sel(noise=free.noise[free.noise > 0])
    return Measurement(estimate(curvature(noisy, dim="block"), "run", "skewed"))


@measures("A.5b.limit")
def limit(free: xr.Dataset, friction_left: float) -> Measurement:
    """Mean step in elongation at the two strongest noises, and half of ``friction_left``, at stiffness 1."""
    step = chains.mean_step(free["position"]).isel(noise=[-2, -1])
    return Measurement(step.mean("run"), expected=-friction_left / 2, null=0.0)


# --- Whether noise runs forward: ``made`` is noise over signal by layer, ``diagram`` the panel of Fig. 1 with it ------


@measures("A.text.forward_noise")
def forward_noise(made: xr.Dataset) -> Measurement:
    """Growth of the noise of activations before training, by kind of noise."""
    start = growth(made).sel(signal="activations", drop=True).isel(at_epoch=0, drop=True)
    return Measurement(estimate(start.mean(["slope", "strength"]), "seed", "symmetric"))


@measures("A.text.forward_noise.dropout", "A.text.forward_noise.data")
def accumulates(made: xr.Dataset, diagram: xr.Dataset) -> Measurement:
    """Growth of the noise of activations after training in convex cells; ``made`` has that one kind of noise."""
    grows = growth(made).sel(signal="activations", drop=True).isel(at_epoch=-1, drop=True)
    cells = where_convex(grows, diagram)
    if not cells.sizes["at"]:
        return Measurement(not_testable="no load curve of these networks is convex")
    words = f"Cells of nine whose load curves are convex: {cells.sizes['at']}."
    return Measurement(estimate(cells, "seed", "symmetric"), detail=words)
