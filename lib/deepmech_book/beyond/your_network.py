"""How many samples a separation measure needs: D of features whose D is known, coverage by law."""

import numpy as np
import xarray as xr

from deepmech.metrics.separation import ClassMoments
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.claims.nulls import share_beside
from deepmech_book.sweeps.extras.coverage import FORMS, LAWS, SAMPLES, features


def simulated(truths, per_class, n_classes, width, draws):
    """D in both forms of normal features, over their true D and the number of ``samples``; nan where there is no D."""
    samples = [n_classes * count for count in per_class]
    values = np.empty((len(truths), len(samples), len(FORMS), draws))
    for i, j, draw in np.ndindex(len(truths), len(samples), draws):
        drawn = features(truths[i], samples[j], n_classes, draw, width=width)
        moments = ClassMoments(n_classes).update(*drawn)
        values[i, j, :, draw] = [moments.separation(debias) for debias in FORMS.values()]
    coords = {"truth": list(truths), "samples": samples, "estimate": list(FORMS), "draw": range(draws)}
    found = xr.DataArray(values, coords, name="D")
    found.samples.attrs.update(long_name=f"samples of {n_classes} classes", units="1")
    return found


def by_law(tried):
    """Share of draws whose interval held D, over ``law``, ``samples`` and ``estimate``."""
    share = tried["covered"].mean("block")
    rows = [
        xr.concat([share.sel(population=f"{law}, {n} samples", drop=True) for n in SAMPLES], "samples") for law in LAWS
    ]
    return xr.concat(rows, "law").assign_coords(law=list(LAWS), samples=list(SAMPLES))


@measures("A.1.samples.coverage")
def coverage(covered, draws):
    """Share of ``draws`` draws whose interval holds debiased D, by law and number of samples; the null: plain D."""
    plain, debiased = (covered.sel(estimate=form, drop=True) for form in FORMS)
    return Measurement(share_beside(debiased, plain, draws))
