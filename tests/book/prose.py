"""Exercises as they stand on pages, and how numbers in their text are found."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

_SMALL = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred"
_WORD = rf"(?:{_SMALL.replace(' ', '|')}|half|twice|an? (?:half|third|quarter|fifth|tenth|hundred|thousand))"
_ABOUT = r"(?:about|nearly|some|roughly|almost|around|≈|~|±|\\approx)"
_UNIT = r"(?:points?|per\s?cent|percentage|degrees|orders)"
NUMERAL = re.compile(
    rf"""
      (?<![\w.]) [-−]? \d[\d,]* \. \d+ (?: \s* \\cdot \s* 10\^\{{?-?\d+\}}? )?  # 0.9, 1.6·10⁻⁴
    | (?<![\w.]) \d[\d,]* \s* \\cdot \s* 10\^\{{?-?\d+\}}?                      # 3·10⁵
    | (?<![\w.]) 10\^\{{?-?\d+\}}? | (?<![\w.]) \d+[eE][-+]?\d+                 # 10⁻⁴, 1e-4
    | \d[\d,.]* \s* % | \d[\d,.]* \s+ {_UNIT} \b                                # 7 %, 2 points
    | {_ABOUT} \s* \$? \d[\d,]* (?: \. \d+ )?                                    # about 40
    | \b {_WORD} \s+ {_UNIT} \b | {_ABOUT} \s+ {_WORD} \b                       # two points, about half
    """,
    re.VERBOSE,
)
_PLACE = r"[A-H]?\.?[1-9]\d*(?:\.\d+)*(?:\([a-z]\))?"
_KIND = (
    r"Theorems?|Propositions?|Sections?|Sec\.|Apps?\.|Appendi(?:x|ces)|Definitions?|Footnotes?|Eqs?\.|Figs?\.|Figures?"
)
REFERENCE = re.compile(rf"(?:{_KIND})\s*{_PLACE}(?:(?:\s*[-–,]\s*|,?\s+(?:and|to)\s+){_PLACE})*|\b[A-H]\.\d+(?:\.\d+)*")
_SPREAD = r"intervals?|bands?|bars?|bootstrap|over\s+initial\s+conditions|over resampled|of the samples of each class"
INTERVAL = re.compile(rf"\b95\s*%(?=\s+(?:{_SPREAD}))")
FENCED = re.compile(r"^```(?P<math>\{math\})?[^\n]*\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
EXERCISES = re.compile(r"^## Exercises?\n(?P<body>.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def blocks(text: str, language: str) -> list[str]:
    """The fenced pieces of code of a page, without its cells."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def exercises() -> dict[str, str]:
    """What stands under the heading of exercises, by page."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "notebooks").glob("*/*.md"))}
    found = {f"{path.parent.name}/{path.stem}": EXERCISES.search(text) for path, text in texts.items()}
    return {page: section["body"] for page, section in found.items() if section}


def values(text: str) -> list[float]:
    """The sizes of the numbers in a phrase, powers of ten included."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"(?:(\d)\s*\\cdot\s*)?10\^\{?(-?\d+)\}?", lambda m: f"{m[1] or 1}e{m[2]}", text)
    return [float(v) for v in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w(])", text)]


def literals(code: str) -> set[float]:
    """The numbers in a piece of code."""
    constants = (n.value for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Constant))
    return {float(value) for value in constants if isinstance(value, int | float)}


def plain(text: str) -> str:
    """Markdown as one line, without code, equations kept."""
    text = FENCED.sub(lambda block: block["body"] if block["math"] else "", text)
    return " ".join(re.sub(r"`[^`\n]*`", "", text).split())


def numerals(text: str) -> Iterator[re.Match[str]]:
    """Numbers in plain text that a solution has to compute.

    Numbers of sections, theorems, equations and figures are names, and 95 % is the level of every interval in the book.
    Small whole numbers without a unit count things and are let through.
    """
    names = [m.span() for pattern in (REFERENCE, INTERVAL) for m in pattern.finditer(text)]
    for found in NUMERAL.finditer(text):
        if not any(start <= found.start() and found.end() <= end for start, end in names):
            yield found
