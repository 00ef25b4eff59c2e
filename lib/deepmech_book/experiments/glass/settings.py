"""What walks on which data set: the phases of the paper's networks and the sizes at which this book runs them."""

from __future__ import annotations

from typing import Any

#: N/P_D of widths 30 and 72 at P_D = 60,000, λ and χ of Fig. 3.
PHASES: dict[str, dict[str, float]] = {
    "regularised": {"ratio": 4830 / 60_000, "regularisation": 0.01, "chi": 300.0},
    "underparameterised": {"ratio": 4830 / 60_000, "regularisation": 0.0, "chi": 500.0},
    "overparameterised": {"ratio": 26712 / 60_000, "regularisation": 0.0, "chi": 6000.0},
}
#: The same of CIFAR-10, where it differs: widths 30 and 80 at P_D = 50,000, and weaker weight decay (Fig. A4).
OTHER_PHASES: dict[str, dict[str, dict[str, float]]] = {
    "cifar10-jpeg": {
        "regularised": {"ratio": 4830 / 50_000, "regularisation": 1e-3},
        "underparameterised": {"ratio": 4830 / 50_000},
        "overparameterised": {"ratio": 32_880 / 50_000},
    }
}
#: What the paper runs (Sec. III, Figs. 3 and 7): of its 50 initial conditions these are left in each phase.
PAPER: dict[str, float] = {"samples": 60_000, "steps": 300_000, "first wait": 20_000, "motilities after": 200_000}
PAPER_PHASES: dict[str, dict[str, float]] = {
    "regularised": {"width": 30, "initial conditions": 50},
    "underparameterised": {"width": 30, "initial conditions": 26},
    "overparameterised": {"width": 72, "initial conditions": 46},
}
#: The same of CIFAR-10 (App. E), where it differs or is not said.
OTHER_PAPER: dict[str, dict[str, dict[str, float]]] = {
    "cifar10-jpeg": {
        phase: {"samples": 50_000, "width": width, "initial conditions": float("nan")}
        for phase, width in (("regularised", 30), ("underparameterised", 30), ("overparameterised", 80))
    }
}
#: The preparation of the authors' program, over the paper's length μt = 4,200: PyTorch's start, steps of 0.001.
PREPARATION = {"gain": 1.0, "sgd_steps": 4_200_000, "learning_rate": 1e-3, "descent_steps": 0}
_SHORT = {"gain": 6**0.5, "sgd_steps": 200_000, "learning_rate": 0.02, "descent_steps": 2000}
#: Short ones of each phase, for narrow networks with whitened inputs: a wider start and longer steps.
WHITENED: dict[str, dict[str, Any]] = {
    "regularised": _SHORT,
    "underparameterised": _SHORT,
    "overparameterised": {**_SHORT, "sgd_steps": 400_000},
}
LEARNT = 0.45
"""The data loss below which a network has learnt; at the origin, where it has not, it is ½."""

#: What is run for each data set: P_D, whether components are whitened, and per phase the arguments of
#: ``walks.phase_sweep`` (``n_data``: its own P_D).
SETTINGS: dict[str, dict[str, Any]] = {
    "mnist": {
        "n_data": 8000,
        "whiten": False,
        "regularised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 0.0),
            "n_seeds": 12,
            "steps": 120_000,
            "waiting": (10_000, 20_000, 50_000, 100_000),
        },
        "underparameterised": {
            "temperatures": (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 0.0),
            "n_seeds": 12,
            "steps": 60_000,
            "waiting": (10_000, 20_000, 40_000),
        },
        "overparameterised": {
            "temperatures": (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 4,
            "steps": 40_000,
            "waiting": (10_000, 20_000),
        },
    },
    "cifar10-jpeg": {
        "n_data": 3000,
        "whiten": True,
        "regularised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 3,
            "steps": 30_000,
            "waiting": (10_000,),
            "preparation": WHITENED["regularised"],
        },
        "underparameterised": {
            "temperatures": (1.0, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 3,
            "steps": 30_000,
            "waiting": (10_000,),
            "preparation": WHITENED["underparameterised"],
        },
        # So few samples of ten components are learnt by heart only with more weights than the paper's 0.66 per sample.
        "overparameterised": {
            "n_data": 1500,
            "width": 20,
            "temperatures": (0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 0.0),
            "n_seeds": 4,
            "steps": 12_000,
            "waiting": (2000,),
            "preparation": {**WHITENED["overparameterised"], "learning_rate": 0.003},
        },
    },
}
#: On the bundled digits the same as on MNIST, but for networks that are not so narrow, with whitened inputs.
SETTINGS["digits"] = {"n_data": 1796, "whiten": True} | {
    phase: SETTINGS["mnist"][phase] | {"preparation": WHITENED[phase]} | own
    for phase, own in zip(PHASES, ({"width": 6}, {"width": 6}, {}), strict=True)
}
