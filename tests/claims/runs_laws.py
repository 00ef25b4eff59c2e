"""Networks made up like those of the zoo, true to a law or not by construction: for its claims and for the bench."""

from functools import cache

import numpy as np
import xarray as xr

from deepmech_book.sweeps.extras import zoo
from deepmech_book.sweeps.extras.layer_diagnostics import LayerDiagnostics

LAYERS = LayerDiagnostics.COORDS["layer"]


def networks(stars=40, **variables):
    """Networks of that many stars, with the zoo's settings and these variables, each (number, …)."""
    made = {name: (("number", *LayerDiagnostics.DIMS.get(name, ())), v) for name, v in variables.items()}
    return xr.Dataset(made, settings(stars * zoo.SIZE))


@cache
def settings(n):
    """Coordinates of the first so many networks of the zoo."""
    each = [zoo.settings_of(i) for i in range(n)]
    named = {name: ("number", np.array([s[name] for s in each])) for name in each[0]}
    return {"number": np.arange(n), **named, **LayerDiagnostics.COORDS}


def random_networks(rng, stars=40):
    """Networks of which every measurement is a random number."""
    shape = [stars * zoo.SIZE]
    sizes = {d: len(c) for d, c in LayerDiagnostics.COORDS.items()}
    of = {name: [sizes[d] for d in dims] for name, dims in (LayerDiagnostics.DIMS | {"epoch": ()}).items()}
    return networks(stars, **{name: rng.random(shape + more) for name, more in of.items()})


def with_curves(record, bend):
    """The record with load curves, D and D-hat, from 1 to 0; ``bend``, one or (number,), is in units of their range."""
    depth = record.depth.values[:, None]
    x = np.where(depth > LAYERS, LAYERS / (depth - 1), np.nan)
    curve = 1 - x + 6 * np.atleast_1d(bend)[:, None] * x * (1 - x)
    split = np.stack([curve, curve, np.full_like(curve, np.nan)], 1)
    return record.assign(load_curve=(("number", "split", "layer"), split), load_curve_hat=(("number", "layer"), curve))


def with_parts(record, linear, norm, activation):
    """The record with D inside each layer, whose parts separate by these numbers, each (number,)."""
    depth, layer = record.depth.values[:, None], LAYERS[None]
    each = [np.asarray(part)[:, None] for part in (linear, norm, activation)]
    bent = np.where(depth > layer, 2 - layer * sum(each), np.nan)
    after_linear = np.where(layer > 0, bent + each[2] + each[1], np.nan)
    after_norm = np.where(layer > 0, bent + each[2], np.nan)
    split = np.stack([bent, bent, np.full_like(bent, np.nan)], 1)
    dims = ("number", "layer")
    return record.assign(
        load_curve=(("number", "split", "layer"), split),
        load_linear=(dims, after_linear),
        load_norm=(dims, after_norm),
    )
