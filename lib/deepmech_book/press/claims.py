"""The ledger as data: every claim with its rule, null, numbers, verdict and cell, one line of JSON each.

``deepmech book --accept`` writes ``book/ledger/claims.jsonl`` anew, from the registry and from ``book/verdicts.tsv``.
Half of the claims are marked ``held out``: whoever predicts verdicts from the papers alone, a person or a program, is
scored on these (:func:`score`, ``deepmech bench PREDICTIONS.jsonl``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from deepmech.core.files import write_whole
from deepmech.core.random import Stream
from deepmech_book.ledger.registry import claims
from deepmech_book.ledger.rules import VERDICTS
from deepmech_book.press import verdicts
from deepmech_book.press.sources import Checkout, Source

SPLITS = ("open", "held out")
OPEN, HELD_OUT = SPLITS


def entries(checkout: Checkout) -> list[dict[str, Any]]:
    """All claims that a checkout judged, as ``book/ledger/schema.json`` describes them, in the order of their ids."""
    rows = verdicts.read(checkout.book / verdicts.FILE)
    cells = {page: _checked(checkout.source(page)) for page in checkout.names}
    made = []
    for name, row in sorted(rows.items()):
        claim = claims()[name]
        made.append({
            "id": name, "paper": claim.paper, "kind": claim.kind, "split": split_of(name), "where": claim.where,
            "statement": claim.statement, "measure": claim.measure, "rule": claim.rule.words, "null": claim.against,
            "better_than_null": claim.better_than_null, "verdict": row.verdict, "number": row.measured,
            "expected": row.expected, "interval": None if row.low is None else [row.low, row.high],
            "null_number": row.null, "notebook": f"notebooks/{claim.page}.md",
            "cell": cells.get(claim.page, {}).get(name),
        })  # fmt: skip
    return made


def split_of(name: str) -> str:
    """The half that a claim belongs to, by its id alone."""
    return SPLITS[int(Stream.of("held out", name).bits("claim", 0, 1)[0]) % 2]


def score(predictions: Path, checkout: Checkout) -> str:
    """How good predictions of verdicts are, on the half that is held out.

    ``predictions`` has a line of JSON for each claim: its ``id`` and a ``verdict``, or ``probabilities`` by verdict. A
    claim without a line counts as wrong. Beside it stands who always says the verdict most frequent in the open half.

    Raises
    ------
    ValueError
        Naming the line that is no such prediction.
    """
    known = {entry["id"]: entry for entry in entries(checkout)}
    said: dict[str, dict[str, float]] = {}
    for i, line in enumerate(predictions.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            one = json.loads(line)
            shares = one.get("probabilities") or {one["verdict"]: 1.0}
            ok = one["id"] in known and set(shares) <= set(VERDICTS) and abs(sum(shares.values()) - 1) < 1e-6
        except (ValueError, TypeError, AttributeError, KeyError):
            ok = False
        if not ok:
            raise ValueError(
                f"{predictions.name}, line {i}: must be an id of the ledger with a verdict ({', '.join(VERDICTS)}), or "
                "with their probabilities, which add up to 1"
            )
        said[one["id"]] = shares
    held = [e for e in known.values() if e["split"] == HELD_OUT]
    usual = Counter(e["verdict"] for e in known.values() if e["split"] == OPEN).most_common(1)[0][0]
    rows = {"predictions": said, f"always {usual!r}": {e["id"]: {usual: 1.0} for e in held}}
    lines = [f"{len(held)} claims held out, {sum(e['id'] in said for e in held)} of them predicted:"]
    for name, those in rows.items():
        right, far = [], []
        for e in held:
            p = np.array([those.get(e["id"], {}).get(v, 0.0) for v in VERDICTS])
            truth = np.array([v == e["verdict"] for v in VERDICTS], float)
            right.append(p.max() > 0 and bool(truth[p.argmax()]))
            far.append(np.square(p - truth).sum())
        lines.append(f"  {name}: {np.mean(right):.1%} right, Brier score {np.mean(far):.3f} (0 is best)")
    return "\n".join(lines)


def write(checkout: Checkout) -> None:
    """Write all claims into the book of a checkout, a line each."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries(checkout)]
    write_whole(checkout.book / "ledger" / "claims.jsonl", "\n".join([*lines, ""]))


def _checked(source: Source) -> dict[str, int]:
    """For every claim that a notebook checks the number of the code cell that does, from 1."""
    cells = [cell.source for cell in source.notebook.cells if cell.cell_type == "code"]
    return {
        name: i for i, cell in enumerate(cells, start=1) for name in re.findall(r"check\(\s*\"([A-C]\.[^\"]+)\"", cell)
    }
