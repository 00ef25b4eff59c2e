"""Room: simulators of the macroscopic mechanics. They know nobody but :mod:`deepmech.core`."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Chain": "spring_block",
    "ElasticSDE": "elastic_sde",
    "Ruler": "folding_ruler",
    "Well": "brownian",
}


def simulate(spec: Any, *args: Any, **how: Any) -> Any:
    """Run any simulator's spec: what follows it is for the ``simulate`` of its own room.

    A spec is a :class:`~deepmech.simulators.spring_block.Chain`,
    :class:`~deepmech.simulators.elastic_sde.ElasticSDE`, :class:`~deepmech.simulators.folding_ruler.Ruler` or
    :class:`~deepmech.simulators.brownian.Well`; anything else is refused with a ValueError.

    Parameters
    ----------
    spec : what to simulate.
    *args, **how : for the ``simulate`` of its room.

    Returns
    -------
    Dataset
        With labels, spec, seed and versions.

    Examples
    --------
    >>> from deepmech.simulators.spring_block import Chain
    >>> simulate(Chain(n_blocks=3, noise=0.1), t_end=1.0).sizes["block"]
    5
    """
    home = next((_HOMES[kind.__name__] for kind in type(spec).__mro__ if kind.__name__ in _HOMES), None)
    if home is None:
        names = ", ".join(f"{name}(...)" for name in _HOMES)
        raise ValueError(f"simulate: spec of type {type(spec).__name__}: must be one of {names}")
    return import_module(f"{__name__}.{home}").simulate(spec, *args, **how)
