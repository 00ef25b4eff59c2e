"""The LE-ODE by numerical integration, straight from the words of the paper: an oracle for closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde import ElasticSDE


def start(n_classes: int, n_features: int) -> np.ndarray:
    """Standard normal class means, (K, p)."""
    return Stream.of("elastic theory", 0).normal("start", n_classes, (n_classes, n_features))


def integrated(model: ElasticSDE, times: Any, x0: np.ndarray) -> np.ndarray:
    """The LE-ODE straight from the words of Eqs. 1 and 4, by Runge–Kutta steps: (time, class, feature).

    Class c is drawn with probability p_c and labelled l with P_cl; class k moves by E_kl H_kl X̄^c. Nothing of the
    closed forms or of the matrices behind them is used.
    """
    blocks, times = model.blocks(), np.asarray(times, float)
    (alpha, _), (beta, _) = model.rates()
    mixing, p = model.mixing(model.grid())[0], model.weights()
    k = model.n_classes

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        x, same, other = y.reshape(k, -1), float(np.ravel(alpha(t))[0]), float(np.ravel(beta(t))[0])
        out = np.zeros_like(x)
        for j in range(k):
            for label in range(k):
                seen = (p * mixing[:, label]) @ x
                out[j] += (same if j == label else other) * blocks[j, label] @ seen
        return out.ravel()

    found = solve_ivp(slope, (0.0, times[-1]), np.ravel(x0), t_eval=times, method="LSODA", rtol=1e-10, atol=1e-12)
    return found.y.T.reshape(len(times), k, -1)


def off(x: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance from the exact solution, over the solution's size."""
    return float(np.abs(x - exact).max() / np.abs(exact).max())
