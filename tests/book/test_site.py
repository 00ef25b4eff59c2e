"""The build is strict: what Sphinx would only warn of, and what it would never notice, stops it."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from bs4 import BeautifulSoup
from entries import entry_of
from miniature import ROOT, notebook_text, write_notebooks
from sphinx.util.inventory import InventoryFile

import deepmech
from deepmech_book import claims
from deepmech_book.build import api, keys, notebooks, site
from deepmech_book.build.sources import BookError, Checkout, PageRun


def build(checkout, **options):
    checkout = Checkout(checkout.root)
    return site.build(checkout, notebooks.execute_notebooks(checkout), "quick", whole=False, **options)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A checkout whose one notebook is executed already; copy it before building."""
    from miniature import make_checkout

    checkout = make_checkout(tmp_path_factory.mktemp("plain") / "checkout")
    write_notebooks(checkout, a=notebook_text("1 + 1"))
    words = "# Intro\n\nWords {cite:p}`he2023law`, $x^2$.\n\n```{bibliography}\n```\n"
    (checkout.book / "intro.md").write_text(words)
    notebooks.execute_notebooks(Checkout(checkout.root))
    return checkout


@pytest.fixture
def ready(plain, tmp_path):
    return Checkout(shutil.copytree(plain.root, tmp_path / "checkout"))


@pytest.mark.slow
def test_a_sound_site_is_built_once_and_leaves_out_what_has_no_result(ready, monkeypatch):
    write_notebooks(ready, a=notebook_text("import os\nos.sep", "1 + n"), b=notebook_text("2", title="Another page"))
    (ready.root / "notebooks" / "profiles" / "laptop.yml").write_text("springs/a: {n: 7}")
    ready = Checkout(ready.root)
    (ready.book / "assets" / "stray.js").write_text("alert('stray')")
    (ready.book / "assets" / "stray.css").write_text("body { display: none }")
    lines: list[str] = []

    def build():
        page_runs = notebooks.execute_notebooks(ready, "laptop", ["springs/a"])
        return site.build(ready, page_runs, "laptop", whole=False, say=lines.append)

    def written():
        ours = (ready.generated, ready.html.parent)
        found = (p for p in ready.root.rglob("*") if p.is_file() and not any(p.is_relative_to(one) for one in ours))
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found if "__pycache__" not in path.parts}

    before = written()
    html = build()
    assert written() == before, "a build touches no source"
    soup = BeautifulSoup((html / "generated" / "springs" / "a.html").read_text(encoding="utf-8"), "html.parser")
    (setting,) = soup.select("div.cell.tag_parameters")
    assert re.search("n = 3(?s:.*)n = 7(?s:.*)import os", setting.get_text()), "one fold: own values, profile, imports"
    *_, last, folded = soup.select("div.cell")
    assert folded is setting and last.get_text().split()[-1] == "8" and not soup.select(".tag_injected-parameters")
    status = (ready.generated / "status.md").read_text()
    assert "Not part of this build" in status and "Another page" in status
    page = (html / "intro.html").read_text()
    assert [path.name for path in (html / "_static").glob("mathjax/tex-*.js")] == ["tex-chtml.js"], "what pages load"
    assert "deepmech.css" in page and "claims.css" in page and "stray" not in page, "listed styles and scripts only"
    build()
    assert lines == ["a partial build: 1 of 2 notebooks are left out", "the site is up to date"]

    def refuse(checkout, made, new):
        raise BookError("Jupyter Book does not accept the pages")

    monkeypatch.setattr(site, "_jupyter_book", refuse)
    (ready.book / "assets" / "deepmech.css").write_text("")
    for _ in range(2):
        with pytest.raises(BookError, match="does not accept"):  # a change of style is a change of site
            build()
    assert (html / "generated" / "springs" / "a.html").is_file(), "the last site stays until the next is whole"


def test_to_see_that_all_is_up_to_date_takes_no_large_import():
    code = """import sys
from deepmech_book.build import keys, notebooks, site
from deepmech_book.build.sources import Checkout
runs = notebooks.page_runs(Checkout.find(), "quick")
keys.read_manifest(Checkout.find().html), site._made_of(Checkout.find(), [], [], "quick", True)
assert not {"torch", "papermill", "sphinx.application", "jupyter_book"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_extension_of_sphinx_takes_no_large_import():
    code = """import sys
import deepmech_book.build.extension
assert not {"numpy", "numba", "pandas", "xarray", "torch", "papermill"} & set(sys.modules)"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_page_that_was_edited_added_or_lost_is_seen(ready, monkeypatch):
    page = ready.html / "generated" / "a.html"
    built: list[int] = []

    def print_pages(checkout, made, new):
        built.append(1)
        for folder in ("generated", "_static/scripts"):
            (new / "_build" / "html" / folder).mkdir(parents=True, exist_ok=True)
        (new / "_build" / "html" / "index.html").write_text("<p>0.562</p>")
        (new / "_build" / "html" / "generated" / "a.html").write_text("<p>1.5</p>")

    def forge():
        times = page.stat()
        page.write_text("<p>1.6</p>")
        os.utime(page, ns=(times.st_atime_ns, times.st_mtime_ns))

    monkeypatch.setattr(site, "_jupyter_book", print_pages)
    page_runs = notebooks.execute_notebooks(ready)
    site.build(ready, page_runs, "quick", whole=False)
    for number, harm in enumerate([forge, page.unlink], 2):
        site.build(ready, page_runs, "quick", whole=False)
        assert len(built) == number - 1, "what nobody touched is not built again"
        harm()
        site.build(ready, page_runs, "quick", whole=False)
        assert len(built) == number
        assert page.read_text() == "<p>1.5</p>"
    stray, mark = ready.html / "notes" / "stray.html", ready.html / keys.MANIFEST
    kept = mark.read_bytes()
    stray.parent.mkdir()
    for path, content in ((stray, b"mine"), (mark, b""), (mark, b"\xff")):
        path.write_bytes(content)
        with pytest.raises(BookError, match="was not made by deepmech book: move it away"):
            site.build(ready, page_runs, "quick", whole=False)
        assert path.read_bytes() == content
        stray.unlink(missing_ok=True)
        mark.write_bytes(kept)


@pytest.mark.parametrize("there", ["a link", "a file", "another book"])
def test_what_is_not_ours_is_neither_replaced_nor_built_into(ready, tmp_path, monkeypatch, there):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "page.html").touch()
    ready.html.parent.mkdir()
    if there == "a file":
        ready.html.write_text("mine")
    elif there == "a link":
        ready.html.symlink_to(tmp_path / "other")
    else:
        (tmp_path / "other").rename(ready.html)
    monkeypatch.setattr(site, "_jupyter_book", lambda checkout, made, new: pytest.fail("nothing is printed"))
    with pytest.raises(BookError, match="book/_build/html was not made by deepmech book: move it away"):
        build(ready)
    assert ready.html.read_text() == "mine" if there == "a file" else (ready.html / "page.html").is_file()


@pytest.mark.parametrize("text", ["- 1", "sphinx: word", "sphinx:\n  config: [1]", "title: a\ntitle: b", "a:\n\tb: 1"])
def test_a_faulty_configuration_is_named(ready, text):
    (ready.root / "_config.yml").write_text(text)
    with pytest.raises(BookError, match=r"_config\.yml"):
        build(ready)


def test_jupyter_book_ends_with_the_build(tmp_path):
    folder = tmp_path / "jupyter_book" / "cli"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "main.py").write_text("import time\ndef main(): print(1), time.sleep(600)\n")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-u", "-c", site._PRINT], cwd=tmp_path, **pipes)
    assert process.stdout.readline() == b"1\n" and process.poll() is None
    process.stdin.close()  # as when the build is killed
    assert process.wait(timeout=20) == 1
    process.stdout.close()


def test_a_site_that_takes_for_ever_is_stopped(ready, monkeypatch):
    monkeypatch.setattr(site, "_PRINT", "import time; time.sleep(600)")
    monkeypatch.setattr(site, "MINUTES", 0.01)
    with pytest.raises(BookError, match=r"Jupyter Book was stopped: it took more than 0\.01 minutes"):
        build(ready)
    assert not ready.html.exists()


@pytest.mark.slow
def test_jupyter_book_by_itself_says_in_one_line_what_to_run(checkout):
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "."]
    done = subprocess.run(command, cwd=checkout.root, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.splitlines()[-1].endswith("run make book (or deepmech book)")


@pytest.mark.slow
def test_what_leads_nowhere_stops_the_build_again_and_again(ready):
    intro = ready.book / "intro.md"
    intro.write_text(
        f"{intro.read_text()}\n![a picture](assets/absent.png) {{numref}}`fig-absent` {{doc}}`/absent-page` "
        "{cite:t}`nobody2099` [there](absent-file.md) {py:class}`~deepmech.simulators.Absent`\n"
    )
    for _ in range(2):  # Sphinx would not read the page a second time, and would be content.
        with pytest.raises(BookError) as told:
            build(ready)
        for what in ("absent.png", "fig-absent", "absent-page", "nobody2099", "absent-file.md", "simulators.Absent"):
            assert what in str(told.value)


@pytest.mark.slow
def test_a_site_that_goes_on_from_the_last_one_is_the_site_that_begins_from_nothing(ready):
    """Whatever is edited; and only what shows an edit is printed anew."""
    toc, more = ready.root / "_toc.yml", ready.book / "more.md"
    toc.write_text(f"{toc.read_text()}      - file: more\n      - file: points\n")
    points = "# Points\n\n{eq}`e` {numref}`t` {ref}`there` {term}`load`\n"
    (ready.book / "points.md").write_text(points)
    words = """# More\n\n```{math}\n:label: e\nx\n```\n\n:::{table} A\n:name: t\n\n| a |\n| - |\n| 1 |\n:::\n
(there)=\n## A place\n\n:::{glossary}\nload\n  what is carried\n:::\n"""
    before = "\n\n```{math}\n:label: first\ny\n```\n\n:::{table} B\n:name: b\n\n| b |\n| - |\n| 2 |\n:::\n\n# "
    more.write_text(words)
    page = build(ready) / "points.html"
    edits = {
        "words": (words := words.replace("is carried", "springs carry").replace("| 1 |", "| 7 |"), False),
        "names": (words := words.replace("# More", "# Others").replace("A place", "Another"), True),
        "order": (words := words.replace("# Others\n", f"# Others{before[:-3]}\n{{cite:t}}`he2023law`\n"), True),
    }
    for edit, (text, shown) in edits.items():
        printed = page.stat().st_mtime_ns
        more.write_text(text)
        build(ready)
        assert (page.stat().st_mtime_ns > printed) == shown, edit
    found = {}
    for at in ("the last one", "nothing"):
        html = build(ready)
        names = {path.relative_to(html).as_posix(): path for path in html.rglob("*") if path.is_file()}
        found[at] = {name: path.read_bytes() for name, path in names.items() if name != keys.MANIFEST}
        if at != "nothing":
            shutil.rmtree(html)
            shutil.rmtree(ready.generated / ".sphinx")
    for one in found.values():
        index = json.loads(one["searchindex.js"].decode().removeprefix("Search.setIndex(").removesuffix(")"))
        for kind in ("terms", "titleterms"):
            index[kind] = {word: of for word, of in index[kind].items() if of != []}  # of pages before
        one["searchindex.js"] = index
    assert found["the last one"].keys() == found["nothing"].keys()
    assert [name for name, content in found["nothing"].items() if found["the last one"][name] != content] == []
    more.write_text(words.replace("(there)=", ""))
    with pytest.raises(BookError, match="there"):  # on a page that nobody edited
        build(ready)


def test_a_promised_figure_that_nobody_drew_stops_the_build(ready):
    promised = next(iter(claims.figures().values()))
    checkout = Checkout(ready.root)
    with pytest.raises(BookError, match=f"figure {promised.id}: not drawn by {promised.page}"):
        site.build(checkout, notebooks.execute_notebooks(checkout), "quick", whole=True)
    assert not checkout.html.exists()


@pytest.mark.slow
def test_the_reference_names_the_library(ready):
    """Built strictly: every name of ours in a docstring leads somewhere."""
    chapters = [f"api/{name}" for name in api.pages(ready.book)]
    toc = yaml.safe_load((ready.root / "_toc.yml").read_text())
    toc["parts"][0]["chapters"] += [{"file": f"generated/{name}"} for name in chapters]
    (ready.root / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False))
    intro = ready.book / "intro.md"
    chain = "{py:class}`~deepmech.simulators.spring_block.Chain`"
    intro.write_text(f"{intro.read_text()}\n{{py:func}}`~deepmech.load_curve` {chain}\n")
    html = build(ready)
    page = (html / "intro.html").read_text()
    assert 'href="generated/api/metrics.html#deepmech.metrics.load_curve.load_curve"' in page
    with open(html / "objects.inv", "rb") as file:
        inventory = InventoryFile.load(file, "", lambda uri, name: name)
    names = {name for kind, entries in inventory.items() if kind.startswith("py:") for name in entries}
    assert {f"deepmech.{name}" for name in deepmech.__all__ if name != "__version__"} <= names
    reference = (html / "generated" / "api" / "metrics.html").read_text()
    (source,) = {found for found in re.findall(r'href="([^"]*/curvature\.py)"', reference)}
    assert "def curvature" in (html / "generated" / "api" / source).read_text()
    assert "system-message" not in reference


def test_main_claims_are_cards_and_the_others_rows_of_a_fold_below_them(ready):
    rows = [entry_of("A.5b.noiseless", 0.0, expected=0.0), entry_of("A.S14.decay", 1.2, null=2.0)]
    shown = [rows[0], entry_of("A.3.eq8", -0.05, expected=-0.05, null=0.1), rows[1]]
    outputs = [{"output_type": "display_data", "data": one._repr_mimebundle_()} for one in shown]
    outputs.insert(0, {"output_type": "display_data", "data": {"text/html": "a table"}})
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": outputs}
    page_run = PageRun(ready.source("springs/a"), {}, "", {"cells": [cell]})
    (made,) = json.loads(site._printable(page_run))["cells"]
    table, card, rest = (output["data"]["text/html"] for output in made["outputs"])
    assert table == "a table" and 'class="dm-claim dm-claim dm-main"' in card
    assert rest.startswith('<details class="dm-group"><summary><span>2 more, in a table</span>')
    assert rest.count('<details class="dm-claim') == 2 and ">✗ 1 fail<" in rest, "a fold hides no verdict"
    family = [entry_of("B.3.peak", 0.2, null=0.5), entry_of("B.3.rises", 0.7, null=1.0)]
    whole = [{"output_type": "display_data", "data": one._repr_mimebundle_()} for one in family]
    (line,), _ = site._with_rows(whole)
    line = line["data"]["text/html"]
    assert line.count("<details") == line.count("</details>") == 2 and ">✗ 1 fail<" in line.partition("</summary>")[0]
    assert line.endswith("</details></details>") and site._with_rows(whole[1:])[0] == whole[1:], "a row alone stays"
    figure = {"mystnb": {"figure": {"name": "fig-x"}}}
    alone, plain = {**cell, "outputs": outputs[1:2]}, {**cell, "metadata": {}, "outputs": []}
    draws, teaches = {**plain, "metadata": figure}, {**plain, "metadata": {**figure, "tags": ["show-input"]}}
    more = PageRun(page_run.source, {}, "", {"cells": [alone, plain, draws, teaches]})
    shown = json.loads(site._printable(more))["cells"]
    assert shown[0]["outputs"][0]["data"]["text/html"].startswith('<details class="dm-claim'), "no card, no fold"
    folded = ["hide-input" in c["metadata"]["tags"] for c in (made, *shown)]
    assert folded == [True, True, True, True, False], "code is folded, unless it teaches"
    assert "tags" not in plain["metadata"], "the executed notebook stays as it is"


def test_what_is_judged_is_built_first():
    """By ``make test-all``, and of every change that somebody proposes."""
    done = subprocess.run(["make", "--dry-run", "test-all"], cwd=ROOT, capture_output=True, text=True, check=True)
    said = [line.split()[0] for line in done.stdout.splitlines() if "deepmech book" in line or "-m pytest" in line]
    assert said == [".venv/bin/deepmech", "CI=true"]
    workflow = yaml.load((ROOT / ".github" / "workflows" / "book.yml").read_text(), yaml.BaseLoader)
    assert "pull_request" in workflow["on"]
    assert any("make book" in step.get("run", "") for step in workflow["jobs"]["build"]["steps"])


CHAPTERS = {
    entry["file"]: [page["file"] for page in entry["sections"]]
    for part in Checkout(ROOT).toc["parts"]
    for entry in part["chapters"]
    if "sections" in entry and not entry["file"].startswith("generated/")
}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_map_of_a_chapter_shows_all_its_pages_in_their_order(chapter):
    rows = re.findall(r"^\| (\{doc\}.*?) \|", (ROOT / "book" / f"{chapter}.md").read_text(encoding="utf-8"), re.M)
    assert re.findall(r"\{doc\}`/([\w/]+)`", " ".join(rows)) == CHAPTERS[chapter]
