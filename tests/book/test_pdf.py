"""``deepmech pdf``: the site on paper."""

import re

import pytest

from deepmech import cli
from deepmech_book.press import pdf
from deepmech_book.press.sources import BookError

PAGE = '<html><head><title>t</title></head><body>{nav}<article class="bd-article">{article}</article></body></html>'
NAV = '<nav class="bd-links"><a href="#">Intro</a><a href="one/b.html#x">B</a><a href="https://a.org/c.html">away</a></nav>'


@pytest.fixture
def html(tmp_path):
    (tmp_path / "one").mkdir()
    front = '<h1>Intro</h1><p>See <a href="one/b.html#end">b</a> and <a href="https://a.org/">elsewhere</a>.</p>'
    (tmp_path / "intro.html").write_text(PAGE.format(nav=NAV, article=front))
    second = '<h1>B</h1><script>document.title</script><img src="../dot.svg"><p id="end">Ends.</p>'
    second += '<a href="../intro.html">up</a>'
    (tmp_path / "one" / "b.html").write_text(PAGE.format(nav="", article=second))
    (tmp_path / "dot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
    )
    return tmp_path


def test_pages_stand_in_the_order_of_the_contents(html):
    assert pdf.contents(html) == ["intro.html", "one/b.html"]
    with pytest.raises(BookError, match="holds no site: build it first"):
        pdf.contents(html / "one")


def test_a_part_keeps_its_pictures_and_links(html):
    made = pdf.sheet((html / "one" / "b.html").read_text(), "one/b.html", pdf.contents(html))
    assert 'src="dot.svg"' in made and 'href="#intro.html"' in made and 'id="one/b.html--end"' in made
    assert "script" not in made


@pytest.mark.usefixtures("chromium")
def test_it_is_printed(html, tmp_path):
    before = sorted(html.rglob("*.html"))
    out = pdf.write(html, tmp_path / "book.pdf", pdf.contents(html))
    printed = out.read_bytes()
    assert printed.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    assert b"(https://a.org/)" in printed and sorted(html.rglob("*.html")) == before


def test_what_is_missing_is_said(html, checkout, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(checkout.root)
    assert cli.main(["pdf", "--output", str(tmp_path / "book.pdf")]) == 1
    assert "holds no site: build it first" in capsys.readouterr().err
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    with pytest.raises(BookError, match="no Chromium"):
        pdf.write(html, tmp_path / "book.pdf", ["intro.html"])
