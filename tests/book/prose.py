"""Exercises as they stand on pages, and the numbers in their code."""

import ast
import re

from miniature import ROOT

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
