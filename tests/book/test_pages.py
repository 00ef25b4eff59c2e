"""The finished pages in a real browser that has no network."""

import csv
import functools
import http.server
import json
import re
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from miniature import ROOT
from playwright.sync_api import TimeoutError

from deepmech_book import claims
from deepmech_book.build import keys
from deepmech_book.build.sources import Checkout

pytestmark = [pytest.mark.page, pytest.mark.slow]

REAL = Checkout(ROOT).html
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


# The screen is that wide, nothing stands out of it, and every explorer is laid out for the room it has now.
FITS = """(width) => innerWidth === width && document.documentElement.scrollWidth <= width
  && [...document.querySelectorAll(".deepmech-explorer")].every(
    (one) => !one.clientWidth || Number(one.dataset.width) === one.clientWidth)"""


# Formulas and icons, on a page that has the theme's, are pictures.
DRAWN = """(themed) => [...document.querySelectorAll(".math")].every((one) => one.querySelector("mjx-container"))
  && !document.querySelector("i.fa-solid, i.fas")
  && (!themed || document.querySelectorAll("svg.svg-inline--fa").length > 4)"""

# Display equations of which a part lies beyond an edge; math.js breaks them where they are too wide.
CUT = """[...document.querySelectorAll('mjx-container[display="true"]')]
  .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent)"""


# One design: a serif of 18 px is read in lines of 620 px, a sans is looked at; what is wide is 880 px; captions stand
# in the margin or below. Whatever is otherwise, in words.
DESIGN = """() => {
  const bad = [], page = document.querySelector(".bd-article > section") ?? document.body;
  const left = page.getBoundingClientRect().x;
  const judge = (css, right) => {
    for (const one of document.querySelectorAll(`.bd-article ${css}`)) {
      const at = one.getBoundingClientRect(), style = getComputedStyle(one);
      const said = `${css}: ${one.textContent.slice(0, 60)}: ${style.fontSize}, ${at.x - left} to ${at.right - left}`;
      if (at.width && one.checkVisibility() && !right(style, at)) bad.push(said);
    }
  };
  judge("> section > p:not(.dm-place, .dm-key, .dm-stamp)", (style, at) =>
    style.fontFamily.startsWith('"Source Serif 4"') && style.fontSize === "18px" && at.width <= 620.5);
  judge("figcaption", (style) => style.fontFamily.startsWith('"Source Sans 3"') && parseFloat(style.fontSize) >= 14);
  judge(":is(figure, .deepmech-page, .dm-claim)", (_, at) => at.width <= 881);
  judge("section > .cell figure:has(> .deepmech-picture:not(.full-width)) > figcaption", (_, at) => at.x - left >= 639);
  return bad;
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Site:
    """A folder of HTML, served on this machine only."""

    def __init__(self, folder: Path):
        self.folder = folder
        handler = functools.partial(_Quiet, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        made = [p.relative_to(folder).as_posix() for p in folder.rglob("*.html") if "_static" not in p.parts]
        self.pages = sorted(p for p in made if p not in ("index.html", "genindex.html", "search.html"))

    @functools.cache  # noqa: B019 - five tests read each page, and a site ends with its tests
    def soup(self, page: str) -> BeautifulSoup:
        return BeautifulSoup((self.folder / page).read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def book():
    if not (REAL / keys.MANIFEST).is_file():
        pytest.skip("the book is not built yet: make book")
    served = Site(REAL)
    yield served
    served.server.shutdown()


class Visit:
    """A tab that records complaints, every request that leaves this machine among them (the browser refuses those)."""

    def __init__(self, browser, served: Site, **options):
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(120_000)  # of waits for a condition, beside whatever else the machine does
        self.served, self.complaints = served, []
        self.tab = self.context.new_page()
        # Watched, not routed through here: a browser whose requests are routed keeps nothing in its cache.
        self.tab.on("request", self._watch)
        self.tab.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(m.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("response", lambda r: r.status >= 400 and self.complaints.append(f"{r.status} {r.url}"))

    def _watch(self, request):
        if not request.url.startswith((self.served.url, "data:", "blob:")):
            self.complaints.append(f"request to {request.url}")

    def open(self, page: str):
        self.tab.goto(self.served.url + page)
        # All that a page does by itself: MathJax draws formulas, Font Awesome icons; some time later on a busy machine.
        try:
            self.tab.wait_for_function(DRAWN, arg=page != "404.html")  # which stands alone, without the theme
        except TimeoutError:
            pytest.fail(f"{page}: a formula or an icon is not drawn")
        return self.tab

    def fits(self, page: str, screen: dict[str, int]) -> None:
        """Nothing stands out of a screen of this size; explorers lay themselves out some frames after a resize."""
        self.tab.set_viewport_size(screen)
        try:
            self.tab.wait_for_function(FITS, arg=screen["width"])
        except TimeoutError:
            wide = self.tab.evaluate("document.documentElement.scrollWidth")
            pytest.fail(f"{page}: {wide} pixels wide on a screen of {screen['width']}, or an explorer not laid out")

    def reads_whole(self, page: str) -> None:
        """No display equation is cut, once fonts are there and each has been broken to the width."""
        try:
            self.tab.wait_for_function(f"{CUT}.length === 0", timeout=20_000)
        except TimeoutError:
            pytest.fail(f"{page}: on this screen an equation is cut: {self.tab.evaluate(CUT)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


# Pages of each kind: prose, a chapter, figures and tables, explorers, the reference, what the build makes.
HEARD = (
    *("intro.html", "springs.html", "bibliography.html", "search.html", "generated/gallery.html"),
    *("generated/spring_block/chain.html", "generated/glass/transitions.html", "generated/beyond/your_network.html"),
    *("generated/spring_block/phase_diagram.html", "generated/api/plots.html", "generated/status.html"),
)


def heard(visit: Visit, page: str, screen: dict[str, int], scheme: str) -> list[str]:
    """What axe-core calls serious or critical on the open page, with all that is folded laid open."""
    visit.tab.emulate_media(color_scheme=scheme)
    visit.tab.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
    visit.tab.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    visit.tab.evaluate(
        "document.getAnimations().forEach(moving => { try { moving.finish(); } catch { /* endless */ } })"
    )
    visit.fits(page, screen)
    found = Axe().run(visit.tab, options={"resultTypes": ["violations"]}).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{page}, {scheme}: {one['id']}: {node['html'][:120]}" for one in grave for node in one["nodes"]]


def test_every_page_renders_without_complaint_and_can_be_heard_on_a_phone_and_a_desk(book, chromium):
    """No console error, no request outwards, every formula and every image drawn, nothing wider than the screen.

    Of each kind of page one is heard, folds laid open, in the light on a desk and in the dark on a phone.
    """
    silent: list[str] = []
    with Visit(chromium, book, viewport=PHONE, has_touch=True) as visit:
        for page in [*book.pages, "search.html"]:
            visit.tab.set_viewport_size(PHONE)
            tab = visit.open(page)
            assert tab.evaluate("document.querySelectorAll('mjx-merror, [data-mjx-error]').length") == 0, page
            assert tab.evaluate("document.querySelectorAll('svg.svg-inline--fa .missing').length") == 0, page
            # Lazy images count as well; those that are hidden would never be fetched, and be waited for without an end.
            bad = tab.evaluate(
                "async () => { const bad = []; for (const i of document.images) i.loading = 'eager';"
                " for (const i of document.images)"
                " try { await i.decode(); } catch (e) { bad.push(i.src.slice(0, 80)); } return bad; }"
            )
            assert bad == [], page
            # Not back to the phone: some time after a resize the theme tells anew what the keyboard has to scroll.
            for screen, scheme in ((PHONE, "dark"), (DESK, "light")):
                visit.fits(page, screen)
                visit.reads_whole(page)
                assert visit.complaints == [], page
                wide = screen == DESK and not page.endswith(("scoreboard.html", "gallery.html"))
                assert not wide or tab.evaluate(DESIGN) == [], page
                if page in HEARD:
                    silent += heard(visit, page, screen, scheme)
                    visit.complaints.clear()  # axe-core asks for styles where they are not
    assert silent == []
    assert set(HEARD) <= {*book.pages, "search.html"}


def test_dark_mode_turns_pictures_round(book, chromium):
    with Visit(chromium, book, viewport=DESK, color_scheme="light") as visit:
        lines = "figure .deepmech-picture:not(.dm-shaded) img"  # shaded planes keep their colours
        tab = visit.open(next(p for p in book.pages if book.soup(p).select(lines)))
        picture = f"getComputedStyle(document.querySelector('{lines}')).filter"

        def state():
            return tab.evaluate("document.documentElement.dataset.theme"), tab.evaluate(picture)

        assert state() == ("light", "none")
        for _ in range(3):
            if state()[0] == "dark":
                break
            tab.locator("button.theme-switch-button:visible").first.click()
        assert state() == ("dark", "invert(0.93) hue-rotate(180deg)")
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", background)[:3])) < 80, background


def test_an_equation_wider_than_a_phone_breaks_into_lines(book, chromium):
    with Visit(chromium, book, viewport=DESK) as visit:
        broken = """[...document.querySelectorAll('mjx-container[display="true"]')].filter((box) =>
          new Set(Array.from(box.querySelectorAll(".dm-break"), (at) => at.getBoundingClientRect().top)).size).length"""
        turned = []
        for page in (one for one in book.pages if "/elastic_sde/" in one and book.soup(one).select("div.math")):
            desk = visit.open(page).evaluate(broken)
            visit.fits(page, PHONE)
            visit.reads_whole(page)
            turned += [page] if desk == 0 < visit.tab.evaluate(broken) else []
            visit.tab.set_viewport_size(DESK)
        assert len(turned) > 2  # the fonts of a machine may break one more on a desk, too


# Whatever can have the focus on a page and takes arrow keys.
FOCUSED = ".deepmech-explorer :is(input, select, .handle, button), div.highlight pre, details.dm-claim > summary, body"


def test_arrow_keys_turn_no_page(book, chromium):
    """They belong to explorers and to boxes that scroll: from none of these does a page lead to another."""
    with Visit(chromium, book, viewport=DESK) as visit:
        moving = [page for page in book.pages if book.soup(page).select(".deepmech-page")]
        first = next(page for page in book.pages if book.soup(page).select("a.left-prev[href]"))
        for page in {first, *moving}:
            tab = visit.open(page)
            place = "location.pathname"
            there = tab.evaluate(place)
            for one in tab.locator(FOCUSED).all()[:12]:
                if one.is_visible():
                    one.evaluate("e => e.focus()")
                    for key in ("ArrowLeft", "ArrowRight"):
                        tab.keyboard.press(key)
            tab.wait_for_timeout(300)
            assert tab.evaluate(place) == there, page


def test_search_answers_while_one_types_pages_before_names_and_from_disk(book, chromium):
    with Visit(chromium, book) as visit:
        for start in (f"{book.url}springs.html", (book.folder / "search.html").as_uri()):
            visit.tab.goto(start)
            if "search.html" not in start:
                visit.tab.keyboard.press("Control+K")
            field = visit.tab.locator("input[name=q]:visible")
            for words, first in (("memory", "#term-decorrelation-time"), ("dropout", "#term-dropout")):
                field.fill("")
                field.press_sequentially(words)
                visit.tab.locator(f"#search-results ul.search li:first-child a[href$='{first}']").wait_for()
            visit.tab.locator("#search-results", has_text="Search finished").wait_for()
            found = visit.tab.locator("#search-results li a").evaluate_all("all => all.map((a) => a.href)")
            named = ["/generated/api/" in href for href in found]
            assert True in named and named == sorted(named), start
        assert [one for one in visit.complaints if not one.startswith("request to file:")] == []


def test_every_internal_link_leads_somewhere(book):
    anchors = {p: {t["id"] for t in book.soup(p).select("[id]")} for p in [*book.pages, "search.html", "genindex.html"]}
    broken = []
    for page in book.pages:
        for tag in book.soup(page).select("a[href], img[src], link[href], script[src]"):
            target = tag.get("href") or tag.get("src")
            if re.match(r"(https?|mailto|data):", target):
                continue
            path, anchor = urldefrag(unquote(urljoin(f"/{page}", target)))
            path = path.lstrip("/").split("?")[0]
            if not (book.folder / path).is_file():
                broken.append(f"{page}: {target}")
            elif anchor and path in anchors and anchor not in anchors[path]:
                broken.append(f"{page}: {target} (no such anchor)")
    assert broken == []


def test_every_image_says_what_it_shows(book):
    silent = [
        f"{p}: {str(i)[:90]}" for p in book.pages for i in book.soup(p).select("img") if not i.get("alt", "").strip()
    ]
    assert silent == []


def test_figures_are_numbered_and_notebooks_can_be_taken_away(book):
    executed = [p for p in book.pages if book.soup(p).select(".dm-stamp")]
    assert executed == [p for p in book.pages if (book.folder / "_sources" / p).with_suffix(".ipynb").is_file()]
    for page in executed:
        soup = book.soup(page)
        for figure in soup.select("figure"):
            number = figure.select_one("figcaption .caption-number")
            assert number and re.fullmatch(r"Figure \d+(\.\d+)*\s*", number.text), f"{page}: {str(figure)[-300:]}"
        assert soup.select_one(".dm-stamp a")["href"].endswith("/status.html")
        link = soup.select_one("a.dm-download")["href"]
        notebook = json.loads((book.folder / Path(page).parent / link).read_text())
        assert any(c.get("outputs") for c in notebook["cells"]), f"{page}: the download has no outputs"
        shown = [c for c in soup.select("div.cell.tag_parameters")]
        assert len(shown) == 1 and "profile = " in shown[0].text, f"{page}: one parameters cell"
        assert not soup.select("div.cell.tag_injected-parameters")


def test_one_page_says_how_all_were_made(book):
    words = book.soup("generated/status.html").select_one("article").text
    assert re.search(r"the profile (quick|laptop|paper),", words) and "deepmech verify" in words
    assert re.search(r"cores.*numba \d.*torch \d", words)


def test_every_figure_can_be_taken_away_and_is_in_the_gallery(book):
    starts = {".svg": b"<?xml", ".csv": b"array,"}
    gallery = {one.a["href"].partition("#")[2] for one in book.soup("generated/gallery.html").select(".dm-thumb")}
    names = set()
    for page in book.pages:
        pictures = [f for f in book.soup(page).select("figure") if f.select(".deepmech-picture")]
        for figure in pictures:
            assert not figure.select("img[src^='data:']"), f"{page}: an image inside the page weighs a third more"
            line = figure.find_next_sibling(class_="dm-take")
            files = [(book.folder / page).parent / a["href"] for a in line.select("a[download]")]
            assert ".svg" in {file.suffix for file in files}, page
            for file in files:
                with open(file, "rb") as written:
                    assert written.read(9).startswith(starts[file.suffix]), file
            assert figure.select_one(".caption-number").text.strip() in line.text
            names.add(figure["id"])
    assert names == gallery and names


def of_kind(book, kind: str) -> tuple[str, list[list[str]]]:
    """A page with a question that is answered in this way (an input, or buttons), and what may be answered there."""
    asks = f"form.dm-check-answer:has({kind})"
    page = next(p for p in book.pages if book.soup(p).select(asks))
    return page, json.loads(book.soup(page).select_one(asks)["data-known"])


def test_a_number_that_is_typed_is_judged(book, chromium):
    page, ((right, why), (wrong, hint), *_) = of_kind(book, "input")
    with Visit(chromium, book, viewport=PHONE) as visit:
        form = visit.open(page).locator("form.dm-check-answer:has(input)").first

        def said(typed: str) -> str:
            form.locator("input").fill(typed)
            form.locator("input").press("Enter")
            return form.locator("output").inner_text()

        assert said(right) == said(f"{1.01 * float(right):.6f}") == said(right.replace("-", "−")) == f"✓ Right. {why}"
        assert said(f"{2 * float(right)}/2") == f"✓ Right. {why}"
        assert said(wrong) == f"✗ Not yet. {hint}"
        assert said(f"{1.1 * float(right):.6f}").startswith("✗ Not yet. ")
        assert said("much") == said("") == "Type a number, such as 0.25, 1/4 or 2.5e-1."
        visit.fits(page, PHONE)
        assert visit.complaints == []


def test_a_choice_is_judged(book, chromium):
    page, ((right, why), (wrong, hint), *_) = of_kind(book, "button[value]")
    with Visit(chromium, book, viewport=DESK) as visit:
        form = visit.open(page).locator("form.dm-check-answer:has(button[value])").first
        for answer, words in ((wrong, f"✗ Not yet. {hint}"), (right, f"✓ Right. {why}")):
            form.get_by_role("button", name=answer, exact=True).press("Enter")
            assert form.locator("output").inner_text() == words


def test_a_guess_unfolds_what_came_out(book, chromium):
    page = next(p for p in book.pages if book.soup(p).select("form.dm-guess"))
    with Visit(chromium, book, viewport=DESK) as visit:
        box = visit.open(page).locator(".dm-answer:has(form.dm-guess)").first
        right = box.locator("form").get_attribute("data-right")
        assert not box.locator(".dm-in-short").is_visible()
        for button in box.get_by_role("button").all():
            button.press("Enter")
            assert box.locator("output").inner_text().startswith("✓" if button.inner_text() == right else "✗")
            assert box.locator("button[aria-pressed=true]").all_inner_texts() == [button.inner_text()]
        assert box.locator(".dm-in-short").is_visible()


def test_the_site_weighs_what_can_be_taken_along(book):
    assert sum(path.stat().st_size for path in book.folder.rglob("*") if path.is_file()) < 40 * 2**20


def test_no_page_is_heavy(book):
    heavy = {page: size for page in book.pages if (size := (book.folder / page).stat().st_size) > 1_500_000}
    assert heavy == {}


BOARD = "generated/scoreboard.html"


def shown(tab) -> list[tuple[str, str]]:
    """The claims that the scoreboard does not hide, each with its verdict."""
    return [
        tuple(pair)
        for pair in tab.evaluate(
            "[...document.querySelectorAll('section#scoreboard .dm-claim')].filter(c => !c.hidden)"
            ".map(c => [c.id.slice(6), c.querySelector('.dm-verdict').lastChild.data.trim()])"
        )
    ]


def test_the_scoreboard_is_sifted_from_the_keyboard_on_a_phone(book, chromium):
    with Visit(chromium, book, viewport=PHONE, has_touch=True) as visit:
        tab = visit.open(BOARD)
        whole = shown(tab)
        assert {claim for claim, _ in whole} == set(claims.claims())
        assert tab.evaluate("document.documentElement.scrollHeight") < 12_000, "folded, figure by figure"
        sieve = tab.locator(".dm-sieve")
        assert sieve.locator("output").inner_text() == f"{len(whole)} claims"
        visit.fits(BOARD, PHONE)

        tab.get_by_label("Verdict").select_option("holds")
        holding = shown(tab)
        fit = {claim for claim, verdict in whole if verdict == "holds"}
        heads = {claims.claim(claim).head for claim in fit}  # a row stands inside its claim
        assert holding == [one for one in whole if one[0] in fit | heads] != []
        sieve.get_by_label("Paper").select_option("0")
        assert shown(tab) == [one for one in holding if one[0].startswith("A.")] != []
        assert [h.is_visible() for h in tab.locator("section#scoreboard h2").all()] == [True, False, False]
        tab.get_by_label("Which").select_option("main claims")
        assert {claim for claim, _ in shown(tab)} == {c for c in fit if c[0] == "A" and claims.claim(c).main}
        tab.get_by_label("Words").fill("A.3.eq8")
        assert [claim for claim, _ in shown(tab)] == ["A.3.eq8"]
        assert tab.locator("#claim-A\\.3\\.eq8 summary").is_visible(), "its fold opens"
        tab.get_by_label("Words").fill("no such claim anywhere")
        assert shown(tab) == [] and sieve.locator("output").inner_text() == f"0 of {len(whole)} claims"
        tab.get_by_role("button", name="Show all").press("Enter")
        tab.wait_for_function(
            "n => document.querySelector('.dm-sieve output').textContent === n + ' claims'", arg=len(whole)
        )
        assert shown(tab) == whole
        assert visit.complaints == []


def test_the_scoreboard_unfolds_without_javascript_and_works_from_disk(book, chromium):
    context = chromium.new_context(java_script_enabled=False, viewport=DESK)
    tab = context.new_page()
    tab.goto((book.folder / BOARD).as_uri())
    assert tab.locator(".dm-sieve").count() == 0
    line = tab.locator("#claim-A\\.3\\.eq8 > summary")
    assert not line.is_visible()
    tab.locator(".dm-group:has(#claim-A\\.3\\.eq8) > summary").press("Enter")
    line.press("Enter")
    assert line.is_visible() and tab.locator("#claim-A\\.3\\.eq8 dl").is_visible()
    context.close()
    context = chromium.new_context(viewport=DESK, color_scheme="dark", offline=True)
    tab = context.new_page()
    tab.goto((book.folder / BOARD).as_uri() + "#claim-A.3.eq8")
    assert tab.locator("#claim-A\\.3\\.eq8 dl").is_visible(), "who comes for one claim finds it open"
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    field = tab.evaluate("getComputedStyle(document.querySelector('.dm-sieve input')).backgroundColor")
    assert max(map(int, re.findall(r"\d+", field)[:3])) < 90, field
    context.close()


def test_the_scoreboard_is_taken_away_as_csv_and_json(book):
    links = [a["href"] for a in book.soup(BOARD).select("a.download[href]")]
    files = {Path(link).suffix: (book.folder / BOARD).parent / link for link in links}
    rows = json.loads(files[".json"].read_text(encoding="utf-8"))
    with open(files[".csv"], newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} == set(claims.claims())
    assert [(r["claim"], r["verdict"]) for r in table] == [(r["claim"], r["verdict"]) for r in rows]
    (eq8,) = (row for row in rows if row["claim"] == "A.3.eq8")
    assert eq8["verdict"] == "holds" and isinstance(eq8["measured"], float)
