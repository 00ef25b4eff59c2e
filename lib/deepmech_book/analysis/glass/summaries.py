"""Where the numbers of a claim come from."""

from __future__ import annotations

from typing import Any

import xarray as xr

from deepmech_book.analysis.glass import phases

__all__ = ["evidence"]


def evidence(run: xr.Dataset | None, *words: str) -> dict[str, Any]:
    """How many networks a claim is about, and in words which ones, as arguments of ``claims.evaluate``.

    Parameters
    ----------
    run : Dataset, optional
        Networks of one phase, with the ``seed`` dimension and the sweep that they are from; None if there are none.
    words : str
        Sentences that follow; empty ones are left out.

    Returns
    -------
    dict
        ``seeds``, their number, and ``detail``.
    """
    if run is None:
        return {"seeds": 0, "detail": ""}
    return {"seeds": run.sizes["seed"], "detail": " ".join([phases.origin(run), *filter(None, words)])}
