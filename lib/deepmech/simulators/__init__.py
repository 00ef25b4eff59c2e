"""Room: simulators of the macroscopic mechanics. They know nobody but :mod:`deepmech.core`."""

from functools import singledispatch
from typing import Any

import xarray as xr


@singledispatch
def simulate(spec: Any, /, *args: Any, **options: Any) -> xr.Dataset:
    """Run any simulator's spec: what follows it is for the ``simulate`` of its own module.

    A spec is a :class:`~deepmech.simulators.spring_block.Chain`,
    :class:`~deepmech.simulators.elastic_sde.ElasticSDE` or :class:`~deepmech.simulators.folding_ruler.Ruler`. Each of
    these modules registers its own ``simulate`` for its spec.

    Parameters
    ----------
    spec : Chain, ElasticSDE or Ruler
        What to simulate.
    *args, **options : object
        For the ``simulate`` of its module.

    Returns
    -------
    Dataset
        With labels, spec, seed and versions.

    Raises
    ------
    ValueError
        If ``spec`` is none of these.

    Examples
    --------
    >>> from deepmech.simulators.spring_block import Chain
    >>> simulate(Chain(n_blocks=3, noise=0.1), t_end=1.0).sizes["block"]
    5
    """
    known = "Chain(...), ElasticSDE(...), Ruler(...)"
    raise ValueError(f"simulate: spec of type {type(spec).__name__}: must be one of {known}")
