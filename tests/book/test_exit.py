"""Without Jupyter Book the same pages come out; ``make exit-rehearsal`` tries it with the newest Sphinx."""

import sys

import pytest
from miniature import notebook_text, write_notebooks

from deepmech_book.press import exit as leave
from deepmech_book.press import press, site
from deepmech_book.press.sources import BookError, Checkout

DRAWS = """\
---
mystnb:
  figure:
    name: fig-line
    caption: A line.
---
from deepmech_book.figures import Picture
Picture(lambda f, t: f.subplots().plot([0, 1]), alt="A line that rises.", height=2)"""


@pytest.mark.slow
def test_sphinx_alone_prints_the_same_pages(checkout, tmp_path):
    write_notebooks(checkout, a=notebook_text(DRAWS))
    (checkout.book / "intro.md").write_text("# Intro\n\nWords {cite:p}`he2023law`.\n\n```{bibliography}\n```\n")
    checkout = Checkout(checkout.root)
    with pytest.raises(BookError, match="no finished site"):
        leave.project(checkout, tmp_path / "plain")
    site.build(checkout, press.press(checkout), "quick", whole=False)
    source = leave.project(checkout, tmp_path / "plain")
    html = leave.build(sys.executable, source)
    assert leave.differences(checkout.html, html) == []
    page = html / "generated/springs/a.html"
    page.write_text(page.read_text().replace("fig-line", "fig-other"))
    (html / "intro.html").unlink()
    found = leave.differences(checkout.html, html)
    assert [line.partition(":")[0] for line in found] == ["intro.html", "generated/springs/a.html"]
    assert "fig-line" in found[1] and "fig-other.svg" in found[1]
