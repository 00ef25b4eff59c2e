"""What a notebook says in its title, caption and parameters is shown as it is written, and never becomes markup."""

import re
from urllib.parse import quote

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from miniature import make_checkout, notebook_text, write_notebooks

from deepmech_book.build import notebooks, pages, site
from deepmech_book.build.sources import Checkout

SCRIPT = "<script>window.fired = 1</script>"
IMAGE = "<img src=x onerror='window.fired = 2'>"
NASTY = f"a < b & c &amp; | \"quoted\" and 'quoted' {SCRIPT} {IMAGE} ]]> ``ticks`"
DRAWS = f"""\
---
mystnb:
  figure:
    name: fig-nasty
    caption: |
      Captioned & {SCRIPT} | "quoted" `{IMAGE}`. More <b>words</b>.
---
from deepmech_book.figures import Picture
Picture(lambda f: f.subplots().plot([0, 1]), alt={NASTY!r}, height=2)"""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    checkout = make_checkout(tmp_path_factory.mktemp("markup") / "checkout")
    parameters = f'profile = "quick"\nwhat = {NASTY!r}'
    title = f'Titled & {SCRIPT} | "quoted" `{IMAGE}`\n\n## Below `{IMAGE}` &'
    write_notebooks(checkout, a=notebook_text(DRAWS, parameters=parameters, title=title))
    (checkout.book / "intro.md").write_text("# Intro\n\nWords {cite:p}`he2023law`.\n\n```{bibliography}\n```\n")
    with (checkout.root / "_toc.yml").open("a") as toc:
        toc.write("      - file: generated/gallery\n      - file: generated/status\n")
    checkout = Checkout(checkout.root)
    return site.build(checkout, notebooks.execute_notebooks(checkout), "quick", whole=False)


def soup(html, page):
    found = BeautifulSoup((html / page).read_text(encoding="utf-8"), "html.parser")
    assert not [s for s in found.find_all("script") if "fired" in s.text and s.get("type") != "application/json"], page
    assert not found.select("[onerror]"), page
    return found


def words(node):
    """What is read there, with the quotation marks of a typewriter."""
    return " ".join(node.get_text().split()).translate(str.maketrans("“”‘’", "\"\"''"))


@pytest.mark.slow
def test_markup_is_shown_and_not_obeyed(html):
    page = soup(html, "generated/springs/a.html")
    assert f'Titled & {SCRIPT} | "quoted" {IMAGE}' in words(page.h1)
    said = f'Captioned & {SCRIPT} | "quoted" {IMAGE}'
    assert f"{said}. More <b>words</b>." in words(page.select_one("#fig-nasty figcaption"))
    assert page.select_one(".deepmech-picture img")["alt"] == NASTY
    gallery = soup(html, "generated/gallery.html")
    assert said in words(gallery.select_one(".dm-thumb"))
    assert gallery.select_one(".dm-thumb img")["alt"] == NASTY
    (row,) = [r for r in soup(html, "generated/status.html").select("tbody tr") if "what" in r.text]
    assert len(row.select("td")) == 6 and words(row.select("td")[4].code) == f"what = {NASTY}"
    for other in ("intro.html", "search.html", "genindex.html"):
        soup(html, other)


@pytest.mark.page
@pytest.mark.slow
def test_no_page_runs_what_a_notebook_says(html, chromium):
    search = f"search.html?q={quote(f'Below {IMAGE} &')}"
    for page in ("generated/springs/a.html", "generated/gallery.html", "generated/status.html", search):
        tab = chromium.new_page()
        tab.goto(f"{html.as_uri()}/{page}")
        if "?" in page:
            tab.wait_for_selector("#search-results li a", timeout=120_000)
        # An image that cannot be loaded has called its handler by then.
        tab.evaluate("Promise.allSettled([...document.images].map(i => { i.loading = 'eager'; return i.decode(); }))")
        assert tab.evaluate("window.fired") is None, page
        if "?" in page:
            assert IMAGE in tab.locator("#search-results").inner_text()
        tab.close()


def test_any_text_is_code_in_one_cell_of_a_table():
    markdown = MarkdownIt("commonmark").enable("table")
    for text in (NASTY, "`", "``` ```", "a\nb\tc", "|", "\\|"):
        table = markdown.render(f"| a | b |\n| --- | --- |\n| {pages.as_code(text)} | x |\n")
        cells = BeautifulSoup(table, "html.parser").select("tbody td")
        assert [words(c) for c in cells] == [" ".join(text.split()), "x"] and cells[0].code, text


MARK = ' class="dm-words"'


def test_a_table_has_one_row_of_names_and_its_words_stand_left():
    index = pd.MultiIndex.from_product([["MNIST", "shapes"], [1, 2]], names=["data", "seed"])
    columns = {"kind": ["flat", "flat", "–", "bent"], "wins": ["1 of 2", "none", "2 of 2", "–"], "loss": range(4)}
    numbers = "<th>label_error</th></thead><td>4.4e+02</td><td>-1e-06</td><td>nan</td><th>path_norm</th>"
    said = "<th>label error</th></thead><td>440</td><td>−10⁻⁶</td><td>–</td><th>path_norm</th>"
    assert site.in_words(numbers) == said
    table = site.in_words(pd.DataFrame(columns, index).to_html())
    head, *rows = re.findall("(?s)<tr.*?</tr>", table)
    assert re.findall("<t[hd]([^>]*)>([^<]*)<", head) == [
        (MARK, "data"), (MARK, "seed"), (MARK, "kind"), ("", "wins"), ("", "loss"),
    ]  # fmt: skip
    assert len(rows) == 4
    for row in rows:
        assert [MARK in cell for cell in re.findall("<td[^>]*>", row)] == [True, False, False]
    plain = pd.DataFrame({0: [0.5]}, pd.Index(["a"], name="data")).rename_axis(columns="epoch")
    assert re.findall(r"<th\b[^>]*>([^<]*)<", site.in_words(plain.to_html())) == ["data ↓ epoch →", "0", "a"]
