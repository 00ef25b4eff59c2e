"""A result may be reused if nothing it depends on has changed, and only if it is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deepmech.core.files import write_whole
from deepmech_book import RECORD
from deepmech_book.press import execution, keys
from deepmech_book.press.execution import NotebookFailed
from deepmech_book.press.sources import Checkout


def key_of(checkout, name="springs/one", profile="quick"):
    checkout = Checkout(checkout.root)
    return keys.key(checkout.source(name), checkout.profile(profile)[name], keys.surroundings(checkout))


def edit(path, text="\n# changed\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.read_text() + text if path.exists() else text)


SEEN = ("notebooks/springs/one.md", "lib/deepmech/physics.py", "lib/deepmech_book/ledger/claims_a.yml",
        "lib/deepmech_book/press/execution.py", "book/results/sweep.nc", "requirements.lock")  # fmt: skip
UNSEEN = (
    "notebooks/springs/two.md",
    "book/intro.md",
    "lib/deepmech_book/press/site.py",
    "lib/deepmech/__pycache__/x.pyc",
)


@pytest.mark.parametrize("path", [*SEEN, *UNSEEN])
def test_the_key_sees_what_a_page_depends_on_and_nothing_else(checkout, path):
    before = key_of(checkout)
    edit(checkout.root / path)
    assert (key_of(checkout) != before) == (path in SEEN)


def test_the_key_sees_profile_and_parameters(checkout):
    before = key_of(checkout, profile="laptop")
    assert before != key_of(checkout, profile="quick")
    (checkout.root / "notebooks" / "profiles" / "laptop.yml").write_text("springs/one: {points: 42}")
    assert key_of(checkout, profile="laptop") != before


def test_the_key_sees_data(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPMECH_DATA", str(tmp_path / "data"))
    before = key_of(checkout)
    edit(tmp_path / "data" / "mnist" / "train.gz")
    after = key_of(checkout)
    assert after != before
    os.utime(tmp_path / "data" / "mnist" / "train.gz", (1, 1))
    assert key_of(checkout) not in (before, after)


@pytest.fixture
def result(tmp_path):
    cells = [{"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": "2"}}], "metadata": {}}]
    notebook = {"cells": cells, "nbformat": 4, "metadata": {"deepmech": {"key": "k", "date": "2026-01-01"}}}
    path = tmp_path / "result.ipynb"
    keys.figures(path).mkdir()
    (keys.figures(path) / "01.csv").write_text("array,value\ndata,2\n")
    notebook["metadata"]["deepmech"]["figures"] = keys.tree_digest(keys.figures(path))
    notebook["metadata"]["deepmech"]["seal"] = keys.seal(notebook)
    write_whole(path, json.dumps(notebook))
    return path


def test_a_whole_result_is_trusted_under_its_key_only(result):
    assert keys.trusted(result) and keys.trusted(result, "k")
    assert keys.trusted(result, "another key") is None
    assert keys.trusted(result.with_name("absent.ipynb")) is None


def test_no_part_of_a_result_is_trusted(result):
    text = result.read_text()
    for length in range(0, len(text), 7):
        result.write_text(text[:length])
        assert keys.trusted(result) is None


@pytest.mark.parametrize(
    ("old", "new"), [('"2"', '"3"'), ("1 + 1", "1 + 2"), ('"k"', '"another"'), ("2026", "2027"), ('t": 4', 't": 3')]
)
def test_a_result_changed_by_hand_is_not_trusted(result, old, new):
    """Outputs, source, key, what it says of its making, version."""
    assert old in result.read_text()
    result.write_text(result.read_text().replace(old, new))
    assert keys.trusted(result) is None and keys.trusted(result, "another") is None


def test_what_is_no_notebook_or_has_other_figures_is_not_trusted(result):
    whole = result.read_text()
    for text in ("[]", "null", '{"metadata": []}', '{"metadata": {"deepmech": []}}', "[" * 10**5):
        result.write_text(text)
        assert keys.trusted(result) is None
    result.write_text(whole)
    (keys.figures(result) / "01.csv").write_text("array,value\ndata,3\n")
    assert keys.trusted(result) is None
    (keys.figures(result) / "01.csv").unlink()
    assert keys.trusted(result) is None


def test_killed_while_writing(tmp_path):
    """Whenever the writer is killed, the file is one of the texts it wrote, from first letter to last."""
    path = tmp_path / "result.txt"
    code = (
        "import sys; from pathlib import Path; from deepmech.core.files import write_whole\n"
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
        return execution.check(made, HERE)
    with pytest.raises(NotebookFailed, match=complaint):
        execution.check(made, HERE)


def test_records_of_a_notebook():
    made = notebook(
        shown(**{RECORD: {"figure": "A.3"}}),
        shown(text_plain="3"),
        shown(**{RECORD: [{"claim": 1}]}),
    )
    made["metadata"]["deepmech"] = {"parameters": {"profile": "quick"}, "seconds": 2.5}
    page = {"page": "springs/one", "profile": "quick", "seconds": 2.5}
    assert keys.records("springs/one", made) == [{**page, "figure": "A.3"}, {**page, "claim": 1}]


def test_a_picture_of_few_colours_has_a_palette_and_one_of_many_stays(tmp_path):
    flat = np.full((200, 200, 3), 255, np.uint8)
    flat[50:100, 20:180] = (42, 111, 151)
    flat[99, 20:180] = (148, 183, 203)  # between two colours, as at every edge
    for name, pixels in (("flat", flat), ("noise", np.random.default_rng(0).integers(0, 256, flat.shape, np.uint8))):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png", dpi=(200, 200))
        before = (tmp_path / f"{name}.png").read_bytes()
        execution.with_palette(tmp_path / f"{name}.png")
        with Image.open(tmp_path / f"{name}.png") as image:
            assert (image.mode == "P") == (name == "flat")
            np.testing.assert_array_equal(np.asarray(image.convert("RGB")), pixels)
            assert image.info["dpi"] == pytest.approx((200, 200), abs=0.1)
        assert (tmp_path / f"{name}.png").read_bytes() == before or name == "flat"
