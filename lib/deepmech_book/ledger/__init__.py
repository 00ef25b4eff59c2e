"""Room: claims as data. A notebook supplies a measurement; the verdict follows by the rule in the registry.

``check("A.3.eq8", measured=..., expected=..., null=...)`` returns an :class:`Entry` that shows itself and carries its
record in the notebook's output; the press gathers the records into the scoreboard.
"""

from deepmech_book.ledger.entry import MIME, Entry, check
from deepmech_book.ledger.findings import Finding, findings, findings_markdown
from deepmech_book.ledger.formulas import Formula, formulas, formulas_markdown
from deepmech_book.ledger.registry import PAPERS, Claim, Figure, claim, claims, figure, figures
from deepmech_book.ledger.rules import FAILS, HOLDS, NOT_TESTABLE, TRIVIAL, UNDECIDED, VERDICTS, Rule
from deepmech_book.ledger.scoreboard import missing, scoreboard_csv, scoreboard_markdown, scoreboard_rows
from deepmech_book.ledger.sections import Section, papers_markdown, sections
from deepmech_book.ledger.sentences import Sentence, ours, sentences, sentences_markdown

__all__ = [
    "FAILS",
    "HOLDS",
    "MIME",
    "NOT_TESTABLE",
    "PAPERS",
    "TRIVIAL",
    "UNDECIDED",
    "VERDICTS",
    "Claim",
    "Entry",
    "Figure",
    "Finding",
    "Formula",
    "Rule",
    "Section",
    "Sentence",
    "check",
    "claim",
    "claims",
    "figure",
    "figures",
    "findings",
    "findings_markdown",
    "formulas",
    "formulas_markdown",
    "missing",
    "ours",
    "papers_markdown",
    "scoreboard_csv",
    "scoreboard_markdown",
    "scoreboard_rows",
    "sections",
    "sentences",
    "sentences_markdown",
]
