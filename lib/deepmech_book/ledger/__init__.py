"""Room: claims as data. A notebook supplies a measurement; the verdict follows by the rule in the registry.

``check("A.3.eq8", measured=..., expected=..., null=...)`` returns an :class:`Entry` that shows itself and carries its
record in the notebook's output; the press gathers the records into the scoreboard.
"""

from deepmech_book.ledger.done import choices, done_markdown
from deepmech_book.ledger.entry import MIME, check
from deepmech_book.ledger.findings import findings, findings_markdown
from deepmech_book.ledger.formulas import formulas, formulas_markdown
from deepmech_book.ledger.registry import PAPERS, claim, claims, figures
from deepmech_book.ledger.scoreboard import csv_text, missing, scoreboard_markdown, scoreboard_rows
from deepmech_book.ledger.sections import papers_markdown, sections
from deepmech_book.ledger.sentences import sentences, sentences_markdown

__all__ = [
    "MIME",
    "PAPERS",
    "check",
    "choices",
    "claim",
    "claims",
    "csv_text",
    "done_markdown",
    "figures",
    "findings",
    "findings_markdown",
    "formulas",
    "formulas_markdown",
    "missing",
    "papers_markdown",
    "scoreboard_markdown",
    "scoreboard_rows",
    "sections",
    "sentences",
    "sentences_markdown",
]
