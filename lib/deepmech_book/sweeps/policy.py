"""How what a function computes is compared with what it computed before: stated beside the function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

#: What the last bits of elementary functions and sums amount to, of an element.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Policy:
    """How recomputed cells may differ from stored ones."""

    #: By variable, the largest relative difference of an element; ``"*"`` stands for all others. State it of torch's
    #: sums, which follow the processor, the versions and the number of threads. What is left out must have equal bits
    #: where it was made, and agree to :data:`ROUNDING` elsewhere.
    tolerance: Mapping[str, float] = field(default_factory=dict)
    #: Of a function whose cells are dear: ``part(**fixed)`` gives the fixed parameters of a smaller task, and the
    #: variables of its result that under equal labels equal those of the whole: the first trials of many, say.
    part: Callable[..., tuple[dict[str, Any], Sequence[str]]] | None = None
    #: Whether the last bits of a sum grow into other results: then they are compared only where they were made.
    platform_dependent: bool = False

    def __post_init__(self) -> None:
        for name, value in self.tolerance.items():
            if not 0 <= value < 0.1:
                raise ValueError(f"Policy.tolerance[{name!r}] = {value!r}: more than a tenth proves nothing")


class CellFunction:
    """A function that computes a sweep's cells, with its :class:`Policy`; called as the function is."""

    def __init__(self, function: Callable[..., xr.Dataset], policy: Policy) -> None:
        self.function, self.policy = function, policy
        functools.update_wrapper(self, function)

    def __call__(self, cells: xr.Dataset, **fixed: Any) -> xr.Dataset:
        return self.function(cells, **fixed)


def verification_policy(**stated: Any) -> Callable[[Callable[..., xr.Dataset]], CellFunction]:
    """State the :class:`Policy` of a function; the arguments are its fields."""
    return lambda function: CellFunction(function, Policy(**stated))
