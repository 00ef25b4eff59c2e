"""What a profile asks for and what it costs, page by page, before anything is executed: ``deepmech plan``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from deepmech.core.files import write_whole
from deepmech.core.spec import digest
from deepmech.sweeps import Sweep
from deepmech.sweeps.store import CHUNK
from deepmech_book.press import asked, costs, press
from deepmech_book.press.press import Say
from deepmech_book.press.sources import BookError, House, clock

#: Seconds that measuring this machine's rates may take.
CALIBRATE = 20.0
_HEAD = ("page and sweep", "cells", "here", "left", "TFLOP", "memory", "time", "time from")


@dataclass(frozen=True)
class Row:
    """One sweep of one page.

    Attributes
    ----------
    here : cells that ship or that an interrupted computation has kept; ``shared`` names the page above that asks too.
    tflop, memory : of the cells left to compute (10¹² operations; MB of one cell, an estimate); None if nobody counts.
    seconds : for the cells left; None if nobody knows. ``basis`` says where the rate is from.
    """

    page: str
    sweep: str
    key: str
    cells: int
    here: int
    shared: str = ""
    tflop: float | None = None
    memory: float | None = None
    seconds: float | None = None
    basis: str = ""

    @property
    def left(self) -> int:
        return 0 if self.shared else self.cells - self.here


@dataclass(frozen=True)
class Plan:
    """Rows in the order of the book, what each page computes without a sweep, and what could not be found out."""

    profile: str
    where: str
    rows: tuple[Row, ...]
    pages: int
    live: dict[str, str]
    notes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        return sum(row.seconds or 0.0 for row in self.rows)

    def total(self) -> str:
        """The whole in one line.

        Examples
        --------
        >>> Plan("quick", "this machine", (Row("a/b", "s", "k", 12, 12),), 1, {}, ()).total()
        'profile quick: 1 pages ask for 1 sweeps of 12 cells; all are here'
        """
        own = [row for row in self.rows if not row.shared]
        left = [row for row in own if row.left]
        unknown = sum(row.seconds is None for row in left)
        asks = f"{self.pages} pages ask for {len(own)} sweeps of {sum(r.cells for r in own):,} cells"
        asks = f"profile {self.profile}: {asks}"
        if not left:
            return f"{asks}; all are here"
        flop = sum(row.tflop or 0.0 for row in left)
        cost = (
            f"{flop:,.3g} TFLOP, {span(self.seconds)} on {self.where}" if self.seconds else "for how long is not known"
        )
        more = f", and {unknown} sweeps of unknown length" if unknown and self.seconds else ""
        return f"{asks}; {sum(r.left for r in left):,} cells of {len(left)} sweeps are left to compute: {cost}{more}"

    def by_page(self) -> Iterator[tuple[str, int, int, float, float, str]]:
        """Pages that are not wholly here: name, cells, cells left, and of these TFLOP and seconds as far as known; and
        the pages whose unfinished sweeps they ask for too."""
        missing = {row.key for row in self.rows if row.left}
        for page in self.live:
            asked = [row for row in self.rows if row.page == page]
            own = [row for row in asked if not row.shared]
            others = dict.fromkeys(row.shared for row in asked if row.shared and row.key in missing)
            left = sum(row.left for row in own)
            if left or others:
                flop, seconds = (sum(getattr(row, of) or 0.0 for row in own) for of in ("tflop", "seconds"))
                yield page, sum(row.cells for row in own), left, flop, seconds, " and ".join(others)

    def csv(self) -> str:
        """:meth:`by_page` and the whole as a table for the book.

        Examples
        --------
        >>> rows = Row("a/b", "s", "k", 12, 2, tflop=1500.0, seconds=60.0), Row("a/c", "s", "k", 12, 2, "a/b")
        >>> print(Plan("paper", "one h100 at the least", rows, 2, {"a/b": "", "a/c": ""}, ()).csv(), end="")
        page,cells,left,PFLOP,one h100 at the least,and those of
        a/b,12,10,1.5,1 min 0 s,
        a/c,0,0,0,0.0 s,a/b
        whole book,12,10,1.5,1 min 0 s,
        """
        pages = list(self.by_page())
        total = ("whole book", *(sum(column) for column in list(zip(*pages, strict=True))[1:5]), "")
        lines = [f"page,cells,left,PFLOP,{self.where},and those of"]
        for name, cells, left, flop, seconds, others in [*pages, total] if pages else []:
            lines.append(f"{name},{cells},{left},{float(f'{flop / 1e3:.3g}'):g},{span(seconds)},{others}")
        return "\n".join(lines) + "\n"

    def table(self) -> str:
        """Everything, page by page, as aligned text."""
        lines: list[tuple[str, ...]] = [_HEAD]
        for page, live in self.live.items():
            lines.append((f"{page}{live}",))
            lines += [_cells(row) for row in self.rows if row.page == page]
        widths = [max(len(line[i]) for line in lines if len(line) > 1) for i in range(len(_HEAD))]
        shown = [
            line[0] if len(line) == 1 else "  ".join(
                word.ljust(width) if i in (0, len(_HEAD) - 1) else word.rjust(width)
                for i, (word, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]  # fmt: skip
        return "\n".join([*shown, *self.notes, self.total()])


def _cells(row: Row) -> tuple[str, ...]:
    if row.shared:
        return f"  {row.sweep}", str(row.cells), "", "", "", "", "", f"as in {row.shared}"
    if not row.left:
        return f"  {row.sweep}", str(row.cells), str(row.here), "", "", "", "", "stored"
    flop = "?" if row.tflop is None else f"{row.tflop:,.3g}"
    memory = "?" if row.memory is None else f"{row.memory:,.0f} MB"
    time = "?" if row.seconds is None else span(row.seconds)
    return f"  {row.sweep}", str(row.cells), str(row.here), str(row.left), flop, memory, time, row.basis


def span(seconds: float) -> str:
    """A duration in words, also a long one.

    Examples
    --------
    >>> span(75), span(3 * 3600 + 60), span(30 * 24 * 3600)
    ('1 min 15 s', '3 h 1 min', '30 days')
    """
    return clock(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:,.0f} days"


def plan(
    house: House,
    profile: str = "quick",
    chapters: list[str] | None = None,
    *,
    calibrate: float = CALIBRATE,
    device: str | None = None,
    rates: str | Path | None = None,
    stores: bool = True,
    say: Say = lambda line: None,
) -> Plan:
    """Ask every page what it needs, and count.

    Parameters
    ----------
    profile : a name or a file of the same form.
    calibrate : seconds that measuring may take; 0 takes rates that were kept, or those of shipped results.
    device : a key of :data:`.costs.DEVICES`: times are then the least that its data sheet allows.
    rates : a file that ``benchmarks/gpu.py`` wrote on some machine: times are then at its measured rates.
    stores : whether cells that this machine has kept of its own computations count as here, as those that ship do.
    """
    if device is not None and device not in costs.DEVICES:
        raise BookError(f"--on {device}: must be one of {', '.join(costs.DEVICES)}; --rates FILE takes measured rates")
    written, chosen = house.written(profile), house.select(chapters)
    clock = measured(house, calibrate) if rates is None else given(Path(rates))
    clock = clock if device is None else data_sheet(device)
    rows: list[Row] = []
    owners: dict[str, str] = {}
    live, notes = {}, []
    for number, name in enumerate(chosen, 1):
        source = house.source(name)
        parameters = {"profile": Path(profile).stem, **house.parameters(profile, name, written)}
        found = asked.asked(source, parameters)
        say(f"[{number}/{len(chosen)}] {name}: {len(found.sweeps)} sweeps")
        for sweep in found.sweeps:
            shared = owners.setdefault(sweep.key, name)
            here = sweep.n_cells if sweep.key in found.shipped else kept(house, sweep) if stores else 0
            row = Row(name, sweep.name, sweep.key, sweep.n_cells, here, "" if shared == name else shared)
            rows.append(_priced(row, sweep, clock) if row.left else row)
        live[name] = _live(len(found.live), press.earlier_seconds(house.executed(Path(profile).stem, name)))
        notes += [f"{name}: not sure of all: {words}" for words in found.unsure]
        notes += [f"{name}: {file} is not on this machine" for file in sorted(found.missing)]
    made = Plan(Path(profile).stem, clock.where, tuple(rows), len(chosen), live, tuple(notes))
    if chapters is None and device is None and rates is None:
        _keep(house, profile, made)
    return made


def _live(computations: int, seconds: float | None) -> str:
    """What a page computes without a sweep, in words; its time is known where the page was executed before."""
    if not computations:
        return ""
    last = f"; the page took {clock(seconds)} when it was executed last" if seconds else ", not counted"
    return f"  and {computations} of its own{last}"


def _priced(row: Row, sweep: Sweep, clock: Clock) -> Row:
    counted, share = costs.work(sweep), row.left / row.cells
    if counted is not None:
        row = replace(row, tflop=counted.flop * share / 1e12, memory=counted.bytes / 1e6)
    rate = clock.rate(sweep, counted)
    if rate is None:
        return replace(row, basis=clock.lacking)
    amount = sweep.n_cells if rate.per_cell or counted is None else counted.flop
    return replace(row, seconds=amount / rate.value * share, basis=rate.basis)


@dataclass(frozen=True)
class Clock:
    """How long a sweep takes somewhere: the rate for it, if there is one, and what to say if there is none."""

    where: str
    rate: Callable[[Sweep, costs.Work | None], costs.Rate | None]
    lacking: str


def measured(house: House, calibrate: float) -> Clock:
    """This machine, by what is measured now or was, and else by how long results that ship took."""
    calibration = costs.Calibration(house.generated / ".rates.json", calibrate)
    return Clock(
        "this machine", lambda sweep, _: calibration.rate(sweep) or costs.from_shipped(sweep), "nothing to scale from"
    )


def data_sheet(device: str) -> Clock:
    """A GPU at all that its maker promises, so that nothing is faster."""
    rate = costs.Rate(costs.DEVICES[device], False, "data sheet; no run is faster")
    return Clock(f"one {device} at the least", lambda sweep, counted: rate if counted else None, "not counted")


def given(path: Path) -> Clock:
    """Rates that somebody measured: ``{"device": name, "flop_per_second": {engine: rate}}``."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        rates = {e: costs.Rate(r, False, f"measured, engine {e}") for e, r in written["flop_per_second"].items()}
        where = str(written["device"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BookError(f"--rates {path}: is not what benchmarks/gpu.py writes ({error})") from None
    return Clock(where, lambda sweep, counted: rates.get(counted.engine) if counted else None, "no rate was measured")


def kept(house: House, sweep: Sweep) -> int:
    """Cells that an interrupted computation of today's code has kept."""
    store = house.generated / ".stores" / f"{sweep.name}-{sweep.key}-{sweep.code}"
    spans = (CHUNK.fullmatch(file.name) for file in (store.iterdir() if store.is_dir() else ()))
    return len({i for m in spans if m for i in range(int(m[1]), int(m[2]) + 1)})


def _file(house: House, profile: str) -> Path:
    return house.generated / ".plans" / f"{Path(profile).stem}.json"


def _written(house: House, profile: str) -> str:
    """A digest of what a plan depends on that changes when somebody edits a page or a profile, or ships a result."""

    def texts() -> Iterator[Any]:
        for path in sorted((house.root / "notebooks").rglob("*.*")):
            if "profiles" not in path.parts or path.stem == profile:
                yield [path.name, path.read_text(encoding="utf-8")]
        yield sorted(path.name for path in (house.book / "results").glob("*.nc"))

    return digest(list(texts()))


def _keep(house: House, profile: str, made: Plan) -> None:
    content = {"written": _written(house, profile), "total": made.total(), "rows": [asdict(row) for row in made.rows]}
    write_whole(_file(house, profile), json.dumps(content, indent=1))


def total_line(house: House, profile: str) -> str:
    """The total of the plan that was kept of a profile, in one line, at the cost of reading a file."""
    try:
        kept = json.loads(_file(house, profile).read_text(encoding="utf-8"))
        line, fresh = kept["total"], kept["written"] == _written(house, profile)
    except (OSError, ValueError, KeyError):
        return (
            f"profile {profile}: deepmech plan --profile {profile} says beforehand what it computes, and for how long"
        )
    return line if fresh else f"{line} (planned before pages, profile or results changed)"
