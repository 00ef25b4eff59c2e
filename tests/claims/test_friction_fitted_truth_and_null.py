"""Claims of beyond/friction_fitted hold of chains in order, not of the same chains dealt anew to the cells."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech_book import claims
from deepmech_book.analysis.beyond.friction_fitted import in_order
from deepmech_book.analysis.spring_block import chain_fits

pairs = Pairs("beyond/friction_fitted")
CELLS = {"slope": [0.0, 0.5, 1.0], "dropout": [0.0, 0.1, 0.2, 0.3], "seed": range(5)}
LIKE = xr.DataArray(np.linspace(1, 0, 6)[:, None] + np.zeros(12), dims=("layer", "at_epoch"))
LIKE = (LIKE + xr.DataArray(np.zeros((3, 4, 5)), CELLS)).assign_coords(at_epoch=np.arange(1, 13), layer=range(6))


LADDER = xr.Dataset(
    {name: xr.DataArray(np.zeros((3, 4, 5)), CELLS) + xr.DataArray(v, {name: v}) for name, v in CELLS.items()}
)


def fits(rng, frictions=(0.08, 0.04, 0.01), noises=(0.01, 0.03, 0.06, 0.1), dealt=False, scatter=0.003):
    """Chains of these frictions by slope and noises by dropout, or the same numbers dealt to the cells by lot; and what
    the fit makes of them and of the same in order."""
    shape = [len(v) for v in CELLS.values()]
    right = np.broadcast_to(np.reshape(frictions, (3, 1, 1)), shape)
    noise = np.broadcast_to(np.reshape(noises, (1, 4, 1)), shape)
    if dealt:
        right, noise = rng.permuted(right, axis=0), rng.permuted(noise, axis=1)
    numbers = {"friction_right": right, "friction_left": np.full(shape, 0.12), "noise_bar": noise}
    numbers["time"] = np.full(shape, np.geomspace(1.0, chain_fits.LONGEST, 40)[36])  # one that the fit tries
    made = chain_fits.curves_of(xr.Dataset({k: xr.DataArray(v, CELLS) for k, v in numbers.items()}), LIKE)
    made = made + rng.normal(0, scatter, made.shape)
    fit = chain_fits.fitted_chains(made)
    return {"fit": fit, "known": chain_fits.fitted_chains(in_order(made, fit))}


@pairs.of("A.1.fitted.friction", "A.1.fitted.noise")
def chains_in_order(true, rng):
    return fits(rng, dealt=not true)


@pairs.of("A.1.fitted.epochs")
def chains_go_on(true, rng):
    """R² of chain and relaxation; of the null, half are alike, and half are better foretold by the relaxation."""
    ahead = 0.1 if true else rng.choice([0.0, -0.1])
    numbers = xr.DataArray(np.zeros((3, 4, 5)), CELLS)
    chain, rival = (numbers + 0.8 + off + rng.normal(0, 0.03, numbers.shape) for off in (ahead, 0.0))
    return {"fit": xr.Dataset({"r2": chain}), "rival": xr.Dataset({"r2": rival})}


@pairs.fair("A.1.fitted.friction", "A.1.fitted.noise")
def cells_by_lot(rng):
    """A permutation is as extreme as this one in 2.5 % of draws; here fits are made of the numbers themselves."""
    right, noise = rng.normal(size=(2, 3, 4, 1)) + 0.02 * rng.normal(size=(2, 3, 4, 5))
    known = {"friction_right": -LADDER["slope"], "noise_bar": LADDER["dropout"]}
    fit = {"friction_right": xr.DataArray(right, CELLS), "noise_bar": xr.DataArray(noise, CELLS)}
    return {
        "fit": xr.Dataset(fit),
        "known": xr.Dataset(known) + 0.001 * xr.DataArray(rng.normal(size=(3, 4, 5)), CELLS),
    }


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)


def test_where_the_fit_does_not_find_what_is_there_it_cannot_tell_and_says_so():
    """As under strong noise, where only the difference of the frictions shapes a chain (Eq. 8)."""
    made = fits(np.random.default_rng(0))
    found = claims.measure("A.1.fitted.noise", made["fit"], made["known"] * 0 + 0.5)
    assert found.verdict == "not testable at this profile" and "cannot tell" in found.reason
