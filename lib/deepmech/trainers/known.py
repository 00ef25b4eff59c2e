"""What an engine can train: fields of specs, and of names the values, that it lists. It refuses all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from deepmech.core.spec import Spec

#: For each type of spec that an engine takes every field, and of names also the values (None: all that the spec
#: allows).
Known = Mapping[type, Mapping[str, tuple[str, ...] | None]]


def knows(numbers: str, **names: tuple[str, ...]) -> dict[str, tuple[str, ...] | None]:
    """A spec's fields for :data:`Known`: ``numbers`` in one string, ``names`` with the values that are known."""
    return {**dict.fromkeys(numbers.split()), **names}


def unknown(known: Known, *specs: Spec) -> str:
    """What in the specs of one member is not ``known``, in words; empty if nothing.

    Types have to be the very types: what derives from a known spec may mean something else.

    Examples
    --------
    >>> from deepmech.trainers.specs import SingleSample
    >>> fields = "learning_rate iterations label_error class_weights"
    >>> unknown({SingleSample: knows(fields, dtype=("float64",))}, SingleSample())
    "SingleSample.dtype = 'float32'"
    """
    for spec in specs:
        name = type(spec).__name__
        if type(spec) not in known:
            return name
        values = known[type(spec)]
        for field in fields(spec):  # type: ignore[arg-type]
            value = getattr(spec, field.name)
            allowed = values.get(field.name, ())
            if allowed is not None and str(value) not in allowed:
                return f"{name}.{field.name}" + (f" = {value!r}" if field.name in values else "")
    return ""


def require_known(engine: str, known: Known, *specs: Spec) -> None:
    if what := unknown(known, *specs):
        raise ValueError(f"engine {engine!r} does not know {what}")
