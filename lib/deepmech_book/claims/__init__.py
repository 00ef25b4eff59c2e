"""Room: claims as data. A notebook supplies a measurement; the verdict follows by the rule in the registry.

``evaluate("A.3.eq8", measured=..., expected=..., null=...)`` returns an :class:`Entry` that shows itself and carries
its record in the notebook's output; the build gathers the records into the scoreboard.
"""

from deepmech_book.claims.evaluate import evaluate
from deepmech_book.claims.registry import PAPERS, claim, claims, figures

__all__ = ["PAPERS", "claim", "claims", "evaluate", "figures"]
