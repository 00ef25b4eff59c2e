"""Claims of spring_block/folding_ruler hold of rulers that open at the hand or evenly, not of pairs dealt anew."""

import numpy as np
import pytest
import xarray as xr
from truth_and_null import Pairs

from deepmech import Ruler, over
from deepmech.simulators.folding_ruler import slow_profile

pairs = Pairs("spring_block/folding_ruler")
SLOW = slow_profile(Ruler(table_friction=over("table_friction", [0.05, 0.2, 0.5])), 0.6)


def pulls(rng, slow=SLOW, shaken=0.1):
    """Slow rulers of that profile; shaken ones with that much of its unevenness, and jerked ones with twice of it."""
    mean = slow.mean("pair")

    def dealt(size):
        order = rng.permutation(slow.sizes["pair"])
        return mean + size * (slow - mean).isel(pair=order).assign_coords(pair=slow.pair)

    kinds = {"slow": slow, "jerked along the line": dealt(2.0), "shaken sideways": dealt(shaken)}
    final = xr.concat(kinds.values(), xr.Variable("pull", list(kinds))).expand_dims(run=range(3))
    return {"final": final}


@pairs.of("A.S1.slow")
def open_at_the_hand(true, rng):
    """Of the null, the slow profile has its pairs in random order on each table."""
    each = [SLOW.isel(table_friction=[i], pair=rng.permutation(8)).assign_coords(pair=SLOW.pair) for i in range(3)]
    return pulls(rng, slow=SLOW if true else xr.concat(each, "table_friction"))


@pairs.of("A.S1.jerky")
def even_where_shaken(true, rng):
    return pulls(rng, shaken=rng.uniform(0, 0.5) if true else np.exp(rng.uniform(0, 0.5)))


@pytest.mark.parametrize("claim", pairs.claims)
def test_a_claim_tells_truth_from_null(claim):
    pairs.check(claim)
