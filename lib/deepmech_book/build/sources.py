"""What is written: the checkout's paths, the table of contents, notebooks and their parameters, profiles."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sphinx_external_toc.parsing import parse_toc_data

PROFILES = ("quick", "laptop", "paper")
MADE_PAGES = ("status", "scoreboard", "papers", "gallery")
REFERENCE = "api/"
#: Parameters that say which, not how many: they may be 0.
NAMES = ("number", "seed")


class BookError(ValueError):
    """The book cannot be made; the message says what to mend."""


@dataclass(frozen=True)
class Checkout:
    """Paths of one checkout, all below ``root``, and what is written there, read once."""

    root: Path
    _sources: dict[str, Source] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def find(cls) -> Checkout:
        """The checkout that the working directory lies in; a BookError if there is none."""
        start = Path.cwd()
        for folder in (start, *start.parents):
            if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
                return cls(folder)
        raise BookError(f"no book in {start.name} or above it: run this inside a checkout (a folder with _toc.yml)")

    @property
    def book(self) -> Path:
        return self.root / "book"

    @property
    def generated(self) -> Path:
        return self.book / "generated"

    @property
    def html(self) -> Path:
        return self.book / "_build" / "html"

    def executed(self, profile: str, name: str) -> Path:
        """Where the executed notebook ``name`` is kept. Profiles do not overwrite one another."""
        return self.generated / ".executed" / profile / f"{name}.ipynb"

    @cached_property
    def toc(self) -> dict[str, Any]:
        """The table of contents, as it is written."""
        return mapping(self.root / "_toc.yml")

    @cached_property
    def pages(self) -> tuple[str, ...]:
        """Every page of the table of contents, in order; a BookError if it is no such table."""
        try:
            return tuple(parse_toc_data(self.toc))
        except Exception as error:  # whatever its parser makes of it
            raise BookError(f"_toc.yml: {error}") from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Notebooks as ``chapter/name``, in the order of the table of contents; a BookError for an entry without a
        notebook, and for a notebook without an entry."""
        listed = [page.removeprefix("generated/") for page in self.pages if page.startswith("generated/")]
        listed = [name for name in listed if name not in MADE_PAGES and not name.startswith(REFERENCE)]
        folder = self.root / "notebooks"
        there = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.md")}
        if absent := [name for name in listed if name not in there]:
            raise BookError(f"_toc.yml lists {', '.join(absent)}, but notebooks/ has no such file")
        if extra := sorted(there - set(listed)):
            entries = ", ".join(f"generated/{name}" for name in extra)
            raise BookError(f"notebooks without a place in the book: add {entries} to _toc.yml")
        return tuple(listed)

    def select(self, chapters: list[str] | None) -> tuple[str, ...]:
        """The notebooks of some chapters (``"spring_block"``) or single ones (``"spring_block/ruler"``)."""
        for c in chapters or ():
            if not any(name == c or name.startswith(f"{c}/") for name in self.names):
                known = sorted({name.split("/")[0] for name in self.names})
                raise BookError(f"CHAPTERS: {c!r} is unknown; chapters are {', '.join(known) or '(none yet)'}")
        chosen = chapters or self.names
        return tuple(n for n in self.names if any(n == c or n.startswith(f"{c}/") for c in chosen))

    def source(self, name: str) -> Source:
        """Read and check one notebook, once."""
        if name not in self._sources:
            if not (path := self.root / "notebooks" / f"{name}.md").is_file():
                raise BookError(f"notebook {name!r} is not in notebooks/")
            self._sources[name] = read(name, path)
        return self._sources[name]

    def profile(self, profile: str) -> dict[str, dict[str, Any]]:
        """Parameters of every notebook in a profile, ``profile`` itself included; a BookError for one that is unknown,
        or sets what its notebooks do not have."""
        if profile not in PROFILES:
            raise BookError(f"PROFILE = {profile!r}: must be one of {', '.join(PROFILES)}")
        written = self.written(profile)
        return {name: {"profile": profile, **self.parameters(profile, name, written)} for name in self.names}

    def written(self, profile: str, above: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
        """What a profile (a name, or a file of the same form) says of notebooks, each of which is in the book.

        ``extends: laptop`` takes from another profile what this one does not name.
        """
        named = self.root / "notebooks" / "profiles" / f"{profile}.yml"
        try:
            found = mapping(named if profile in PROFILES else profile)
        except BookError as error:
            raise BookError(f"{error}; profiles are {', '.join(PROFILES)}") from None
        base, own, above = found.pop("extends", None), f"{Path(profile).stem}.yml", (*above, profile)
        others = [name for name in PROFILES if name not in above]
        if base is not None and base not in others:
            raise BookError(f"{own}: extends: {base!r}: must be one of {', '.join(others) or 'no other'}")
        if unknown := sorted(map(str, set(found) - set(self.names))):
            raise BookError(f"{own} sets parameters of {', '.join(unknown)}: no such notebook")
        if odd := [name for name, values in found.items() if not isinstance(values, dict | None)]:
            raise BookError(f"{own}: {odd[0]}: must set parameters to values")
        below = self.written(base, above) if base else {}
        return {name: {**below.get(name, {}), **(found.get(name) or {})} for name in {**below, **found}}

    def parameters(self, profile: str, name: str, written: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """What a profile sets for one notebook, checked against it."""
        return checked(f"{Path(profile).stem}.yml: {name}", self.source(name), written.get(name) or {})


def mapping(path: str | Path) -> dict[str, Any]:
    """What a YAML file sets names to; a BookError if it cannot be read, or holds something else."""
    from deepmech.sweeps.files import read_bytes
    from deepmech_book.claims.registry import written  # slow to import, and Sphinx does without

    try:
        found = written(read_bytes(Path(path), 2**20).decode()) or {}
    except (OSError, ValueError) as error:
        raise BookError(f"{path}: cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise BookError(f"{path}: must set names to values, one a line")
    return found


@dataclass(frozen=True)
class Source:
    """One notebook before execution: ``notebook`` as nbformat, ``parameters`` with their defaults."""

    name: str
    notebook: Any
    parameters: dict[str, Any]

    @property
    def title(self) -> str:
        """The first heading; a BookError without one."""
        for cell in self.notebook.cells:
            if cell.cell_type == "markdown" and (m := re.search(r"^# +(.+)$", cell.source, re.M)):
                return m.group(1).strip()
        raise BookError(f"notebook {self.name}: has no '# Title'")

    @property
    def cells(self) -> list[Any]:
        """The cells of parameters, of which there must be one."""
        return [c for c in self.notebook.cells if "parameters" in c.metadata.get("tags", [])]


@dataclass(frozen=True)
class PageRun:
    """One notebook of one build: what it takes and, once there, its executed form.

    ``parts`` is what it is made of; ``notebook`` is None as long as it is not there, made of these; ``fresh`` says that
    this run executed it, and ``why``: what of it had changed since it was executed before.
    """

    source: Source
    parameters: dict[str, Any]
    parts: dict[str, Any]
    notebook: dict[str, Any] | None = None
    fresh: bool = False
    why: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.source.name


def read(name: str, path: Path) -> Source:
    """Read a Jupytext notebook and check what the build relies on: it has kernelspec python3, a title, and one cell of
    parameters, which sets names to plain values and begins with ``profile``. Otherwise a BookError."""
    # A grammar of addresses that takes seconds to build, for a check of jsonschema's that no notebook needs.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import jupytext

    try:
        notebook = jupytext.read(path, fmt="md:myst")
    except Exception as error:  # whatever its readers of YAML, text and Markdown make of it
        raise BookError(f"notebook {name}: cannot be read ({error})") from None
    source = Source(name, notebook, {})
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        raise BookError(f"notebook {name}: its header must name the kernelspec python3")
    if (n := len(source.cells)) != 1:
        raise BookError(f"notebook {name}: {n} cells are tagged 'parameters'; there must be exactly one")
    source.parameters.update((k, v) for k, v, _ in assignments(name, source.cells[0].source))
    if next(iter(source.parameters.items()), None) != ("profile", "quick"):
        raise BookError(f'notebook {name}: the parameters cell must begin with profile = "quick"')
    source.title  # noqa: B018 (raises without one)
    return source


def assignments(owner: str, code: str) -> Iterator[tuple[str, Any, ast.Assign]]:
    """(name, value, node) of a parameters cell, which may hold nothing but plain values.

    A default computed from another parameter would be computed before a profile replaces that one.
    """
    where = f"notebook {owner}: the parameters cell"
    try:
        nodes = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise BookError(f"{where}{line}: is no Python ({getattr(error, 'msg', error)})") from None
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                yield node.targets[0].id, ast.literal_eval(node.value), node
                continue
        raise BookError(f"{where}, line {node.lineno}: is not of the form name = plain value")


def checked(owner: str, source: Source, values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` as numbers of their defaults' type, if every one is a parameter of the notebook and may take its
    default's place; else a BookError."""
    found = {}
    for key, value in values.items():
        if key not in source.parameters or key == "profile":
            known = ", ".join(k for k in source.parameters if k != "profile") or "none"
            raise BookError(f"{owner} has no parameter {key!r}; its parameters are {known}")
        try:
            found[key] = like(value, source.parameters[key], counts=key not in NAMES)
            json.dumps(found[key], allow_nan=False)
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            odd = not isinstance(error, BookError)
            words = "must be finite numbers and words, or lists of them" if odd else str(error)
            raise BookError(f"{owner}: {key} = {short(repr(value), 200)}: {words}") from None
    return found


def like(value: Any, default: Any, counts: bool = True) -> Any:
    """``value`` as one that may take the place of ``default``: 3.0 is 3 where that is a whole number, and what counts
    something stays above 0; else a BookError says what it must be. Anything goes in place of None, which goes in place
    of nothing else.
    """
    if default is None:
        return value
    words = f"must be a {kind(default)} like its default {short(repr(default), 200)}"
    whole = type(default) is int
    fits = type(value) is int if type(default) is float else whole and type(value) is float and value.is_integer()
    if kind(value) != kind(default) and not fits:
        raise BookError(words)
    if type(default) is float:
        return float(value)
    if whole:
        if counts and int(value) < 1 <= default:
            raise BookError(f"{words}, and at least 1")
        return int(value)
    if isinstance(default, list | tuple) and default:
        if not value:
            raise BookError(f"{words}, and not empty")
        kinds = {kind(one) for one in default}
        model = min(default, key=lambda one: type(one) is int)  # of 0 and 0.5 the latter
        if len(kinds) == 1 or kinds == {kind(1), kind(1.0)}:
            return [like(one, model, counts=False) for one in value]
    return value


def kind(value: Any) -> str:
    """What a parameter's value is, in words."""
    words = {bool: "truth value", int: "whole number", float: "number", str: "word", tuple: "list"}
    return words.get(type(value), type(value).__name__)


def short(text: str, most: int = 12_000) -> str:
    """A text that fits a report or a page: of a longer one its beginning and its end."""
    return text if len(text) <= most else f"{text[: most // 4]} … {len(text)} characters … {text[most // 4 - most :]}"


def format_duration(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
