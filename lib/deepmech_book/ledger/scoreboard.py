"""The scoreboard page, and what a build promised but did not produce."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from deepmech_book.ledger import registry
from deepmech_book.ledger.entry import CSS, number
from deepmech_book.ledger.registry import Claim, Figure
from deepmech_book.ledger.rules import HOLDS, VERDICTS

Record = Mapping[str, Any]
Pages = set[str] | None
Link = Callable[[str], str] | None


def missing(
    records: Iterable[Record], figures_built: Iterable[str] | None = None, pages: Iterable[str] | None = None
) -> list[str]:
    """Registry entries that should be in this build and that no notebook produced, in words.

    Parameters
    ----------
    records : iterable of dict
        What notebooks left in their outputs: ``{"figure": id}``, ``{"claim": {...}}`` or bare claim records.
    figures_built : iterable of str, optional
        Ids of further figures that were drawn.
    pages : iterable of str, optional
        Pages of this build (``"spring_block/chain"``); default: every page that the registry names.

    Examples
    --------
    >>> missing([{"figure": "A.S1"}], pages=["spring_block/folding_ruler"])[0]
    'claim A.S1.slow: not checked by spring_block/folding_ruler'
    """
    drawn, checked = set(figures_built or ()), set()
    for record in records:
        if "figure" in record and "id" not in record and "claim" not in record:
            drawn.add(record["figure"])
        else:
            checked.add(record.get("claim", record)["id"])
    wanted = None if pages is None else set(pages)
    unknown = [registry.unknown(i, registry.figures(), "figure") for i in sorted(drawn - set(registry.figures()))]
    unknown += [registry.unknown(i, registry.claims(), "claim") for i in sorted(checked - set(registry.claims()))]
    if unknown:
        raise ValueError("; ".join(unknown))

    def due(item: Any) -> bool:
        return item.built and (wanted is None or item.page in wanted)

    gaps = [
        f"figure {f.id}: not drawn by {f.page}" for f in registry.figures().values() if due(f) and f.id not in drawn
    ]
    gaps += [
        f"claim {c.id}: not checked by {c.page}" for c in registry.claims().values() if due(c) and c.id not in checked
    ]
    return gaps


def scoreboard_markdown(
    records: Iterable[Record],
    profile: str,
    *,
    pages: Iterable[str] | None = None,
    link: Callable[[str], str] | None = None,
) -> str:
    """The scoreboard as MyST Markdown, without a title: a count of verdicts, then per paper its claims and figures.

    ``records`` are claim records or ``{"claim": record}``; a record may carry the ``page`` it came from and the
    ``seconds`` that page took. ``pages`` are the pages of this build (default: all); ``link(page)`` gives a page's
    address. Every claim and every figure of the registry appears, measured or not.
    """
    from deepmech_book.ledger.sentences import ours  # a module that shows claims with the badges of this one

    found = claim_records(records)
    here = None if pages is None else set(pages)
    claimed = [r for name, rs in found.items() for r in rs if ".errata." not in name]
    errata = [r for name, rs in found.items() for r in rs if ".errata." in name]
    own = {c.id for c in ours()}
    said, drawn = ([r for r in claimed if (r["id"] in own) == mine] for mine in (False, True))
    waiting = sum(1 for c in registry.claims() if c not in found)
    built = sum(f.built and (here is None or f.page in here) for f in registry.figures().values())
    lines = [
        f"Profile `{profile}`. Claims of the papers: {_counts(said)}. Consequences that this book draws, "
        f"which no sentence of a paper makes: {_counts(drawn)}. Errata, counted apart: {_counts(errata)}. "
        f"{waiting} not measured in this build. "
        f"Figures: {built} of {len(registry.figures())} drawn in this build.",
        "",
        *_by_chance(claimed),
    ]
    for paper, title in registry.PAPERS.items():
        lines += [f"## {title}", ""]
        claims = [c for c in registry.claims().values() if c.paper == paper]
        if claims:
            lines += _claims_table(claims, found, here, link)
        lines += _figures_table([f for f in registry.figures().values() if f.paper == paper], here, link)
    return "\n".join(lines)


def scoreboard_rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """The claims as data, in the order of the registry: one row for each measurement, one for each claim without.

    ``low`` and ``high`` are the ends of the interval; what was not measured is None.
    """
    found, rows = claim_records(records), []
    for c in registry.claims().values():
        told = {"paper": c.paper, "figure": c.figure, "statement": c.statement, "page": c.page}
        state = "not built yet" if not c.built else "not in this build"
        for r in found.get(c.id) or [{"verdict": state, "rule": c.rule.words}]:
            low, high = r.get("interval") or (None, None)
            measured = {name: r.get(name) for name in ("verdict", "measured", "null", "rule", "seeds", "profile")}
            rows.append({"claim": c.id, **told, **measured, "low": low, "high": high, "reason": r.get("reason")})
    return rows


def scoreboard_csv(rows: Iterable[Record]) -> str:
    """:func:`scoreboard_rows` as a table for spreadsheets."""
    rows, text = list(rows), io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def claim_records(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of claims among what notebooks left in their outputs, by the claim's id."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if "figure" in record and "id" not in record and "claim" not in record:
            continue
        if "claim" in record:
            record = {**record["claim"], **{k: v for k, v in record.items() if k != "claim"}}
        found.setdefault(registry.claim(record["id"]).id, []).append(record)
    return found


def _counts(records: list[Record]) -> str:
    """How often each verdict was given."""
    verdicts = Counter(r["verdict"] for r in records)
    return ", ".join(f"{verdicts[v]} {badge(v)}" for v in VERDICTS if verdicts[v]) or "none measured"


def _by_chance(records: list[Record]) -> list[str]:
    """How many of the claims that hold would do so by chance, as a paragraph."""
    judged = [r for r in records if r.get("interval")]
    if not judged:
        return []
    holding = sum(r["verdict"] == HOLDS for r in judged)
    return [
        f"{len(judged)} of these verdicts rest on a 95 % interval, {holding} of them hold. If the truth lay just "
        f"outside the region of each claim, an interval would by chance lie inside it in at most 2.5 % of them: "
        f"{number(0.025 * len(judged))} of {len(judged)}. The other {len(records) - len(judged)} are exact results, "
        "single simulations or curves without an interval, for which no such number can be given.",
        "",
    ]


def _claims_table(claims: Iterable[Claim], found: Mapping[str, list[Record]], here: Pages, link: Link) -> list[str]:
    lines = [
        "### Claims",
        "",
        "| claim | statement | ours | rule | null | verdict | seeds | page |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in claims:
        page = page_link(c.page, link, here)
        if c.id not in found:
            state = "not built yet" if not c.built else "not in this build"
            null = cell(c.against or "–")
            lines.append(
                f"| {c.id} | {cell(c.statement)} | – | {c.rule.words} | {null} | {badge(state)} | – | {page} |"
            )
        for r in found.get(c.id, []):
            null = number(r["null"]) if r.get("null") is not None else "–"
            row = [c.id, c.statement, _ours(r), r["rule"], null, badge(r["verdict"]), str(r.get("seeds") or "–")]
            seconds = f" ({r['seconds']:.0f} s)" if r.get("seconds") is not None else ""
            lines.append(
                "| "
                + " | ".join(cell(v) for v in row)
                + f" | {page_link(r.get('page', c.page), link, None)}{seconds} |"
            )
    return [*lines, ""]


def _figures_table(figures: Iterable[Figure], here: Pages, link: Link) -> list[str]:
    lines = ["### Figures", "", "| figure | shows | page |", "|---|---|---|"]
    for f in figures:
        state = page_link(f.page, link, here) if f.built else f"{badge('not built yet')} (step {f.step})"
        part = f" ({f.part})" if f.part and f.built else ""
        lines.append(f"| {f.label} | {cell(f.title)}: {cell(f.shows)} | {state}{part} |")
    return [*lines, ""]


def _ours(record: Record) -> str:
    if record.get("measured") is None:
        return record.get("reason") or "–"
    ends = f" [{number(record['interval'][0])}, {number(record['interval'][1])}]" if record.get("interval") else ""
    return number(record["measured"]) + ends


def badge(state: str) -> str:
    """A verdict as the coloured word of the pages."""
    return f'<span class="dm-verdict {CSS.get(state, "dm-unbuilt")}">{state}</span>'


def cell(text: str) -> str:
    """A text that does not end the cell of a table it stands in."""
    return text.replace("|", "\\|").replace("\n", " ")


def page_link(page: str | None, link: Link, here: Pages) -> str:
    """A page by name, as a link where it is in this build (``here``; None: all are) and ``link`` gives addresses."""
    if page is None:
        return "–"
    if here is not None and page not in here:
        return f"{page}, not in this build"
    return f"[{page.rsplit('/')[-1].replace('_', ' ')}]({link(page)})" if link else page
