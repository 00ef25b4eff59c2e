"""Claims of the page glass/transitions: Fig. 1 of paper C, and the same scaled down.

Arguments are results of :func:`deepmech_book.sweeps.glass.minima.plane`, networks at rest: ``data_loss`` over ``seed``,
``width`` and ``regularisation``.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book.analysis.glass import phases, transitions
from deepmech_book.claims.functions import Measurement, measures


@measures("C.1.scatter")
def scatter(sizes: xr.Dataset) -> Measurement:
    """Share of the larger networks that are without loss."""
    _, share = transitions.fitted(sizes)
    return Measurement(share, null=1.0, detail=f"{share.n} networks.")


@measures("C.1.lambda_star")
def lambda_star(networks: xr.Dataset) -> Measurement:
    """λ beyond which at least half of the networks have fallen to the origin."""
    words = (
        "The interval is between the two decays that were tried on either side, whichever network is left out, and not "
        f"more: {networks.sizes['seed']} networks. {transitions.half_way(networks)}The paper trains 42 times as long."
    )
    return Measurement(transitions.half_fallen(networks), detail=words)


@measures("C.1.sharp")
def sharp(decays: xr.Dataset) -> Measurement:
    """Share of the loss's rise in the step that ends at the origin, mean over networks; the null: of their mean."""
    return last_step(decays, phases.LEARNT)


def last_step(decays: xr.Dataset, origin: float) -> Measurement:
    """The same where the origin is the data loss ``origin`` and above."""
    single, mean = transitions.sharpness(decays, origin)
    most = transitions.largest_step(decays.data_loss.isel(width=0, drop=True)).mean()
    words = f"{transitions.origin(decays)} The largest step, wherever it ends: {float(most):.2f}."
    return Measurement(single, null=mean, detail=words)


@measures("C.1.no_uot_with_decay")
def no_uot_with_decay(plane: xr.Dataset) -> Measurement:
    """Factors of ten by which the loss falls with size, at each decay; the null: without decay."""
    with_decay, without = transitions.decades(plane)
    if not with_decay.size:
        why = (
            "the widest networks learn at no decay above 0; give smaller ones (regularisations_a), or train for longer"
        )
        return Measurement(not_testable=why)
    return Measurement(with_decay, null=without, detail=transitions.origin(plane))
