"""Exercises: solutions run, print what they say that they print, and compute the number that is right."""

import re

import prose
import pytest

PAGES = prose.exercises()


def exercises(page: str) -> list[str]:
    """The exercises of a page one by one, each with its solution."""
    return re.split(r"^(?=\*\*\d+\. )", PAGES[page], flags=re.M)[1:]


def answers(exercise: str) -> list[list[list[str]]]:
    """What may be answered to the questions of an exercise, as (answer, words); the right one first."""
    found = re.findall(r"^:::\{answer\} [^\n]+\n(.*?)^:::$", exercise, re.M | re.S)
    return [[line.split(": ", 1) for line in body.splitlines()] for body in found]


def promised(code: str) -> list[str]:
    """What a solution says that it prints: the comment beside a call of print, or lines of comment of their own."""
    return [m[1] for m in re.finditer(r"^(?:print\(.*\)  )?# (.*)$", code, re.M)]


@pytest.mark.parametrize("page", PAGES)
def test_every_exercise_is_numbered_and_has_a_folded_solution(page):
    for number, exercise in enumerate(exercises(page), 1):
        assert exercise.startswith(f"**{number}. ")
        folds = [line for line in re.findall(r"^:::.*$", exercise, re.M) if not line.startswith(":::{answer} ")]
        assert folds == [*[":::"] * len(answers(exercise)), f":::{{dropdown}} Solution {number}", ":::"]


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_solutions_print_what_stands_beside_them(page, capsys):
    there: dict = {}
    for code in prose.blocks(PAGES[page], "python"):
        assert promised(code), "a solution prints its numbers"
        exec(code, there)
        assert capsys.readouterr().out.splitlines() == promised(code)


@pytest.mark.parametrize("page", PAGES)
def test_the_right_number_is_computed_by_the_solution(page):
    for exercise in exercises(page):
        code = "".join(prose.blocks(exercise, "python"))
        known = prose.literals(code) | {v for line in promised(code) for v in prose.values(line)}
        known |= {round(100 * v, 9) for v in known}
        for (right, _), *_ in answers(exercise):
            assert not re.fullmatch(r"[-\d.]+", right) or abs(float(right)) in known
