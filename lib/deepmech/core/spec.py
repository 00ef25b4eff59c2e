"""Frozen specs: validated on construction, readable as JSON, comparable and hashable by content."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, Self

import numpy as np
import xarray as xr

from deepmech.core import checks


class Spec:
    """Mixin for frozen dataclasses (declare them with ``@dataclass(frozen=True, eq=False)``).

    Subclasses validate themselves in ``__post_init__`` with the methods below: what does not fit is refused with a
    ValueError that names the field, its value and what is allowed.
    """

    def require(self, field: str, ok: Any, allowed: str) -> None:
        """Raise a ValueError that names the field, its value and what is allowed, unless ``ok`` holds everywhere."""
        value = getattr(self, field)
        if isinstance(ok, xr.DataArray):
            ok = ok.values
        if not np.all(ok):
            if isinstance(value, xr.DataArray):
                bad = np.broadcast_to(~np.asarray(ok, bool), value.shape)
                value = value.values[bad].ravel()[0].item()
            checks.refuse(f"{type(self).__name__}.{field}", value, allowed)

    def require_numbers(self, *fields: str) -> None:
        """Every named field must be a finite number, or a labelled array of them."""
        checks.numbers(type(self).__name__, **{field: getattr(self, field) for field in fields})
        for field in fields:
            self.require(field, np.isfinite(np.asarray(getattr(self, field), float)), "finite")

    def require_between(self, field: str, low: float, high: float, allowed: str) -> None:
        """From ``low`` to ``high``, which is excluded."""
        self.require_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.require(field, (values >= low) & (values < high), allowed)

    def require_positive(self, *fields: str, allowed: str = "positive") -> None:
        for field in fields:
            self.require_between(field, np.nextafter(0, 1), np.inf, allowed)

    def require_not_negative(self, *fields: str, allowed: str = "zero or positive") -> None:
        for field in fields:
            self.require_between(field, 0, np.inf, allowed)

    def require_whole(self, field: str, least: int) -> None:
        self.require_numbers(field)
        values = np.asarray(getattr(self, field), float)
        self.require(field, (values >= least) & (values == np.round(values)), f"a whole number, at least {least}")

    def require_one_of(self, field: str, *allowed: Any) -> None:
        words = f"one of {', '.join(map(repr, allowed))}"
        self.require(field, np.isin(np.asarray(getattr(self, field)), allowed), words)

    def to_json(self) -> dict[str, Any]:
        """The spec as plain JSON values; :meth:`from_json` turns it back."""
        fields = {f.name: encode(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"spec": type(self).__name__, **fields}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.get("spec", cls.__name__) != cls.__name__:
            raise ValueError(f"{cls.__name__}.from_json: this is a {data['spec']}")
        return cls(**{k: decode(v) for k, v in data.items() if k != "spec"})

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change whenever any field changes."""
        return digest(self.to_json())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_json() == self.to_json()

    def __hash__(self) -> int:
        return int(self.fingerprint(), 16)


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of the canonical JSON of ``value``."""
    text = json.dumps(encode(value), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_json()
    if isinstance(value, xr.DataArray):
        coords = {str(k): v.values.tolist() for k, v in value.coords.items()}
        return {"labelled": {"dims": list(value.dims), "coords": coords, "values": value.values.tolist()}}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    return value


def decode(value: Any) -> Any:
    if isinstance(value, dict) and "labelled" in value:
        a = value["labelled"]
        return xr.DataArray(np.asarray(a["values"]), dims=a["dims"], coords=a["coords"])
    return value
