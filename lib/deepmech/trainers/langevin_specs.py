"""What walks, and how it got there: frozen specs of the glass paper's networks. Numbers may be labelled arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from deepmech.core.labels import Number
from deepmech.core.spec import Spec
from deepmech.trainers.checks import Checked

#: What the spec allows. Each engine says for itself which of these it knows.
DTYPES = ("float32", "float64", "mixed")


@dataclass(frozen=True, eq=False)
class Dynamics(Checked):
    r"""A bias-free ReLU network and the dynamics of its weights, one unit of time per step (glass paper, Eqs. 1-3).

    .. math:: w \leftarrow w - \mu\,\partial_w\mathcal{L} + \sqrt{2T\mu/P_D}\;\xi, \qquad
       \mathcal{L} = \frac{1}{P_D}\sum_i \tfrac12\max(0, 1 - y_i f(x_i))^2 + \frac{\lambda}{2}|w|^2

    Parameters
    ----------
    width : units of every hidden layer.
    hidden : number of hidden layers.
    regularisation : λ ≥ 0.
    temperature : T ≥ 0, in units where k_B = 1 and the energy is P_D times the loss (Eq. A4).
    learning_rate : μ > 0.
    batch_size : 0 for the whole data set in every step; otherwise stochastic gradient descent with batches of this
        size, and then the temperature must be 0: batches make their own noise.
    dtype : ``"float32"``, ``"float64"``, or ``"mixed"`` (weights in float64, gradients in float32): single precision
        loses noise that is smaller than the spacing of its numbers, which mixed precision does not.

    Raises
    ------
    ValueError
        Naming the field, its value and what is allowed.

    Examples
    --------
    >>> from deepmech import over
    >>> Dynamics(width=8, temperature=over("temperature", [1e-3, 1e-2])).noise(1000).values.round(7).tolist()
    [4.47e-05, 0.0001414]
    """

    width: Number = 30
    hidden: Number = 6
    regularisation: Number = 0.0
    temperature: Number = 0.0
    learning_rate: Number = 1e-3
    batch_size: Number = 0
    dtype: str = "mixed"

    def __post_init__(self) -> None:
        self.require_whole("width", 1)
        self.require_whole("hidden", 1)
        self.require_between("regularisation", 0, np.inf, "at least 0")
        self.require_between("temperature", 0, np.inf, "at least 0")
        self.require_positive("learning_rate")
        self.require_whole("batch_size", 0)
        known = isinstance(self.dtype, str) and self.dtype in DTYPES
        self.require("dtype", known, f"one of {', '.join(map(repr, DTYPES))}")
        if np.any(np.asarray(self.batch_size) > 0):
            self.require("temperature", not np.any(self.temperature), "0 where batch_size is not 0")

    def noise(self, n_data: int) -> Any:
        """√(2Tμ/P_D), the standard deviation of the noise that a weight receives in one step."""
        return np.sqrt(2 * self.temperature * self.learning_rate / n_data)


@dataclass(frozen=True, eq=False)
class Preparation(Checked):
    """How a network comes to the place where it is watched: stochastic, then full-batch gradient descent (Sec. III).

    Initial weights are uniform in ±gain/√(units below).

    Parameters
    ----------
    gain : 1 is PyTorch's default; √6 keeps the mean square of ReLU features from layer to layer. With weight decay the
        origin is a local minimum of any such network, and narrow ones with gain 1 fall into it before they learn.
    sgd_steps : steps of stochastic gradient descent.
    batch_size : its batches; the last one of an epoch holds what is left.
    descent_steps, slow_steps : full-batch steps after it, at ``learning_rate`` and at a tenth of it (Sec. III A).
    learning_rate : of all three.
    """

    gain: Number = 1.0
    sgd_steps: Number = 100_000
    batch_size: Number = 100
    descent_steps: Number = 0
    slow_steps: Number = 0
    learning_rate: Number = 1e-3

    def __post_init__(self) -> None:
        for field in ("sgd_steps", "descent_steps", "slow_steps"):
            self.require_whole(field, 0)
        self.require_whole("batch_size", 1)
        self.require_positive("gain")
        self.require_positive("learning_rate")


def numbers(spec: Spec, prefix: str = "") -> dict[str, Any]:
    """The fields of a spec that may be labelled, by name."""
    names = [f.name for f in fields(spec) if f.name != "dtype"]  # type: ignore[arg-type]
    return {prefix + n: getattr(spec, n) for n in names}


WHOLE = {"width", "hidden", "batch_size", "sgd_steps", "descent_steps", "slow_steps"}


def with_numbers(spec: Any, row: Mapping[str, float], prefix: str = "") -> Any:
    """``spec`` for one member: plain numbers from a row of an aligned batch."""
    values = {n: row[prefix + n] for n in numbers(spec)}
    plain = {n: int(v) if n in WHOLE else float(v) for n, v in values.items()}
    return type(spec)(**plain, **({"dtype": spec.dtype} if hasattr(spec, "dtype") else {}))
