"""Pages of prose: what they show and promise is there, and what they say to type works."""

import re

import numpy as np
import pytest
import torch
import yaml
from miniature import ROOT, write_notebooks
from prose import blocks

from deepmech_book.build.sources import Checkout
from deepmech_book.claims import functions, registry

BOOK = ROOT / "book"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("*.md"))}
EXTEND = TEXTS["extend"]
(COPIED,) = registry._entries(yaml.safe_load(blocks(EXTEND, "yaml")[0]), {"page": "spring_block/straight_chain"})


def rows(text: str) -> dict[str, int]:
    """The pages of a map with their minutes; those of the short path have a star there."""
    found = re.findall(r"^\| \{doc\}`/(generated/[\w/]+)`( ★)? \|.*\| (\d+) \|$", text, re.M)
    return {page + star: int(minutes) for page, star, minutes in found}


def test_pictures_that_open_a_chapter_are_figures_of_pages():
    notebooks = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*/*.md"))
    drawn = set(re.findall(r"^    name: (fig-[\w-]+)$", notebooks, re.M))
    shown = {name for text in TEXTS.values() for name in re.findall(r'src="figures/([\w-]+)\.svg"', text)}
    assert len(shown) >= 4 and shown <= drawn


def test_the_short_path_is_what_maps_mark_with_a_star_and_takes_as_long():
    steps = re.findall(r"^\*\*\d\. \{doc\}`/(generated/[\w/]+)`\*\* \((\d+)\xa0min\)$", TEXTS["short_path"], re.M)
    path = {page: int(minutes) for page, minutes in steps}
    starred = {page: m for name in ("springs", "elastic", "glass", "beyond") for page, m in rows(TEXTS[name]).items()}
    assert path == {page.removesuffix(" ★"): m for page, m in starred.items() if page.endswith("★")}
    assert len(path) == 9 and sum(path.values()) < 120


def test_what_the_search_answers_first_is_there():
    script = (BOOK / "assets" / "search.js").read_text(encoding="utf-8")
    answers = re.findall(r'^  \[/.+/, "([\w/]+)", "#?([\w-]*)", ".+"\],$', script, re.M)
    assert len(answers) == script.count("\n  [/") > 10 and {page for page, _ in answers} <= set(Checkout(ROOT).pages)
    for page, anchor in (one for one in answers if one[1]):
        headings = re.findall(r"^#+ (.+)$", TEXTS[page], re.M)
        slugs = {re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") for heading in headings}
        terms = {f"term-{line.replace(' ', '-')}" for line in TEXTS[page].splitlines()}
        assert anchor in slugs | terms, page


def test_the_page_to_copy_is_a_page(checkout):
    """Written whole, with the claim that the text gives to add."""
    (page,) = re.findall(r"^````md\n(.*?)^````$", EXTEND, re.M | re.S)
    source = write_notebooks(checkout, a=page).source("springs/a")
    assert source.title == "Does equal friction leave the chain straight?"
    assert set(source.parameters) == {"profile", "n_runs"}
    assert f'claims.show("{COPIED["id"]}"' in page


def test_the_claim_to_copy_tells_truth_from_null_as_the_test_to_copy_says(monkeypatch):
    claim = registry.Claim(**COPIED)
    known = {**registry.claims(), claim.id: claim}
    there: dict = {}
    monkeypatch.setattr(registry, "claims", lambda: known)
    for words in ("@measures", "@page.pair"):
        exec(next(code for code in blocks(EXTEND, "py") if words in code), there)
    monkeypatch.setattr(functions, "functions_of", lambda page: {claim.id: there["equal_frictions"]})
    assert there["equal_frictions"].ids == (claim.id,)
    there["page"].law()(claim.id)


def test_the_optimiser_to_copy_takes_the_steps_of_torch():
    code = next(code for code in blocks(EXTEND, "py") if "def rmsprop" in code)
    there: dict = {"Tensor": torch.Tensor, "torch": torch}
    exec(code, there)
    start, rate, momentum = torch.linspace(-1, 1, 7, dtype=torch.float64), 0.01, 0.9
    theirs = start.clone().requires_grad_()
    ours, memory = start.clone()[None], {}

    def column(value: float) -> torch.Tensor:
        return torch.full((1, 1), value, dtype=torch.float64)

    optimizer = torch.optim.RMSprop([theirs], lr=rate, momentum=momentum)
    for step in range(1, 9):
        theirs.grad = torch.sin(3 * theirs.detach()) + 1
        gradient = torch.sin(3 * ours) + 1
        optimizer.step()
        there["rmsprop"](ours, gradient, column(rate), column(momentum), step, memory)
    assert np.allclose(ours[0], theirs.detach(), rtol=1e-12)


@pytest.mark.parametrize("name", ["springs", "elastic", "glass", "beyond"])
def test_a_chapter_opens_with_its_question_and_its_answer_and_says_how_long_its_pages_take(name):
    _, question, answer, _ = TEXTS[name].split("\n\n", 3)
    assert "?" in question and answer.startswith("**In short.** ")
    in_map = {entry["file"]: [page["file"] for page in entry.get("sections", [])]
              for part in Checkout(ROOT).toc["parts"] for entry in part["chapters"]}[name]  # fmt: skip
    assert [page.removesuffix(" ★") for page in rows(TEXTS[name])] == in_map
