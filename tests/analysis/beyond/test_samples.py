"""D of few samples: known answers."""

import numpy as np
import xarray as xr

from deepmech_book.analysis.beyond import samples
from deepmech_book.sweeps.extras.coverage import LAWS, SAMPLES


def test_debiased_numbers_lie_about_the_truth_and_plain_ones_about_the_soft_minimum():
    found = samples.simulated([1.0, 3.0], [5, 50], n_classes=20, width=40, draws=8)
    assert found.sizes == {"truth": 2, "samples": 2, "estimate": 2, "draw": 8}
    law = samples.soft_minimum(found.truth, found.samples, 20)
    assert (abs(found.sel(estimate="plain").mean("draw") - law) < 0.1).all()
    assert (abs(found.sel(estimate="debiased").mean("draw") - found.truth).sel(samples=1000) < 0.15).all()
    assert (law < found.truth).all() and (law < np.log((found.samples - 20) / 19)).all()


def test_coverage_is_ordered_by_law_and_number():
    names = [f"{law}, {n} samples" for law in LAWS for n in SAMPLES]
    covered = xr.DataArray(np.arange(18.0).reshape(9, 2), {"population": names, "estimate": ["plain", "debiased"]})
    found = samples.coverage_by_law(xr.Dataset({"covered": covered.expand_dims(block=2)}))
    assert found.sel(law=LAWS[1], samples=SAMPLES[2], estimate="debiased").item() == 11
