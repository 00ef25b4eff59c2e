"""Outputs that must not be printed, and what an executed notebook carries."""

from pathlib import Path

import pytest

from deepmech_book.press import execution
from deepmech_book.press.execution import NotebookFailed


def notebook(*outputs, metadata=None):
    cell = {"cell_type": "code", "source": "cell()", "outputs": list(outputs), "metadata": metadata or {}}
    return {"cells": [cell], "metadata": {}}


def shown(**data):
    return {"output_type": "display_data", "data": {k.replace("_", "/"): v for k, v in data.items()}, "metadata": {}}


HERE = Path("/where/it/worked")
FIGURE = {"mystnb": {"figure": {"name": "fig-x", "caption": "x"}}}
ERROR = {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["\x1b[31mE: burst\x1b[0m"]}


def test_a_sound_notebook_passes():
    execution.check(notebook(shown(text_html="<img>", text_plain="A line."), metadata=FIGURE), HERE)
    execution.check(notebook({"output_type": "stream", "name": "stdout", "text": "3"}, shown(text_plain="3")), HERE)


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (notebook(ERROR), r"code cell 1 of 1:\n    cell\(\)\n\nits output is an error\nE: burst"),
        (notebook(ERROR, metadata={"tags": ["raises-exception"]}), "its output is an error"),
        (notebook(metadata=FIGURE), "the cell shows no picture"),
        (notebook(shown(text_plain="<Figure>"), metadata=FIGURE), "the cell shows no picture"),
        (notebook(shown(image_png="…"), metadata=FIGURE), "no text that stands for it"),
        (notebook(shown(image_png="…", text_plain=" "), metadata=FIGURE), "no text that stands for it"),
        (notebook({"output_type": "display_data", "data": {execution.WIDGET: {}}}), "dead on a page"),
    ],
)
def test_unfit_outputs(faulty, complaint):
    with pytest.raises(NotebookFailed, match=complaint):
        execution.check(faulty, HERE)


def test_a_path_of_this_machine_is_unfit():
    with pytest.raises(NotebookFailed, match="a path of this machine"):
        execution.check(notebook(shown(text_plain=f"{HERE}/lib/x.py")), HERE)


def test_records_of_a_notebook():
    made = notebook(
        shown(**{execution.RECORD: {"figure": "A.3"}}),
        shown(text_plain="3"),
        shown(**{execution.RECORD: [{"claim": 1}]}),
    )
    made["metadata"]["deepmech"] = {"parameters": {"profile": "quick"}, "seconds": 2.5}
    page = {"page": "springs/one", "profile": "quick", "seconds": 2.5}
    assert execution.records("springs/one", made) == [{**page, "figure": "A.3"}, {**page, "claim": 1}]
