"""The finished site as one PDF: its pages in the order of the contents, one below the other, printed by Chromium."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urldefrag, urljoin

from bs4 import BeautifulSoup

from deepmech_book.press.sources import BookError

STYLE = """
@page { size: A4; margin: 18mm 16mm; }
body { font-size: 10pt; }
.sheet { break-before: page; }
.bd-article-container { max-width: 100% !important; }
h1, h2, h3, summary { break-after: avoid; }
figure, tr, .dm-card { break-inside: avoid; }
pre { white-space: pre-wrap; }
img, figure svg { max-width: 100%; max-height: 230mm; object-fit: contain; break-inside: avoid; }
"""
#: What paper cannot do: play, be taken away, unfold, or show the dark picture beside the light one.
IDLE = "script, .headerlink, .dm-take, .dm-download, .only-dark, .dm-sieve, .xr-section-item > details"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--no-pdf-header-footer", "--generate-pdf-document-outline", "--virtual-time-budget=600000",
         "--host-resolver-rules=MAP * ~NOTFOUND")  # fmt: skip


def contents(html: Path) -> list[str]:
    """Addresses of the pages in the order of the sidebar, the front page first; a BookError if there is no site."""
    if not (html / "intro.html").is_file():
        raise BookError(f"{html} holds no site: build it first (deepmech book)")
    soup = BeautifulSoup((html / "intro.html").read_text(encoding="utf-8"), "html.parser")
    linked = [urldefrag(str(link["href"]))[0] for link in soup.select("nav.bd-links a[href]")]
    return list(dict.fromkeys(["intro.html", *(page for page in linked if page and (html / page).is_file())]))


def sheet(text: str, page: str, pages: Collection[str]) -> str:
    """The article of a page as a part of the long one: anchors bear the page's name, links to ``pages`` stay within.

    Examples
    --------
    >>> text = '<article class="bd-article"><h1 id="top">A</h1><a href="../b.html#end">b</a><script></script></article>'
    >>> print(sheet(text, "c/a.html", ["b.html"]))
    <section class="sheet" id="c/a.html"><h1 id="c/a.html--top">A</h1><a href="#b.html--end">b</a></section>
    """
    article = BeautifulSoup(text, "html.parser").select_one("article.bd-article")
    if article is None:
        raise BookError(f"{page} has no article: is this the site of a book?")
    for idle in article.select(IDLE):
        idle.decompose()
    for tag in article.select("[id]"):
        tag["id"] = f"{page}--{tag['id']}"
    for tag in article.select("[src]"):
        tag["src"] = urljoin(page, str(tag["src"]))
        tag.attrs.pop("loading", None)  # what lies below the window would not be fetched
    for link in article.select("a[href]"):
        there, anchor = urldefrag(urljoin(page, str(link["href"])))
        if there in pages:
            link["href"] = f"#{there}--{anchor}" if anchor else f"#{there}"
    for fold in article.select("details:not([class*=hide], .dm-group .dm-claim, .dm-finding .dm-claim)"):
        fold["open"] = ""
    return f'<section class="sheet" id="{page}">{article.decode_contents()}</section>'


def write(html: Path, out: Path, pages: Collection[str]) -> Path:
    """Print ``pages`` of the site in the folder ``html``, and return ``out``.

    Raises
    ------
    BookError
        Without Chromium, or if that printed nothing within half an hour.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise BookError("pdf: no Chromium on this machine (Debian: apt-get install chromium)")
    front = (html / "intro.html").read_text(encoding="utf-8")
    head = BeautifulSoup(front, "html.parser").head
    body = "".join(sheet((html / page).read_text(encoding="utf-8"), page, pages) for page in pages)
    # Beside the pages, because their pictures and styles have relative addresses.
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="_pdf-", dir=html, encoding="utf-8") as long:
        long.write(
            f'<!doctype html><html lang="en" data-theme="light" data-mode="light">{head}<style>{STYLE}</style><body>'
            f'<div class="bd-article-container"><article class="bd-article">{body}</article></div></body></html>'
        )
        long.flush()
        out.unlink(missing_ok=True)
        command = [chromium, *FLAGS, f"--print-to-pdf={out.absolute()}", Path(long.name).as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        except subprocess.TimeoutExpired:
            raise BookError("pdf: Chromium printed nothing within half an hour") from None
    if not out.is_file():
        raise BookError(f"pdf: Chromium printed nothing: {done.stderr.strip()[-400:]}")
    return out
