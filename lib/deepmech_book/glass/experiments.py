"""Experiments of this chapter: name, function of its cells, what varies, what is fixed."""

from functools import partial

from deepmech.trainers.langevin import log_times
from deepmech_book.sweeps import experiments
from deepmech_book.sweeps.glass import landscape, minima, walks
from deepmech_book.sweeps.glass.data import fingerprint


def rested(**fixed):
    """A row of networks that are trained for several lengths, and then walk without noise."""
    row = walks.walked(per_decade=12, **fixed)
    del row["fixed"]["preparation"]
    return row | {"compute": "glass.preparation"}


def on_kinks(phase, softplus, waiting, longest, n_data=8000):
    """A row of networks of a phase with whitened inputs, of ReLU or softplus units, that walk without noise."""
    like = walks.standard(phase, "mnist", n_data=n_data, whiten=True)
    fixed = {name: like.fixed[name] for name in ("data", "width", "regularisation")}
    fixed |= {
        "softplus": softplus, "chi": like.fixed["chi"][walks.FINE_WINDOW], "waiting": list(waiting),
        "times": log_times(longest, 24).tolist(), "preparation": walks.WHITENED[phase],
    }  # fmt: skip
    return {"compute": "glass.kinks", "fixed": fixed, "data": like.data}


def slowed(like, **fixed):
    """A row of networks like those of an experiment, or of a phase, that rest, and are looked at, at smaller rates."""
    like = experiment(like) if like in EXPERIMENTS else walks.standard(like, "mnist")
    kept = ("data", "width", "regularisation", "softplus", "preparation")
    fixed = {"softplus": 0.0} | {name: like.fixed[name] for name in kept if name in like.fixed} | fixed
    return {"compute": "glass.rates", "fixed": {"waiting": 10_000, **fixed}, "data": like.data}


def cooled(waiting, steps):
    """A row of glass formers, recorded from 50 steps on: before that particles fly freely."""
    times = [int(t) for t in log_times(steps, 8) if t >= 50]
    return {"compute": "glass.lennard_jones", "fixed": {"waiting": waiting, "times": times}}


def landscapes(dataset="mnist", n_data=4000, temperature=0.01, networks=None, **fixed):
    """A row of landscapes on whitened inputs; ``networks`` changes ``width`` or ``preparation`` of a phase."""
    chosen = {}
    for phase in walks.PHASES:
        how = {"whiten": True, "preparation": walks.WHITENED[phase], **(networks or {}).get(phase, {})}
        like = walks.standard(phase, dataset, n_data=n_data, **how).fixed
        chosen[phase] = {k: like[k] for k in ("data", "width", "regularisation", "preparation")}
    # The glass walks at half of the temperature at which the mixture begins to feel its landscape.
    temperatures = {landscape.GLASS: 0.5, **dict.fromkeys(walks.PHASES, temperature)}
    fixed |= {"networks": chosen, "temperatures": temperatures}
    data = fingerprint(dataset, n_data, whiten=True)
    return {"name": f"{{}}-{dataset}", "compute": "glass.landscape", "fixed": fixed, "data": data}


def settled(dataset="mnist", n_data=4000, whiten=True, shuffle=None, **preparation):
    """A row of networks at rest; what it does not say of their preparation is that of minima.REST."""
    data = {"name": dataset, "n_data": n_data, "whiten": whiten} | ({} if shuffle is None else {"shuffle": shuffle})
    fixed = {"data": data, "preparation": {**minima.REST, **preparation}}
    return {"name": f"{{}}-{dataset}", "compute": "glass.transitions", "fixed": fixed, "data": fingerprint(**data)}


def fitted(dataset="mnist", n_data=4000):
    """A row of straight lines fitted to so many samples; the cell says how many."""
    data = fingerprint(dataset, n_data, whiten=True)
    return {"name": f"{{}}-{dataset}", "compute": "glass.linear_networks", "fixed": {"name": dataset}, "data": data}


BATCHES = {"batch_size": (1, 8, 32, 128)}
ALONE = {"regularisation": (0.0,)}
FALLS = (0.001, 0.003, 0.01, 0.014, 0.018, 0.022, 0.026, 0.03, 0.035, 0.04, 0.05, 0.07, 0.1, 0.15)
BY_HEART = {"dataset": minima.CIFAR, "n_data": 1500, "sgd_steps": 1_000_000, "learning_rate": 0.001}
PROGRAM = {"n_data": 60_000, "whiten": False, "gain": 1.0, "learning_rate": 1e-3}
"""The paper's size, inputs and start."""
LONG = {"steps": 1_000_000, "waiting": (20_000,)}
LENGTHS = (420, 4_200, 42_000, 300_000, 1_260_000, 4_200_000)
"""Steps of stochastic gradient descent at the program's μ = 1e-3. At P_D = 60,000 its parameter file's 500 epochs are
300,000 of them (μt = 300), the 7,000 epochs of the paper's text 4,200,000 (μt = 4,200)."""
FEW = (0.01, 1e-3, 1e-4, 1e-6, 0.0)
SIZES = {
    2000: (FEW, 24, 30_000, (10_000,)),
    4000: ((1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 0.0), 12, 120_000, (10_000, 20_000, 50_000, 100_000)),
    8000: (FEW, 12, 20_000, (10_000,)),
    16_000: (FEW, 6, 20_000, (10_000,)),
    60_000: ((0.1, *FEW[:4], 1e-8, 0.0), 4, 12_500, (10_000,)),
}
"""Temperatures, networks, steps and waits of regularised networks with whitened inputs, by number of samples."""
KINKS = {
    phase + kind: (range(310, 322), {"softplus": beta, "waiting": (10_000, 50_000), "longest": longest})
    for phase, longest in (("regularised", 8000), ("underparameterised", 3000))
    for kind, beta in (("", 0.0), ("-smooth", 5.0))
}
"""Walks without noise by phase, of ReLU and smooth: seeds that no walk of the book had when claims were frozen."""
EXPERIMENTS: dict[str, experiments.Row] = {
    "glass-former": (
        cooled,
        {"temperature": (1.0, 0.7, 0.55, 0.47), "seed": range(2)},
        {"waiting": 100_000, "steps": 300_000},
    ),
    "glass-batches": (walks.walked, {"seed": range(2), **BATCHES}, LONG),
    "glass-plane": (
        settled,
        {
            "width": (5, 7, 10, 13, 16, 20),
            "regularisation": (0.0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.08),
            "seed": range(3),
        },
        {},
    ),
    "glass-uot": (
        settled,
        {"width": (5, 7, 9, 11, 13, 15, 18, 20), **ALONE, "seed": range(4)},
        {"sgd_steps": 300_000},
    ),
    "glass-uot-random": (
        settled,
        {"width": (10, 13, 16, 20), **ALONE, "seed": range(2)},
        {**BY_HEART, "shuffle": 1},
    ),
    "glass-uot-program": (
        settled,
        {"width": range(30, 73, 6), **ALONE, "seed": range(1)},
        {**PROGRAM, "sgd_steps": 4_200_000, "descent_steps": 0, "slow_steps": 0},
    ),
    "glass-ttt": (settled, {"width": (7,), "regularisation": FALLS, "seed": range(10)}, {}),
    "glass-ttt-program": (
        settled,
        {"width": (30,), "regularisation": (0.01, 0.013, 0.016, 0.02, 0.03), "seed": range(3)},
        {**PROGRAM, "sgd_steps": 100_000, "descent_steps": 50, "slow_steps": 50},
    ),
    "glass-linear": (fitted, {"n_data": (4000,)}, {}),
    "landscape": (
        landscapes,
        {"system": landscape.SYSTEMS, "seed": range(3)},
        {
            "kicks": [0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3],
            "directions": 2,
            "legs": 6,
            "leg": 5000,
            "calls": [30, 100, 300, 1000, 3000],
            "descent": 3000,
            "images": 21,
            "relaxing": 3000,
        },
    ),
    "glass-batches-free": (walks.walked, {"seed": range(1), **BATCHES}, {**LONG, "regularisation": 0.0}),
    "glass-preparation": (
        rested,
        {"sgd_steps": LENGTHS, "seed": range(12)},
        {"n_data": 8000, "whiten": False, "steps": 100_000, "waiting": (0, 20_000)},
    ),
    "glass-paper": (
        walks.walked,
        {"seed": range(1), "temperature": (0.1, 0.01, 1e-3, 0.0)},
        {"steps": 100_000, "waiting": (20_000,)},
    ),
}
for name, (seeds, walked) in KINKS.items():
    phase = name.removesuffix("-smooth")
    EXPERIMENTS[f"glass-kinks-{name}"] = (on_kinks, {"seed": seeds}, {"phase": phase, **walked})
    looked = {"like": f"glass-kinks-{name}", "temperature": 0.0, "slower": [1, 4, 16], "look": 100}
    EXPERIMENTS[f"glass-rates-{name}"] = (slowed, {"seed": range(310, 313 if phase != name else 322)}, looked)
COLD = {"temperature": 1e-8, "slower": [1, 2, 4], "look": 1000}
EXPERIMENTS["glass-rates-cold"] = (slowed, {"seed": range(12)}, {"like": "regularised", **COLD})
for n, (temperatures, n_seeds, steps, waiting) in SIZES.items():
    size = {"n_data": n, "steps": steps, "waiting": waiting}
    EXPERIMENTS[f"glass-scaling-{n}"] = (
        walks.walked,
        {"seed": range(n_seeds), "temperature": temperatures},
        {**size, "whiten": True, "preparation": walks.WHITENED["regularised"]},
    )
experiment = partial(experiments.experiment, EXPERIMENTS)
