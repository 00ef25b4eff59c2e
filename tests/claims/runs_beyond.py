"""Runs of the pages on the limits of the papers, true or not by construction: for their claims and for analysis."""

import numpy as np
import xarray as xr

K, STOPS, EVERY, THIN = 3, 41, 250, 50
DIRECTIONS = np.eye(K) - 1 / K
START, RATE = np.array([1.0, 1.5, 2.2]), 6e-4
"""Own-class margins at the beginning, and α per iteration by which each grows; β is 0."""


def stopped_networks(rng, effect=1.0, share=0.0, frozen=0.2, groups=6, noise=0.02):
    """Networks that obey both models of paper B with β = 0, stopped on their way; as the tangent kernels' sweep.

    Parameters
    ----------
    effect : what a step does to its own class, by what the logits grow by.
    share : of it that other classes get, which scatters over groups by ``noise``.
    frozen : as ``effect``, of the initial kernel, which moves all classes alike.
    """
    time, block = np.arange(STOPS) * float(EVERY), np.arange((STOPS - 1) * EVERY // THIN) * float(THIN)

    def means(at):
        grown = START * np.exp(RATE * at[:, None] / K)
        return grown[..., None] * DIRECTIONS / (1 - 1 / K)

    def like(values, *dims):
        scatter = 1 + noise * rng.normal(size=(groups, *[1] * values.ndim))
        return (("group", *dims), scatter * values)

    x, own = means(time), np.eye(K)[..., None]
    step = RATE * x[:, None] * (effect * own)
    other = RATE * effect * (share + noise * rng.normal(size=groups))[:, None, None, None, None]
    move = step + other * x[:, None] * (1 - own)
    initial = like(frozen * RATE * np.broadcast_to(x[:, None], step.shape), "time", "class", "trained", "logit")
    return xr.Dataset(
        {
            "mean": like(means(block), "block", "class", "logit"),
            "logits": like(x, "time", "class", "logit"),
            "move": (("group", "time", "class", "trained", "logit"), move),
            "move_frozen": initial,
        },
        {"time": time, "block": block},
    )
