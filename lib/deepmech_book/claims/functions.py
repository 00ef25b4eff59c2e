"""What measures a claim: one function of runs, marked with the claim's id, in ``claims/<chapter>/<page>.py``.

A claim has exactly one such function, in the module of its page; a test compares both lists. A page hands over runs:
``claims.show("B.3.peak", …)``. Each is judged on runs of which it is true by construction, and on runs of its null
(``tests/claims``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from deepmech_book.claims import registry
from deepmech_book.claims.entries import Entry, Measurement, judged

__all__ = ["ClaimFunction", "Measurement", "functions_of", "judged", "measure", "measures", "show"]


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
    name = f"{__package__}.{page.replace('/', '.')}"
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            raise ValueError(
                f"claims of the page {page!r} have no functions; add the module {name} with one for each of its claims"
            ) from None
        raise
    found: dict[str, ClaimFunction] = {}
    for function in vars(module).values():
        for one in function.ids if isinstance(function, ClaimFunction) else ():
            if one in found:
                raise ValueError(f"{name}: two functions measure {one}; leave one of them")
            found[one] = function
    return found


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
        raise ValueError(f"claim {name} has no function; mark one with @measures({name!r}) in claims/{page}.py")
    return judged(name, functions[name](*runs, **named), seeds)


def show(name: str, *runs: Any, seeds: int | None = None, **named: Any) -> None:
    """:func:`measure` a claim and show it on the page."""
    from IPython.display import display  # a third of a second, which only pages need

    display(measure(name, *runs, seeds=seeds, **named))
