"""What is no number is refused in the place of every argument, where NumPy would make numbers of it."""

import numpy as np
import pytest
import xarray as xr

from deepmech import over
from deepmech.simulators import brownian, elastic_sde, folding_ruler, spring_block

DAYS = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
#: What NumPy and xarray would compute with, and what they would compute would not be what was meant.
ODD = {
    "text": "a", "bytes": b"a", "flag": True, "complex": 1j, "ragged": [[1.0], [1.0, 2.0]], "mapping": {},
    "span": np.timedelta64(1, "s"), "days": DAYS, "objects": np.array([None, 1], object), "texts": np.array(["1", "2"]),
    "records": np.zeros(2, [("a", float)]), "masked": np.ma.masked_array([1.0, 2.0], [0, 1]), "hidden": np.ma.masked,
    "dataset": xr.Dataset(), "labelled complex": over("x", [0, 1]).copy(data=[1j, 1]),
    "labelled flags": over("x", [0, 1]).copy(data=[True, False]), "labelled days": over("x", [0, 1]).copy(data=DAYS),
    "labelled objects": over("x", [0, 1]).copy(data=np.array(["a", None], object)),
}  # fmt: skip
CHAIN, MODEL = spring_block.Chain(n_blocks=2, noise=0.1), elastic_sde.ElasticSDE()
WELL = brownian.Well(stiffness=1.0, temperature=1.0)
PULL, START = folding_ruler.Pull(duration=5.0), [[1.0], [0.0]]
FORCES = {"force": 0.1, "friction_right": 0.1, "friction_left": 0.2}
SAMPLES = {"model": MODEL, "times": [0.0, 1.0], "start": START, "n_samples": 3, "n_runs": 1, "start_spread": 0.0}
CALLS = {
    "chain": (lambda **a: spring_block.simulate(spring_block.Chain(noise=0.1, **a), 0.1), {
        "n_blocks": 2, "stiffness": 1.0, "target": 1.0, "friction_right": 0.0, "friction_left": 0.0, "damping": 1.0,
    }),
    "chain's noise": (lambda noise: spring_block.Chain(noise=noise), {"noise": 0.1}),
    "simulate a chain": (spring_block.simulate, {
        "chain": CHAIN, "t_end": 0.1, "dt": 0.01, "order": "first", "n_runs": 1, "shared_noise": False,
        "truncation": None, "noise_decay": 0.0, "record": None, "start": None, "seed": 0,
    }),
    "averaged chain": (spring_block.averaged, {
        "chain": CHAIN, "t_end": 0.1, "dt": 0.01, "record": None,
    }),
    "equilibrium": (spring_block.equilibrium, {"chain": CHAIN}),
    "energy": (spring_block.elastic_energy, {"position": xr.DataArray([0.0, 1.0], dims="block"), "stiffness": 1.0}),
    "friction": (spring_block.friction, FORCES),
    "averaged friction": (spring_block.averaged_friction_force, FORCES | {"noise_bar": 0.1}),
    "effective friction": (spring_block.effective_friction, FORCES | {"noise_bar": 0.1}),
    "elastic model": (lambda **a: elastic_sde.ElasticSDE(**a).gap(1.0), {
        "intra": 1.0, "inter": 0.0, "n_classes": 2, "n_features": 1, "structure": "isotropic", "noise": 1.0,
        "class_weights": None, "label_mixing": 0.0,
    }),
    "power law": (lambda **a: elastic_sde.ElasticSDE(intra=elastic_sde.PowerLaw(**a)).gap(1.0), {
        "scale": 1.0, "exponent": 1.0, "offset": 0.0,
    }),
    "gap": (MODEL.gap, {"t": 1.0}),
    "elastic samples": (elastic_sde.simulate, SAMPLES | {"mean": "samples", "seed": 0}),
    "single-sample training": (elastic_sde.train_discrete, SAMPLES | {"step": 0.1, "seed": 0}),
    "elastic means": (elastic_sde.mean_solution, {"model": MODEL, "times": [0.0, 1.0], "start": START}),
    "by chance": (elastic_sde.separated_by_chance, {"n": 2}),
    "separation": (elastic_sde.separation_probability, {"signal": 1.0, "n": 2}),
    "mean over noise": (elastic_sde.mean_over_noise, {
        "model": MODEL, "times": [1.0], "distance": 1.0, "start_spread": 0.0,
    }),
    "critical strength": (elastic_sde.critical_strength, {"n_classes": 3, "label_noise": 0.0}),
    "mixed logits": (elastic_sde.mixed_logits, {"n_classes": 3, "own": 1.0}),
    "drift": (elastic_sde.drift_matrix, {
        "effects": np.eye(2), "blocks": None, "weights": [0.5, 0.5], "mixing": np.eye(2)[None],
    }),
    "ruler": (lambda **a: folding_ruler.slow_profile(folding_ruler.Ruler(**a), 0.5), {
        "n_pairs": 3, "fold_angle": 80.0, "table_friction": 0.2, "stop": 0.99,
    }),
    "pull": (lambda **a: folding_ruler.grid(folding_ruler.Ruler(), folding_ruler.Pull(**a)), {
        "extension": 0.6, "duration": 5.0, "jerk_speed": 0.0, "jerk_period": 1.0, "shake_speed": 0.0,
    }),
    "simulate a ruler": (folding_ruler.simulate, {
        "ruler": folding_ruler.Ruler(n_pairs=2), "pull": PULL, "dt": 0.005, "n_runs": 1, "n_frames": 2, "seed": 0,
    }),
    "slow profile": (folding_ruler.slow_profile, {"ruler": folding_ruler.Ruler(), "extension": 0.5}),
    "well": (lambda **a: brownian.Well(**a).variance, {
        "stiffness": 0.0, "temperature": 0.0, "learning_rate": 1e-3, "n_data": 1.0,
    }),
    "free overlap": (brownian.free_overlap, {"times": [1.0], "window": 0.1, "diffusion": 0.1}),
    "free time": (brownian.free_time, {"window": 0.1, "diffusion": 0.1, "level": 0.9}),
    "well overlap": (brownian.well_overlap, {"times": [1.0], "well": WELL, "window": 0.1, "start": 0.0}),
    "final overlap": (brownian.final_overlap, {"well": WELL, "window": 0.1, "start": 0.0}),
    "displacement": (brownian.well_msd, {"times": [1.0], "well": WELL}),
    "ageing": (brownian.ageing_factor, {"waiting": [1.0], "learning_rate": 0.1, "decay": 0.1}),
}  # fmt: skip
PLACES = [(name, argument) for name, (_, arguments) in CALLS.items() for argument in arguments]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_what_is_no_number_is_not_computed_with(name, argument):
    call, arguments = CALLS[name]
    for kind, value in ODD.items():
        if (argument, kind) != ("shared_noise", "flag"):
            with pytest.raises((ValueError, TypeError)):
                call(**arguments | {argument: value})
                pytest.fail(f"{kind} was taken")
