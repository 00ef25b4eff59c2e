"""Pair of the page beyond/your_network, and D of few samples where the answer is known."""

import numpy as np
import xarray as xr

from deepmech_book.beyond import your_network
from deepmech_book.sweeps.extras.coverage import FORMS, LAWS, SAMPLES
from pairs import Page

page = Page("beyond/your_network")
DRAWS = 1000


@page.pair("A.1.samples.coverage", panels=[(law, n) for law in LAWS for n in SAMPLES], usual=0.95)
def intervals_that_hold(level, rng, rival):
    """A thousand draws of each population; with ``rival`` those of plain D hold it as often in one."""
    true = np.reshape(list(level.values()), (len(LAWS), len(SAMPLES)))
    plain = np.full_like(true, 0.3)
    plain[1, 1] = true[1, 1] if rival else 0.3
    held = rng.binomial(DRAWS, [plain, true]) / DRAWS
    coords = {"estimate": list(FORMS), "law": list(LAWS), "samples": list(SAMPLES)}
    return {"covered": xr.DataArray(held, coords), "draws": DRAWS}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


def test_debiased_numbers_lie_about_the_truth_and_plain_ones_about_the_soft_minimum():
    found = your_network.simulated([1.0, 3.0], [5, 50], n_classes=20, width=40, draws=8)
    assert found.sizes == {"truth": 2, "samples": 2, "estimate": 2, "draw": 8}
    free = found.samples - 20
    law = -np.log(found.samples / free * np.exp(-found.truth) + 19 / free)
    assert (abs(found.sel(estimate="plain").mean("draw") - law) < 0.1).all()
    assert (abs(found.sel(estimate="debiased").mean("draw") - found.truth).sel(samples=1000) < 0.15).all()
    assert (law < found.truth).all() and (law < np.log(free / 19)).all()


def test_coverage_is_ordered_by_law_and_number():
    names = [f"{law}, {n} samples" for law in LAWS for n in SAMPLES]
    numbers = np.arange(2.0 * len(names)).reshape(-1, 2)
    covered = xr.DataArray(numbers, {"population": names, "estimate": ["plain", "debiased"]})
    found = your_network.by_law(xr.Dataset({"covered": covered.expand_dims(block=2)}))
    assert found.sel(law=LAWS[1], samples=SAMPLES[2], estimate="debiased").item() == 11
