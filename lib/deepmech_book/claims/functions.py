"""What measures a claim: one function of runs, marked with the claim's id, in ``claims/<chapter>/<page>.py``.

A claim has exactly one such function, in the module of its page; a test compares both lists. A page hands over runs:
``claims.show("B.3.peak", …)``. Each is judged on runs of which it is true by construction, and on runs of its null
(``tests/claims``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from deepmech.core.estimates import Estimate
from deepmech_book.claims import registry
from deepmech_book.claims.entries import Entry, Measurement, judged
from deepmech_book.claims.rules import judge

__all__ = ["ClaimFunction", "Measurement", "by_threshold", "functions_of", "judged", "measure", "measures", "show"]


@dataclass(frozen=True)
class ClaimFunction:
    """A function from runs to a :class:`Measurement`, and the ids of the claims that it measures."""

    ids: tuple[str, ...]
    function: Callable[..., Measurement]

    def __call__(self, *runs: Any, **named: Any) -> Measurement:
        return self.function(*runs, **named)


def measures(*ids: str) -> Callable[[Callable[..., Measurement]], ClaimFunction]:
    """Marks the function that measures a claim, or several with the same arithmetic on different runs.

    Parameters
    ----------
    *ids : str
        Ids of the registry, all of the page that the function's module is named after.

    Examples
    --------
    >>> @measures("B.thm21.separates")
    ... def separates(share, chance):
    ...     return Measurement(share, null=chance)
    >>> separates(0.99, chance=0.3).null
    0.3
    """
    return lambda function: ClaimFunction(ids, function)


def functions_of(page: str) -> Mapping[str, ClaimFunction]:
    """The functions of a page's claims by id.

    Parameters
    ----------
    page : str
        Such as ``"elastic_sde/effects"``.

    Raises
    ------
    ValueError
        If two functions have one id, or the page has no module.
    """
    name = f"{__package__.rpartition('.')[0]}.{page.replace('/', '.')}"
    module = _imported(name) or _imported(f"{__package__}.{page.replace('/', '.')}")
    if module is None:
        raise ValueError(
            f"claims of the page {page!r} have no functions; add the module {name} with one for each of its claims"
        )
    found: dict[str, ClaimFunction] = {}
    for function in vars(module).values():
        for one in function.ids if isinstance(function, ClaimFunction) else ():
            if one in found:
                raise ValueError(f"{name}: two functions measure {one}; leave one of them")
            found[one] = function
    return found


def _imported(name: str) -> Any:
    """A module, or None where there is none."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            return None
        raise


def measure(name: str, *runs: Any, seeds: int | None = None, **named: Any) -> Entry:
    """Measure a claim by its function; the verdict follows from its rule.

    Parameters
    ----------
    name : str
        Id of the claim.
    *runs, **named
        What its function takes.
    seeds : int, optional
        Number of independent runs, where the function cannot know it.

    Returns
    -------
    Entry
        As :func:`deepmech_book.claims.entries.judged` gives it.

    Raises
    ------
    ValueError
        For an unknown id, or a claim without a function.
    """
    page = registry.claim(name).page
    functions = functions_of(page)
    if name not in functions:
        raise ValueError(f"claim {name} has no function; mark one with @measures({name!r}) in {page}.py")
    return judged(name, functions[name](*runs, **named), seeds)


def show(name: str, *runs: Any, seeds: int | None = None, **named: Any) -> None:
    """:func:`measure` a claim and show it on the page."""
    from IPython.display import display  # a third of a second, which only pages need

    display(measure(name, *runs, seeds=seeds, **named))


def by_threshold(name: str, found: Estimate, *bars: float) -> str:
    """What would be said of a claim if its rule had other thresholds, whatever its null, as a sentence.

    Empty where there is no interval.

    Parameters
    ----------
    name : str
        Id of the claim.
    found : Estimate
        What was measured.
    *bars : float
        In place of the number of its rule; of a rule between two, of the lower one, with its inverse for the upper one.

    Examples
    --------
    >>> by_threshold("A.S1.jerky", Estimate(0.9, 0.7, 1.1), 0.5, 1.0, 1.5)
    'With other thresholds: 0.5, fails; 1, undecided; 1.5, holds.'
    """
    if not found.is_finite:
        return ""
    rule, value = registry.claim(name).rule, np.asarray(found.value)
    ends = np.asarray(found.low), np.asarray(found.high)
    rules = (replace(rule, value=[bar, 1 / bar] if rule.kind == "between" else bar) for bar in bars)
    verdicts = (judge(one, value, interval=ends).verdict for one in rules)
    return f"With other thresholds: {'; '.join(f'{b:g}, {v}' for b, v in zip(bars, verdicts, strict=True))}."
