"""What every simulator's result has in common."""

import json

import pytest

from deepmech import over
from deepmech.simulators import elastic_sde, folding_ruler, spring_block

GRID = over("grid", [0.1, 0.2])
CHAIN = spring_block.Chain(n_blocks=3, friction_right=GRID, noise=0.1)
MODEL, START = elastic_sde.ElasticSDE(intra=GRID, inter=0.0), [[1.0], [-1.0]]
RULER = folding_ruler.Ruler(n_pairs=3, table_friction=GRID)
RESULTS = {
    "chain": lambda: spring_block.simulate(CHAIN, t_end=1.0, n_runs=2, record=[0.5, 1.0]),
    "averaged chain": lambda: spring_block.averaged(CHAIN, t_end=0.1, record=[0.1]),
    "elastic samples": lambda: elastic_sde.simulate(MODEL, [1.0], START, n_samples=2),
    "single-sample training": lambda: elastic_sde.train_discrete(MODEL, [1.0], START, step=0.5, n_samples=2),
    "elastic means": lambda: elastic_sde.mean_solution(MODEL, [1.0], START),
    "ruler": lambda: folding_ruler.simulate(RULER, folding_ruler.Pull(duration=20.0), dt=0.02, n_frames=3),
}
CLOSED_FORMS = {
    "equilibrium": lambda: spring_block.equilibrium(CHAIN),
    "slow pull": lambda: folding_ruler.slow_profile(RULER, 0.5).to_dataset(),
}


@pytest.mark.parametrize("name", RESULTS | CLOSED_FORMS)
def test_everything_in_a_result_says_what_it_is_and_in_what_units(name):
    made = (RESULTS | CLOSED_FORMS)[name]()
    silent = [
        n for n, v in made.variables.items() if n != "grid" and not (v.attrs.get("long_name") and v.attrs["units"])
    ]
    assert not silent


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_where_it_comes_from(name):
    attrs = RESULTS[name]().attrs
    assert {"seed", "versions", "machine", "device", "dtype", "wall_seconds"} <= attrs.keys()
    assert json.loads(attrs["spec"])
