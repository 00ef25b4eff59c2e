"""Room: claims as data. A notebook supplies a measurement; the verdict follows by the rule in the registry.

``check("A.3.eq8", measured=..., expected=..., null=...)`` returns an :class:`Entry` that shows itself and carries its
record in the notebook's output; the press gathers the records into the scoreboard.
"""

from deepmech_book.ledger.entry import check
from deepmech_book.ledger.registry import PAPERS, claim, claims, figures

__all__ = ["PAPERS", "check", "claim", "claims", "figures"]
