"""Euler steps of paper B's Eq. 2, an oracle: what is exact must tend to them, what a page steps must be them."""

from typing import Any

import numpy as np

from deepmech.core.random import Stream
from deepmech.simulators.elastic_sde import ElasticSDE


def euler(
    model: ElasticSDE, times: Any, start: Any, dt: float, n_samples: int, n_runs: int = 1, start_spread: float = 0.0,
    mean: str = "samples", seed: int = 0,
) -> np.ndarray:  # fmt: skip
    """Features (run, time, class, sample, feature) at multiples of ``dt``, with the random numbers of the simulator."""
    x0, noise = np.asarray(start, float), float(model.noise)
    k, p = x0.shape
    streams = [Stream.of("elastic_sde", seed, run) for run in range(n_runs)]
    x = np.stack([x0[:, None] + start_spread * s.normal("start", 0, (k, n_samples, p)) for s in streams])
    drift, out, marks = x0[None], [], np.rint(np.asarray(times) / dt).astype(int)
    (alpha, _), (beta, _) = model.rates()
    parts = model.drift_parts(model.grid())
    for step in range(marks[-1] + 1):
        out += [x] * (step in marks)
        a, b = (float(np.ravel(rate(np.array([step * dt])))[0]) for rate in (alpha, beta))
        m = a * parts[0][0] + b * parts[1][0]
        means = x.mean(2) if mean == "samples" else drift
        pull = dt * (np.einsum("kc,rcp->rkp", m, means) if len(m) == k else (means.reshape(-1, k * p) @ m.T))
        pull = pull.reshape(-1, k, p)
        drift = drift + pull if mean == "infinite" else drift
        z = np.stack([s.normal("noise", step, (k, n_samples, p)) for s in streams])
        x = x + pull[:, :, None] + noise * np.sqrt(dt) * z
    return np.stack(out, 1)
