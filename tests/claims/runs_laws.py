"""Networks made up like those of the zoo, true to a law or not by construction: for its claims and for the bench."""

import numpy as np
import xarray as xr

from deepmech_book.sweeps.extras import zoo
from deepmech_book.sweeps.extras.layer_diagnostics import LayerDiagnostics

LAYERS = LayerDiagnostics.COORDS["layer"]


def networks(stars=40, **variables):
    """Networks of that many stars, with the zoo's settings and these variables, each (number, …)."""
    numbers = np.arange(stars * zoo.SIZE)
    each = [zoo.settings_of(int(i)) for i in numbers]
    coords = {name: ("number", np.array([s[name] for s in each])) for name in each[0]}
    made = {name: (("number", *LayerDiagnostics.DIMS.get(name, ())), v) for name, v in variables.items()}
    return xr.Dataset(made, {"number": numbers, **coords, **LayerDiagnostics.COORDS})


def with_curves(record, bend):
    """The record with load curves, D and D-hat, from 1 to 0 and bent by ``bend`` (number,) in units of their range."""
    depth = record.depth.values[:, None]
    x = np.where(depth > LAYERS, LAYERS / (depth - 1), np.nan)
    curve = 1 - x + 6 * np.asarray(bend)[:, None] * x * (1 - x)
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
