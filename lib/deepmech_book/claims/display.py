"""How a claim looks: a line with its verdict, sentence and number, a strip plot of what decided it, which unfolds.

A claim's numbers come as a record, as :meth:`deepmech_book.claims.functions.Entry.to_json` makes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from deepmech_book.claims.registry import Claim
from deepmech_book.claims.rules import FAILS, HOLDS, NOT_TESTABLE, TRIVIAL, UNDECIDED, again, power

Record = Mapping[str, Any]
ABSENT = "not in this build"
#: Sign and class of each verdict: signs and words tell them apart where colours do not.
LOOKS = {
    HOLDS: ("✓", "dm-holds"),
    TRIVIAL: ("≈", "dm-trivial"),
    FAILS: ("✗", "dm-fails"),
    UNDECIDED: ("?", "dm-undecided"),
    NOT_TESTABLE: ("–", "dm-untestable"),
}
COUNTED = {HOLDS: "hold", TRIVIAL: "trivially", FAILS: "fail"}
"""Words for verdicts of several claims."""
MOST = 60  # points in a row of a strip plot; of more values so many are drawn, evenly by rank
#: Turns the digits of an exponent into raised ones.
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def badge(verdict: str, reason: str = "", kind: str = "claim", doubt: str = "") -> str:
    """A verdict as sign and word, coloured on pages; what is no verdict, such as "not in this build", is grey.

    A verdict of which there is ``doubt`` (:func:`doubtful`) says so.
    """
    sign, css = LOOKS.get(verdict, ("", "dm-unbuilt"))
    words = "not testable" if verdict == NOT_TESTABLE else verdict
    if verdict == TRIVIAL and " in " in reason:
        words = f"trivial in {reason.rpartition(' in ')[2]}"
    if kind == "finding":
        sign, css, words = "", "dm-unbuilt", "we find" if verdict == HOLDS else f"we looked: {verdict}"
    if kind == "check" and verdict in (HOLDS, FAILS):
        words = "check" if verdict == HOLDS else "check fails"
    sign = f'<span aria-hidden="true">{sign}</span> ' if sign else ""
    told = f' title="{doubt}"' if doubt else ""
    return f'<span class="dm-verdict {css}"{told}>{sign}{words}{", barely" if doubt else ""}</span>'


def claim_line(
    claim: Claim, record: Record | None, strip: str = "", link: tuple[str, str] | None = None, anchor: bool = True
) -> str:
    """A claim as a line of HTML that unfolds without a script; without a record it is not in this build.

    ``link`` are address and title of the page that measures it. With ``anchor`` others can link to it as ``claim-ID``,
    once on a page.
    """
    verdict, known = (ABSENT, {}) if record is None else (leading(record), record)
    doubt = doubtful(claim, record) if record else ""
    rows = [("rule", claim.rule.words), *_exchanged(claim, {})] if record is None else facts(claim, record)
    told = "".join(f"<dt>{name}</dt> <dd>{escape(words)}</dd>" for name, words in [*rows, ("id", claim.id)])
    told += f'<dt>page</dt> <dd><a href="{link[0]}">{escape(link[1])}</a></dd>' if link else ""
    detail = f'<p class="dm-detail">{escape(record["detail"])}</p>' if record and record.get("detail") else ""
    name = f' id="claim-{claim.id}"' if anchor else ""
    main = " dm-main" if claim.main else ""
    return (
        f'<details class="dm-claim dm-{claim.kind}{main}"{name}><summary title="{claim.id}">'
        f"{badge(verdict, known.get('reason', ''), claim.kind, doubt)} "
        f'<span class="dm-statement">{escape(claim.statement)}</span> '
        f"{line(record, claim, strip) if record else ''}</summary>"
        f'<dl class="dm-numbers">{told}</dl>{detail}</details>'
    )


def with_rows(line: str, rows: Iterable[str], records: Iterable[Record]) -> str:
    """The line of a claim with those of its rows inside, and beside its statement the counts of their verdicts, if not
    all have the claim's own.
    """
    counts, number = verdict_counts(records := list(records)), '</span> <span class="dm-number">'
    others = {leading(record) for record in records} - {v for v in LOOKS if f'dm-verdict {LOOKS[v][1]}"' in line}
    told = f' <span class="dm-tally">its parts, each judged alone: {counts}</span>' if others else ""
    return line.replace(number, f"{told}{number}", 1).removesuffix("</details>") + "".join(rows) + "</details>"


def verdict_counts(records: Iterable[Record]) -> str:
    """How many have each verdict that was given, with its sign, and how many findings have none, as HTML."""
    of = Counter("" if record.get("kind") == "finding" else leading(record) for record in records)
    looks = [(v, of[v], *LOOKS[v]) for v in LOOKS if of[v]]
    counts = [f'<span class="dm-verdict {css}">{sign} {n} {COUNTED.get(v, v)}</span>' for v, n, sign, css in looks]
    return ", ".join([*counts, *([f"{of['']} without a verdict"] if of[""] else [])])


def fold(title: str, records: Iterable[Record], inside: str) -> str:
    """Lines of claims behind a title and the counts of their verdicts."""
    head = f'<summary><span>{escape(title)}</span> <span class="dm-tally">{verdict_counts(records)}</span></summary>'
    return f'<details class="dm-group">{head}{inside}</details>'


def facts(claim: Claim, record: Record) -> list[tuple[str, str]]:
    """What a reader may ask beyond verdict, statement and number, as (name, words)."""
    found = []
    if record["measured"] is not None:
        at = f" ({record['at']})" if record.get("at") else ""
        worst = f", the least clear of {record['count']}{at}" if record.get("count", 0) > 1 else ""
        ends = record["interval"]
        between = f" [{number(ends[0])}, {number(ends[1])}]" if ends else ""
        found.append(("measured", f"{number(record['measured'])}{between}{worst}"))
    if record["expected"] is not None:
        found.append(("expected", number(record["expected"])))
    found.append(("rule", claim.rule.words))
    found += _exchanged(claim, record)
    if record["null"] is not None:
        beside = f"; beside it the claim {record['verdict']}" if claim.first_null else ""
        found.append(("null", f"{number(record['null'])} ({claim.against}{beside})"))
    if ends := record.get("difference"):
        found.append(("less its null", f"[{number(ends[0])}, {number(ends[1])}]"))
    if why := record.get("reason"):
        found.append(("because", why))
    found += [("history", words) for words in claim.history]
    if answer := claim.answered(record["verdict"]):
        found.append(("the authors", f"could answer: {answer}"))
    found += [("how", claim.measure), ("where", claim.where)]
    found += [("a row of", claim.family)] if claim.family else []
    if record.get("seeds") is not None:
        behind = "independent runs, over which the interval is" if record["interval"] else "runs"
        found.append(("n", f"{record['seeds']} {behind}"))
    if (sure := surety(claim, record)) is not None:
        told = ", of the one of its numbers that decides" if record.get("count", 0) > 1 else ""
        found.append(("again", f"as many runs once more would say the same in {_share(sure[0])} cases{told}"))
        few = f"even if the truth lay in the middle of the rule, so few runs would show it in {_share(sure[1])} cases"
        few = f"so few runs hold on {claim.power} draws on which it is true" if claim.power else few
        found += [("power", few)] if claim.power or sure[1] < 0.95 else []
    elif record["interval"]:
        found.append(("again", "as many runs would say the same: they do not scatter"))
    return found


def _region(claim: Claim, record: Record) -> tuple[float, float]:
    """The ends of the rule, of the number that a record shows."""
    expected = None if record["expected"] is None else np.array(record["expected"])
    low, high = claim.rule.region(expected)
    return float(low), float(high)


def half_widths(claim: Claim, record: Record) -> float | None:
    """How far a number lies inside the nearest end of its rule, in half-widths of its interval; also of what it has to
    be better than its null by, whichever is less. None without an interval, or of a point.
    """
    if not (ends := record.get("interval")) or ends[0] == ends[1]:
        return None
    low, high = _region(claim, record)
    inside = [2 * min(record["measured"] - low, high - record["measured"]) / (ends[1] - ends[0])]
    if claim.better_than_null and (less := record.get("difference")) and less[0] != less[1]:
        inside.append(claim.rule.direction * (less[0] + less[1]) / (less[1] - less[0]))
    return min(inside)


def leading(record: Record) -> str:
    """The verdict that leads: beside the first null, where that was exchanged or dropped when it was known that the
    claim held only trivially.
    """
    first = record.get("first_verdict") if record["verdict"] == HOLDS and record.get("kind") != "finding" else ""
    return first or record["verdict"]


def surety(claim: Claim, record: Record) -> tuple[float, float] | None:
    """By the interval alone, the share of repetitions that give the same verdict (:func:`.rules.again`), and of those
    that would hold with the truth in the middle of the rule; None without an interval, or of a point.
    """
    if not (interval := record.get("interval")) or interval[0] == interval[1]:
        return None
    up, (low, high), (less, more) = claim.rule.direction > 0, _region(claim, record), record.get("difference") or (0, 0)
    better = ((less, more) if up else (-more, -less)) if claim.better_than_null and less != more else None
    if claim.better_than_null and not better and record["verdict"] == HOLDS:  # beside a null that is taken as known
        low, high = (record["null"], high) if up else (low, record["null"])
    least, most = (end if end is not None else far for end, far in zip(claim.range, (-np.inf, np.inf), strict=True))
    n = record.get("seeds")
    inside = max(low, least), min(high, most)
    return again((low, high), interval, record["verdict"], n, better), power(inside, interval, n)


def doubtful(claim: Claim, record: Record) -> str:
    """How often as many runs would say the same, where that is no more than three times of four; else nothing."""
    sure = surety(claim, record) if leading(record) in (HOLDS, TRIVIAL, FAILS) else None
    return f"as many runs again would say the same in {_share(sure[0])} cases" if sure and sure[0] < 0.75 else ""


def _share(share: float) -> str:
    return f"{100 * share:.0f} of 100"


def _exchanged(claim: Claim, record: Record) -> list[tuple[str, str]]:
    """What was the null at first, its number, and the verdict that it gives."""
    if not claim.first_null:
        return []
    done = "exchanged" if claim.against else "dropped"
    words = f"{claim.first_null}; against it the claim held trivially, and it was {done} with the number known"
    if record.get("first_null") is not None:
        words = f"{number(record['first_null'])} ({words}; today: {record['first_verdict']})"
    return [("first null", words)]


def line(record: Record, claim: Claim, strip: str = "") -> str:
    """The number of a claim with its interval, ``strip``, what the number is, and its rival: what is expected, the null
    by which the verdict is given that leads, or else the rule.
    """
    if record["measured"] is None:
        return ""
    null = "null" if leading(record) == record["verdict"] else "first null"
    what = {"expected": "", null: claim.first_null if null == "first null" else claim.against}
    rivals = {name: x for name in what if (x := record.get(name.replace(" ", "_"))) is not None}
    bars = [end for end in _region(claim, record) if np.isfinite(end)]
    value, others = short(record["measured"], record["interval"], *rivals.values(), bars=bars)
    told = zip(rivals, others, strict=True)
    brief = {name: re.split(r"[,;] | \(", words or "")[0] for name, words in what.items()}  # the rest is unfolded
    beside = [f"{name} {other}" + (f": {brief[name]}" if brief[name] else "") for name, other in told]
    beside = beside or [f"rule {claim.rule.words}"]
    beside += [f"n = {record['seeds']}"] if record["interval"] and record.get("seeds") else []
    value = value.replace(", ", ",&nbsp;")  # lines break between number and interval, not within one
    which = [f"the weakest of {record['count']}"] if record.get("count", 0) > 1 else []
    if record.get("median") is not None and which:
        value, which = f"{short(record['median'])[0]}, at worst {value}", [f"median and weakest of {record['count']}"]
    of = ", ".join([*([claim.number] if claim.number else []), *which])
    about = f"{f'{escape(of)} · ' if of else ''}<small>{escape('; '.join(beside))}</small>"
    return f'<span class="dm-number"><b>{value}</b> {strip}</span> <span class="dm-about">{about}</span>'


def number(value: float | None) -> str:
    """Four significant digits, with a true minus sign and commas between thousands; a dash for None."""
    if value is None:
        return "–"
    digits = f"{value + 0.0:.4g}"  # + 0.0: no sign before zero
    return (f"{float(digits):,.0f}" if 1000 <= abs(value) < 1e6 else digits).replace("-", "−")


def short(
    value: float, interval: tuple[float, float] | None = None, *rivals: float, bars: Sequence[float] = ()
) -> tuple[str, list[str]]:
    """A number with its interval at two significant digits, and its rivals; with more where it would look like one of
    them, or one of its ends like the other or like a bar of the rule.
    """
    ends = list(interval or ())
    size = max(abs(value), max(ends, default=0.0) - min(ends, default=0.0))
    unit, power = _unit(size)
    value, size, *ends = (x / unit for x in (value, size, *ends))
    near = [(x, bar / unit) for bar in bars for x in (value, *ends)] + [(value, x / unit) for x in rivals]
    apart = [(x, y) for x, y in [*near, *pairwise(ends)] if size and abs(x - y) > 1e-4 * max(abs(x), abs(y))]
    for digits in (2, 3, 4):
        text, *texts = [_text(x, digits, size) for x in (value, *ends)]
        others = [_text(x, digits, abs(x)) for x in rivals]
        if all(_text(x, digits, size) != _text(y, digits, size) for x, y in apart):
            break
    return text + (f" [{', '.join(texts)}]" if ends else "") + power, others


def _unit(scale: float) -> tuple[float, str]:
    """The power of ten in which numbers of this size are written, as a number and in words; 1 where they are not."""
    order = int(np.floor(np.log10(scale))) if scale else 0
    return (1.0, "") if -4 < order < 5 else (10.0**order, f"·10{str(order).translate(RAISED)}")


def _text(x: float, digits: int, scale: float) -> str:
    """A number with as many decimals as ``digits`` digits of a number of the size ``scale`` have."""
    if scale == 0:
        return "0"
    unit, power = _unit(scale)
    places = digits - 1 - int(np.floor(np.log10(scale / unit)))
    return f"{round(x / unit, places) + 0.0:,.{max(places, 0)}f}{power}".replace("-", "−")


def strip(
    values: np.ndarray,
    nulls: np.ndarray | None,
    region: tuple[float, float],
    worst: float,
    words: str = "values",
    ends: Sequence[float] | None = None,
) -> str:
    """All values as points along a line, their nulls as rings below; shaded inside the rule. The worst, which
    decides, is large, on its interval if that is given as ``ends``.

    It is SVG in the colour of the text, on a logarithmic scale where positive numbers differ a hundredfold.
    """
    rows = [np.unique(row) for row in (values, nulls) if row is not None]
    told = [[short(float(end))[0] for end in row[[0, -1]]] for row in rows]
    said = "; nulls (rings) ".join(" to ".join(dict.fromkeys(pair)) for pair in told)
    rows = [np.quantile(row, np.linspace(0, 1, MOST)) if row.size > MOST else row for row in rows]
    bars = [end for end in region if np.isfinite(end)]
    least, most = (end([*map(end, rows), *bars, *(ends or ())]) for end in (min, max))
    scale = np.log10 if least > 0 and most > 100 * least else np.asarray

    def x(value: Any) -> Any:
        return 6 + 188 * (scale(np.clip(value, least, most)) - scale(least)) / (scale(most) - scale(least) or 1.0)

    low, high = (0 if region[0] < least else x(region[0])), (200 if region[1] > most else x(region[1]))
    parts = [f'<rect x="{low:.1f}" y="1" width="{high - low:.1f}" height="22" fill="currentColor" fill-opacity=".1"/>']
    parts += [f'<path d="M{x(bar):.1f} 1v22" stroke="currentColor" stroke-opacity=".5"/>' for bar in bars]
    points = 'cy="9" r="2.5" fill="currentColor" fill-opacity=".4"'
    rings = 'cy="18" r="2.5" fill="none" stroke="currentColor"'
    for row, how in zip(rows, (points, rings), strict=False):
        parts += [f'<circle cx="{at:.1f}" {how}/>' for at in x(row)]
    if ends:
        parts.append(f'<path d="M{x(ends[0]):.1f} 9H{x(ends[1]):.1f}" class="dm-own" stroke-width="2"/>')
    parts.append(f'<circle cx="{x(worst):.1f}" cy="9" r="4.5" class="dm-own"/>')
    title = f"<title>{said if values.size == 1 else f'{values.size} {words}, {said}'}; shaded: inside the rule</title>"
    size = 'viewBox="0 0 200 24" width="200" height="24"'
    return f'<svg class="dm-strip" {size} role="img">{title}{"".join(parts)}</svg>'
