"""Sphinx extension of the book: every executed page offers its notebook and leads to how it was made; figures can be
taken away; questions ask for a guess, or check their answers; and screen readers find names for what they meet."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from deepmech.core import provenance
from deepmech_book.build import api, gallery
from deepmech_book.build.sources import REFERENCE


def refuse_plain_build(app: Any, config: Any) -> None:
    """End with one line where Jupyter Book was called by itself: it would find no page, for pages are executed first.

    Jupyter Book wraps other errors in a traceback of its own.
    """
    if not (Path(app.srcdir) / "generated" / ".site").is_dir():
        raise SystemExit("Jupyter Book alone finds no executed page here: run make book (or deepmech book)")


def add_stamp(app: Any, doctree: nodes.document) -> None:
    """At the end of a page that the build executed: the way to how it was made, and to its notebook."""
    name = app.env.docname
    if gallery.executed(app, name) is not None:
        up = "../" * name.count("/")
        said = (
            f'<p class="dm-stamp"><a href="{up}generated/status.html">How this book was made</a> '
            f'<a class="dm-download" href="{up}_sources/{name}.ipynb" download>executed notebook</a></p>'
        )
        next(iter(doctree.findall(nodes.title))).parent.append(nodes.raw("", said, format="html"))


def depend_on_path(app: Any, doctree: nodes.document) -> None:
    """A page is read again when the short path changes, which may stand on it."""
    table = Path(app.srcdir, "short_path.md")
    if app.env.docname.startswith("generated/") and table.is_file():
        app.env.note_dependency(str(table))


def put_place(app: Any, doctree: nodes.document, name: str) -> None:
    """Under a page's title: the papers' figures and sections that it is about, and where the short path goes on.

    The path is what short_path.md numbers; figures and sections are the registry's, which is slow to import: the build
    wrote them down (:func:`.pages.places`).
    """
    title, page = next(iter(doctree.findall(nodes.title)), None), name.removeprefix("generated/")
    if title is None or page == name:
        return

    def link(to: str, words: str) -> str:
        return f'<a class="reference internal" href="{app.builder.get_relative_uri(name, to)}">{html.escape(words)}</a>'

    lines, titles = [], app.env.titles
    table = Path(app.srcdir, "short_path.md")
    path = (
        re.findall(r"(?m)^\*\*\d+\. \{doc\}`/?([^`]+)`", table.read_text(encoding="utf-8")) if table.is_file() else []
    )
    if name in path:
        n = 1 + path.index(name)
        later = [f"next: {link(one, titles[one].astext())}" for one in path[n : n + 1] if one in titles]
        onward = later[0] if later else "the last page"
        steps = "".join('<i class="dm-here"></i>' if i < n else "<i></i>" for i in range(len(path)))
        said = f"{link('short_path', 'Short path')} {steps} {n} of {len(path)} · {onward}"
        lines.append(f'<p class="dm-place">{said}</p>')
    places = json.loads(Path(app.srcdir, "generated", "places.json").read_text(encoding="utf-8"))
    for paper, words in places.get(page, {}).items():
        shown, *sections = map(html.escape, words)
        more = "".join(f'<span class="dm-sections">{one}</span>' for one in sections)
        said = f"{link('generated/papers', f'Paper {paper}')} · {shown}{more}"
        lines.append(f'<p class="dm-place dm-paper">{said}</p>')
    below = "".join(lines)
    title.parent.insert(title.parent.index(title) + 1, nodes.raw("", below, format="html"))


def put_key(app: Any, doctree: nodes.document, name: str) -> None:
    """Above the first card of a page: how to read one."""
    cards = (raw for raw in doctree.findall(nodes.raw) if '<details class="dm-claim' in raw.astext())
    if name.startswith("generated/") and (first := next(cards, None)) is not None:
        reading = app.builder.get_relative_uri(name, "reading")
        key = (
            "✓ holds, ≈ so does the null (a simple rival), ✗ fails, ? undecided; <i>barely</i>: as many runs again "
            "might say otherwise. Brackets and bars: 95 % intervals. Shaded: where the rule holds. "
            f'<a href="{reading}">How to read a card</a>.'
        )
        first.parent.insert(first.parent.index(first), nodes.raw("", f'<p class="dm-key">{key}</p>', format="html"))


def bind_signs(app: Any, doctree: nodes.document) -> None:
    """A comma or bracket behind a formula stays on its line: browsers break lines there."""
    for formula in list(doctree.findall(nodes.math)):
        place, after = formula.parent, formula.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and (signs := re.match(r"[,.;:?!)\]’”]+", after.astext())):
            at, both = place.index(formula), nodes.inline(classes=["dm-bound"])
            place[at : at + 2] = [both, nodes.Text(after.astext()[signs.end() :])]
            both += [formula, nodes.Text(signs[0])]


def fold_setting_up(app: Any, doctree: nodes.document) -> None:
    """The cells of parameters and the imports below them become one quiet line at the end: a page begins with a
    picture."""
    cells = [c for c in doctree.findall(nodes.container) if c.get("nb_element") == "cell_code"]
    for cell in (c for c in cells if "tag_parameters" in c["classes"]):
        words = "Parameters"
        while (below := cell.next_node(descend=False, siblings=True)) in cells:
            if "tag_injected-parameters" not in below["classes"]:  # what another profile sets
                folded = "hide_mode" in below and len(below.children) == 1
                if not folded and (words != "Parameters" or not below.astext().startswith(("import ", "from "))):
                    break
                words = "Parameters and imports"
            source = below.children[0]
            below.remove(source)
            cell.children[0].extend(source.children)
            if below.children:  # what it shows stays where it is
                break
            below.parent.remove(below)
        cell.update_basic_atts({"classes": ["tag_hide-input"]})
        cell.attributes |= {"hide_mode": "input", "prompt_show": words, "prompt_hide": words}
        if len(cell.children) == 1:  # it shows nothing
            cell.parent.remove(cell)
            next(iter(doctree.findall(nodes.title))).parent.append(cell)


def show_markup(app: Any, doctree: nodes.document) -> None:
    """What looks like HTML in a title, in a caption or in the gallery, which quotes captions, is shown as written."""
    everywhere = app.env.docname == "generated/gallery"
    for raw in list(doctree.findall(nodes.raw)):
        if isinstance(raw.parent, (nodes.title, nodes.caption)) or (
            everywhere and isinstance(raw.parent, nodes.paragraph)
        ):
            raw.parent.replace(raw, nodes.Text(raw.astext()))


class Answer(SphinxDirective):
    """A question that checks its answer: ``{answer} words``, and what may be answered, ``5.9: why``, line by line.

    The right answer stands first. Where all are numbers (or ``otherwise``, for all that is not listed) one is typed,
    and may be off by 2 %; else the answers are buttons. ``book/assets/answers.js`` judges.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        known = [[part.strip() for part in line.split(": ", 1)] for line in self.content if line.strip()]
        if not known or any(len(one) != 2 for one in known):
            raise self.error("an answer is a line such as 5.9: why; the right one comes first")
        words, messages = self.parse_inline(self.arguments[0])
        name = f"answer-{self.env.new_serialno('answer')}"
        listed = [answer for answer, _ in known if answer != "otherwise"]
        if all(re.fullmatch(r"[-\d.e/]+", answer) for answer in listed):
            control = f'<input inputmode="decimal" autocomplete="off" aria-labelledby="{name}"><button>Check</button>'
        else:
            control = "".join(f'<button value="{one}">{one}</button>' for one in map(html.escape, sorted(listed)))
        form = (
            f'<form class="dm-check-answer" data-known="{html.escape(json.dumps(known, ensure_ascii=False))}">'
            f'{control}<output aria-live="polite"></output></form>'
        )
        asked = nodes.paragraph("", "", *words, ids=[name])
        return [nodes.container("", asked, nodes.raw("", form, format="html"), *messages, classes=["dm-answer"])]


class Guess(SphinxDirective):
    """A question to guess at, with the page's answer in short, which unfolds once somebody has guessed or asks for it.

    ``{guess} words``, the option ``:answers:`` with the right one first, and what came out. ``answers.js`` judges.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"answers": str}

    def run(self) -> list[nodes.Node]:
        right, *others = [html.escape(one.strip()) for one in self.options.get("answers", "").split(";")]
        if not right or not others or not self.content:
            raise self.error("a guess has :answers:, the right one; another, and below them what came out")
        words, messages = self.parse_inline(self.arguments[0])
        buttons = "".join(f'<button type="button">{one}</button>' for one in sorted((right, *others)))
        found = nodes.container("", classes=["dm-in-short"])
        self.state.nested_parse(self.content, self.content_offset, found)
        form = f'<form class="dm-guess" data-right="{right}">{buttons}<output aria-live="polite"></output></form>'
        form += "<details><summary>The answer in short</summary>"
        fold = [nodes.raw("", form, format="html"), found, nodes.raw("", "</details>", format="html")]
        return [nodes.container("", nodes.paragraph("", "", *words), *fold, *messages, classes=["dm-answer"])]


def fix_aria(app: Any, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Mend what those who hear a page would miss: nameless folds beside it, and roles that do not fit together."""
    contents = context["generate_toctree_html"]

    def named(*args: Any, **how: Any) -> Any:
        soup = contents(*args, **how)
        for summary in soup.select("li > details > summary"):
            summary["aria-label"] = f"Pages of {summary.find_parent('li').a.get_text(strip=True)}"
        return soup

    context["generate_toctree_html"] = named
    if "pagetitle" in context:
        context["pagetitle"] = html.escape(context["pagetitle"])  # the theme prints its words as if they were HTML
    for written, meant in (("<th></th>", "<td></td>"), (' role="doc-biblioentry"', ' role="listitem"')):
        context["body"] = context.get("body", "").replace(written, meant)


def read_together(app: Any, env: Any, pages: list[str]) -> None:
    """Several processes read pages; they find the library imported, if its reference is one of them."""
    for extension in app.extensions.values():
        # What does not say that it bears this copies files, numbers sections once all is read, or is for LaTeX.
        if extension.parallel_read_safe is None:
            extension.parallel_read_safe = True
    if any(page.startswith(f"generated/{REFERENCE}") for page in pages):
        api.library()


def pointed_at(app: Any, env: Any) -> list[str]:
    """All pages, if anything has changed that others may point at, or show: titles, labels, numbers, names, citations.
    Those that were not read again have to be printed again."""
    std, cited = env.get_domain("std").data, env.get_domain("cite").data["citation_refs"]
    shown = [
        {page: title.astext() for page, title in env.titles.items()},
        *(std[kind] for kind in ("labels", "anonlabels", "objects")),
        *(env.get_domain(name).data["objects"] for name in ("math", "py")),
        [(ref.docname, ref.citation_ref_id, ref.targets) for ref in cited],
        *(env.toc_secnumbers, env.toc_fignumbers),
    ]
    before = getattr(env, "deepmech_shown", None)
    env.deepmech_shown = [sorted(map(str, one.items() if isinstance(one, dict) else one)) for one in shown]
    return [] if env.deepmech_shown == before else sorted(env.all_docs)


def plain_search(app: Any) -> None:
    """Sphinx puts our script between its own and the index; it finds the file wherever the build was started."""
    app.config.html_search_scorer = str(Path(app.srcdir, "assets", "search.js"))


def setup(app: Any) -> dict[str, Any]:
    app.parallel = provenance.cores()
    app.add_directive("answer", Answer)
    app.add_directive("guess", Guess)
    app.connect("config-inited", refuse_plain_build, priority=100)  # before the contents are looked for
    app.connect("doctree-read", show_markup, priority=100)  # before Sphinx takes the titles
    app.connect("html-page-context", fix_aria, priority=900)  # after the theme's own
    hooks = {"builder-inited": plain_search, "env-before-read-docs": read_together, "env-updated": api.add_addresses}
    hooks |= {"missing-reference": api.resolve_missing_reference}
    if "sphinx.ext.autodoc" in app.extensions:
        hooks["autodoc-process-docstring"] = api.escape_pipes
    for event, hook in hooks.items():
        app.connect(event, hook)
    app.connect("env-get-updated", pointed_at, priority=900)  # once all numbers are given
    for hook in (bind_signs, fold_setting_up, add_stamp, depend_on_path):
        app.connect("doctree-read", hook)
    for hook in (gallery.put_beside, put_place, put_key):
        app.connect("doctree-resolved", hook)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
