"""A result may be reused if nothing it depends on has changed, and only if it is whole."""

import html
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepmech.sweeps.store import write_whole
from deepmech_book import RECORD
from deepmech_book.build import execution, keys
from deepmech_book.build.execution import NotebookFailed
from deepmech_book.build.sources import Checkout


def made_of(checkout, name="springs/one", profile="quick"):
    checkout = Checkout(checkout.root)
    return keys.parts(checkout.source(name), checkout.profile(profile)[name], keys.surroundings(checkout))


def differ(one, other):
    return [name for name in one if one[name] != other[name]]


def edit(path, text="\n# changed\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.read_text() + text if path.exists() else text)


SEEN = {"notebooks/springs/one.md": "notebook", "lib/deepmech/physics.py": "library",
        "lib/deepmech_book/claims/claims_c.yml": "library", "lib/deepmech_book/build/execution.py": "library",
        "requirements.lock": "lock file"}  # fmt: skip
UNSEEN = ("notebooks/springs/two.md", "book/intro.md", "lib/deepmech_book/build/site.py",
          "lib/deepmech/__pycache__/x.pyc", "book/results/sweep.nc")  # fmt: skip


@pytest.mark.parametrize("path", [*SEEN, *UNSEEN])
def test_what_a_page_depends_on_is_seen_by_name_and_nothing_else(checkout, path):
    before = made_of(checkout)
    edit(checkout.root / path)
    assert differ(before, made_of(checkout)) == ([SEEN[path]] if path in SEEN else [])


def test_profile_and_parameters_are_seen(checkout):
    before = made_of(checkout, profile="laptop")
    assert differ(before, made_of(checkout, profile="quick")) == ["parameters"]
    (checkout.root / "notebooks" / "profiles" / "laptop.yml").write_text("springs/one: {points: 42}")
    assert differ(before, made_of(checkout, profile="laptop")) == ["parameters"]


def test_of_the_shipped_results_those_that_a_page_drew_are_seen(checkout):
    """Also where what it drew does not ship yet: a file of its name may be the answer."""
    folder = checkout.book / "results"
    folder.mkdir()
    drawn = {"metadata": {"deepmech": {"parts": {"results": keys.results(checkout, ["powers", "sums"])}}}}
    for name, seen in (("other", False), ("powers-of-two", False), ("powers", True)):
        edit(folder / f"{name}-0123456789abcdef.nc")
        assert keys.changed(checkout, drawn, {}) == (["results"] if seen else [])
    drawn = {"metadata": {"deepmech": {"parts": {"results": keys.results(checkout, ["powers", "sums"])}}}}
    assert keys.changed(checkout, drawn, {}) == []
    edit(folder / "powers-0123456789abcdef.nc")
    assert keys.changed(checkout, drawn, {}) == ["results"]


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "result.ipynb"
    keys.figures(path).mkdir()
    (keys.figures(path) / "01.csv").write_text("array,value\ndata,2\n")
    made = {"parts": {"results": {}}, "date": "2026-01-01", "figures": keys.tree_digest(keys.figures(path))}
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "0.5 ± 0.1 µm"}]
    write_whole(path, keys.sealed({"cells": cells, "nbformat": 4, "metadata": {"deepmech": made}}))
    return path


def test_what_is_no_whole_notebook_or_lacks_figures_is_not_used(result):
    whole = result.read_text()
    assert keys.executed(result) and keys.executed(result.with_name("absent.ipynb")) is None
    texts = [whole[:length] for length in range(0, len(whole), 7)]
    for text in (*texts, "[]", "null", '{"metadata": []}', '{"metadata": {"deepmech": []}}', "[" * 10**5):
        result.write_text(text)
        assert keys.executed(result) is None
    result.write_text(whole)
    (keys.figures(result) / "01.csv").unlink()
    assert keys.executed(result) is None


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_page_of_which_one_letter_was_changed_is_not_used(result, data):
    """A number in it, or in what is taken away with it: what is shown is what was computed."""
    for path in (result, keys.figures(result) / "01.csv"):
        whole = path.read_text()
        at = data.draw(st.integers(0, len(whole) - 1))
        letter = data.draw(st.sampled_from([c for c in '0123456789 abcdef,{}"' if c != whole[at]]))
        path.write_text(whole[:at] + letter + whole[at + 1 :])
        assert keys.executed(result) is None
        path.write_text(whole)
        assert keys.executed(result)


def test_killed_while_writing(tmp_path):
    """Whenever the writer is killed, the file is one of the texts it wrote, from first letter to last."""
    path = tmp_path / "result.txt"
    code = (
        "import sys; from pathlib import Path; from deepmech.sweeps.store import write_whole\n"
        "for i in range(10**6): write_whole(Path(sys.argv[1]), str(i % 10) * 300_000)"
    )
    pause = random.Random(0)
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", code, str(path)])
        while not path.exists():
            time.sleep(0.01)
        time.sleep(pause.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        text = path.read_text()
        assert len(text) == 300_000 and len(set(text)) == 1
        path.unlink()


def notebook(*outputs, metadata=None):
    cell = {"cell_type": "code", "source": "cell()", "outputs": list(outputs), "metadata": metadata or {}}
    return {"cells": [cell], "metadata": {}}


def shown(**data):
    return {"output_type": "display_data", "data": {k.replace("_", "/"): v for k, v in data.items()}, "metadata": {}}


HERE = Path("/where/it/worked")
MACHINE = execution.places(HERE)
FIGURE = {"mystnb": {"figure": {"name": "fig-x", "caption": "x"}}}
ERROR = {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["\x1b[31mE: burst\x1b[0m"]}


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        (notebook(shown(text_html="<img>", text_plain="A line."), metadata=FIGURE), None),
        (notebook({"output_type": "stream", "name": "stdout", "text": "3"}, shown(text_plain="3")), None),
        (notebook(ERROR), r"code cell 1 of 1:\n    cell\(\)\n\nits output is an error\nE: burst"),
        (notebook(ERROR, metadata={"tags": ["raises-exception"]}), "its output is an error"),
        (notebook(shown(text_plain="<Figure>"), metadata=FIGURE), "the cell shows no picture"),
        (notebook(shown(image_png="…", text_plain=" "), metadata=FIGURE), "no text that stands for it"),
        (notebook({"output_type": "display_data", "data": {execution.WIDGET: {}}}), "dead on a page"),
        (notebook(shown(text_plain=f"{HERE}/lib/x.py")), "a path of this machine"),
    ],
)
def test_unfit_outputs(made, complaint):
    if complaint is None:
        return execution.check(made, MACHINE)
    with pytest.raises(NotebookFailed, match=complaint):
        execution.check(made, MACHINE)


def test_records_of_a_notebook():
    made = notebook(
        shown(**{RECORD: {"figure": "A.3"}}),
        shown(text_plain="3"),
        shown(**{RECORD: [{"claim": 1}]}),
    )
    made["metadata"]["deepmech"] = {"parameters": {"profile": "quick"}, "seconds": 2.5}
    page = {"page": "springs/one", "profile": "quick", "seconds": 2.5}
    assert keys.records("springs/one", made) == [{**page, "figure": "A.3"}, {**page, "claim": 1}]


HOME, TEMPORARY = Path.home(), Path(tempfile.gettempdir())


@pytest.mark.parametrize(
    "place", [HERE, HERE / "lib" / "x.py", HOME, HOME / "thesis", TEMPORARY / "abc", Path(sys.prefix) / "lib"]
)
@pytest.mark.parametrize(
    "form", ["{}", "{}\n", "at '{}':", "({})", "file://{}", "<b>{}</b>", "x={}", "[{}]", '"{}", line 3']
)
def test_a_path_of_this_machine_is_found_however_it_is_printed(place, form):
    text = form.format(place)
    stream = {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}
    for output in (stream, shown(text_html=html.escape(text)), shown(text_plain=[text]), shown(x_json={"a": [text]})):
        with pytest.raises(NotebookFailed, match="a path of this machine"):
            execution.check(notebook(output), MACHINE)


def test_what_only_looks_like_a_path_of_this_machine_is_shown():
    words = f"book{HERE} https://a.org{HOME} </root> {HERE}y 1/2 /tmp data:image/png;base64,AA{HERE} ~{HOME}"
    execution.check(notebook(shown(text_html=words), shown(image_png=f"AA{HOME}/x")), MACHINE)


def test_a_line_without_end_is_shortened_and_says_so():
    text = "a" * 200_000 + "\n" + "b\n" * 10
    said = execution.readable(text)
    assert "200001 characters" in said and len(said) < 6000 and said.endswith("b\n" * 10)
    assert len(execution.readable("b\n" * 10**6)) < 210_000
    assert execution.readable("short\n") == execution.readable(["sho", "rt\n"]) == "short\n"
