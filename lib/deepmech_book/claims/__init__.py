"""Room: claims as data. A page hands over runs; a function measures; the verdict follows by the rule in the registry.

``show("B.3.peak", runs)`` measures a claim by the function marked with its id, and shows what it found, an
:class:`~deepmech_book.claims.functions.Entry` that carries its record in the notebook's output; the build gathers the
records into the scoreboard.
"""

from deepmech_book.claims.functions import Measurement, measure, measures, show
from deepmech_book.claims.registry import PAPERS, claim, claims, figures

__all__ = ["PAPERS", "Measurement", "claim", "claims", "figures", "measure", "measures", "show"]
