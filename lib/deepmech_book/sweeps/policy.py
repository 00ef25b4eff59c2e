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
    """How recomputed cells may differ from stored ones.

    Parameters
    ----------
    tolerance : dict
        By variable, the largest relative difference of an element; ``"*"`` stands for all others. State it of torch's
        sums, which follow the processor, the versions and the number of threads. What is left out must have equal
        bits where it was made, and agree to :data:`ROUNDING` elsewhere.
    part : callable, optional
        Of a function whose cells are dear: ``part(**fixed)`` gives the fixed parameters of a smaller task, and the
        variables of its result that under equal labels equal those of the whole: the first trials of many, say.
    platform_dependent : bool
        Whether the last bits of a sum grow into other results: then they are compared only where they were made.
    rounding_above : dict
        By variable, the number from which on larger ones are rounding alone, a ratio to a variance of which nothing is
        left, say: two that are both larger agree, and nan, where rounding left less than nothing, is larger.

    Examples
    --------
    >>> policy = Policy({"loss": 1e-6})
    >>> policy.allowed("loss"), policy.allowed("curve"), policy.allowed("curve", here=True)
    (1e-06, 1e-09, 0.0)
    """

    tolerance: Mapping[str, float] = field(default_factory=dict)
    part: Callable[..., tuple[dict[str, Any], Sequence[str]]] | None = None
    platform_dependent: bool = False
    rounding_above: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.tolerance.items():
            if not 0 <= value < 0.1:
                raise ValueError(f"Policy.tolerance[{name!r}] = {value!r}: more than a tenth proves nothing")

    def allowed(self, variable: str, here: bool = False) -> float:
        """The tolerance of one variable, ``here`` where it was made."""
        return float(self.tolerance.get(variable, self.tolerance.get("*", 0.0 if here else ROUNDING)))

    def states(self, variable: str) -> bool:
        """Whether a tolerance is stated for a variable."""
        return bool({variable, "*"} & set(self.tolerance))


class CellFunction:
    """A function that computes a sweep's cells, with its :class:`Policy`; called as the function is."""

    def __init__(self, function: Callable[..., xr.Dataset], policy: Policy) -> None:
        self.function, self.policy = function, policy
        functools.update_wrapper(self, function)

    def __call__(self, cells: xr.Dataset, **fixed: Any) -> xr.Dataset:
        return self.function(cells, **fixed)


def verification_policy(
    tolerance: Mapping[str, float] | None = None,
    part: Callable[..., tuple[dict[str, Any], Sequence[str]]] | None = None,
    platform_dependent: bool = False,
    rounding_above: Mapping[str, float] | None = None,
) -> Callable[[Callable[..., xr.Dataset]], CellFunction]:
    """State the :class:`Policy` of a function; the arguments are its fields.

    Examples
    --------
    >>> @verification_policy(tolerance={"loss": 1e-6})
    ... def compute(cells): ...
    >>> policy_of(compute).tolerance
    {'loss': 1e-06}
    """
    policy = Policy(dict(tolerance or {}), part, platform_dependent, dict(rounding_above or {}))
    return lambda function: CellFunction(function, policy)


def policy_of(function: Callable[..., xr.Dataset]) -> Policy:
    """The policy that was stated for a function; of others, equal bits where made, and rounding elsewhere."""
    return function.policy if isinstance(function, CellFunction) else Policy()
