"""How the book is executed: what is executed, what is reused, what a failure or a kill leaves behind."""

import asyncio
import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest
from miniature import notebook_text, write_notebooks

from deepmech_book.build import execution, kernels, keys, notebooks
from deepmech_book.build.sources import BookError, Checkout

pytestmark = pytest.mark.usefixtures("light")


@pytest.fixture
def light(monkeypatch):
    """These pages import next to nothing; neither has the process to do that their kernels are forked from."""
    monkeypatch.setattr(kernels, "__name__", "few_shared")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))


def run(checkout, *arguments, **options):
    """Execute, with the messages of it: (page_runs by name, lines)."""
    lines: list[str] = []
    page_runs = notebooks.execute_notebooks(Checkout(checkout.root), *arguments, say=lines.append, **options)
    return {s.name: s for s in page_runs}, lines


def outputs(page_run):
    return "".join("".join(o.get("text", "")) for c in page_run.notebook["cells"] for o in c.get("outputs", []))


SAY = "import os, sys\nprint('n =', n, 'profile =', profile)"


def test_executes_once_then_reuses_until_something_changes(checkout):
    write_notebooks(checkout, a=notebook_text(SAY), b=notebook_text(SAY))
    (checkout.root / "notebooks" / "profiles" / "laptop.yml").write_text("springs/a: {n: 7}")
    page_runs, lines = run(checkout)
    assert all(s.fresh for s in page_runs.values()) and "2 to execute" in lines[0]
    assert outputs(page_runs["springs/a"]) == "n = 3 profile = quick\n"

    page_runs, lines = run(checkout)
    assert not any(s.fresh for s in page_runs.values()) and len(lines) == 1

    page_runs, _ = run(checkout, "laptop", ["springs/a"])
    assert outputs(page_runs["springs/a"]) == "n = 7 profile = laptop\n" and page_runs["springs/b"].notebook is None
    assert not any(s.fresh for s in run(checkout)[0].values()), "another profile must not overwrite the first"

    path = checkout.executed("quick", "springs/a")
    path.write_text(path.read_text().replace("n = 3", "n = 4"))
    page_runs, lines = run(checkout)
    assert page_runs["springs/a"].fresh and not page_runs["springs/b"].fresh, "what somebody edited is not shown"
    assert lines[1] == "changed since 1 of them were executed: its executed form, or a figure"

    (checkout.root / "lib" / "deepmech" / "physics.py").write_text("G = 9.82\n")
    page_runs, lines = run(checkout, "quick", ["springs/b"])
    assert page_runs["springs/b"].fresh and page_runs["springs/a"].notebook is None, "a stale page must not be bound"
    assert "in all last time" in lines[0], "an estimate from the earlier run"


COUNTED = """\
import time
from deepmech import over
from deepmech.sweeps import Sweep, run
powers = Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": n})
print(run(powers, chunk=1)["power"].values)
time.sleep(2)"""


def test_cells_and_sweeps_are_counted_while_they_run_and_the_page_is_as_without(checkout, monkeypatch):
    write_notebooks(checkout, a=notebook_text(COUNTED, "n"))
    page_run, target = notebooks.page_runs(checkout, "quick")[0], checkout.root / "alone.ipynb"
    assert execution.execute(checkout, page_run, target, {}) == ""
    monkeypatch.setattr(notebooks, "OFTEN", 0)
    page_runs, lines = run(checkout)
    counted = r"\d\.\d s: springs/a, code cell 2 of 3, powers: 2 of 2 cells, 00:00 left"
    assert any(re.fullmatch(counted, line) for line in lines), lines
    with_progress, alone = page_runs["springs/a"].notebook["cells"], keys.executed(target)["cells"]
    assert [(c["source"], c.get("outputs")) for c in with_progress] == [(c["source"], c.get("outputs")) for c in alone]


def test_what_an_executed_notebook_holds(checkout, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    monkeypatch.delenv("DEEPMECH_CORES", raising=False)
    code = "import os, sys\nprint(os.environ['OMP_NUM_THREADS'])\nprint('aside', file=sys.stderr)"
    write_notebooks(checkout, a=notebook_text(code, parameters='profile = "quick"\nn = 3  # springs\nm = 4'))
    (checkout.root / "notebooks" / "profiles" / "paper.yml").write_text("springs/a: {n: 7}")
    page_runs, lines = run(checkout, "paper")
    notebook = page_runs["springs/a"].notebook
    cells = [c["source"] for c in notebook["cells"] if "parameters" in "".join(c["metadata"].get("tags", []))]
    own, given = 'profile = "quick"\nn = 3  # springs\nm = 4', '# Parameters\nprofile = "paper"\nn = 7\n'
    assert ["".join(c) for c in cells] == [own, given], "below its own values those that the profile changes"
    made = notebook["metadata"]["deepmech"]
    assert made["parameters"] == {"profile": "paper", "n": 7, "m": 4}
    assert made["seconds"] > 0 and "numpy" in made["versions"] and "cores" in made["machine"]
    assert outputs(page_runs["springs/a"]) == f"{len(os.sched_getaffinity(0))}\n", "a lone notebook has all cores"
    assert any("aside" in line for line in lines), "standard error goes to the terminal, not to the page"
    assert str(checkout.root) not in json.dumps(notebook)


SPOILS = """\
import math, os, random, sys
import matplotlib, numpy as np, xarray as xr
import deepmech
os.environ["MINE"] = "1"; os.chdir("notebooks"); sys.path.append("mine"); sys.modules["mine"] = sys
random.seed(1); np.random.seed(1)
matplotlib.rcParams["lines.linewidth"] = 17; xr.set_options(display_width=44); np.set_printoptions(precision=2)
math.pi = deepmech.mine = 3"""
LOOKS = """\
import math, os, random, sys
import matplotlib, numpy as np, xarray as xr
import deepmech
print("MINE" in os.environ, os.getcwd().endswith("notebooks"), "mine" in sys.path, "mine" in sys.modules)
print(matplotlib.rcParams["lines.linewidth"] == 17, xr.get_options()["display_width"] == 44)
print(np.get_printoptions()["precision"] == 2, math.pi == 3, hasattr(deepmech, "mine"))
print(random.random(), np.random.rand(), os.getsid(0))"""


def test_no_page_sees_what_another_did(checkout, monkeypatch):
    """Its modules, its environment, its settings, its random state and its processes: also where kernels are forks."""
    monkeypatch.undo()  # forks of a process that has imported what pages share
    write_notebooks(checkout, **{name: notebook_text(SPOILS if name == "a" else LOOKS) for name in "abc"})
    found = [outputs(page_run).split() for name, page_run in run(checkout, jobs=1)[0].items() if name != "springs/a"]
    assert [words[:-3] for words in found] == 2 * [9 * ["False"]]
    assert not set(found[0][-3:]) & set(found[1][-3:]), "random states and sessions of their own"


def test_what_pages_share_is_there():
    """A module that moved would be imported by every page again, and nothing would say so."""
    assert [name for name in kernels.SHARED if importlib.util.find_spec(name) is None] == []


def test_a_kernel_that_ends_before_it_is_told_to_is_not_missed():
    process = subprocess.Popen([sys.executable, "-c", ""])
    forked = kernels.Forked(None)
    forked.process, forked.pgid = kernels.Kernel(process.pid), process.pid
    process.wait()
    # In a thread of its own: a browser of the tests before may have left a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, forked.send_signal(signal.SIGTERM)).result()


def test_a_failure_is_told_and_spoils_nothing_else(checkout):
    bad = notebook_text("x = 1", "def f():\n    return x / 0\nf()")
    tag = notebook_text("x = 1", ":tags: [raises-exception]\n\nx / 0")
    blank = notebook_text("---\nmystnb:\n  figure:\n    name: fig-x\n    caption: Nothing.\n---\nNone")
    write_notebooks(checkout, bad=bad, good=notebook_text(SAY), tag=tag, blank=blank)
    with pytest.raises(BookError) as told:
        run(checkout)
    message = str(told.value)
    assert "3 of 4 notebooks failed" in message
    assert "notebook springs/bad, code cell 3 of 3:\n    def f():" in message
    assert "ZeroDivisionError: division by zero" in message and "\x1b" not in message
    assert "notebook springs/tag, code cell 3 of 3" in message, "an error that was allowed is still an error page"
    assert "the cell shows no picture" in message
    assert keys.executed(checkout.executed("quick", "springs/good"))
    assert not any(checkout.executed("quick", f"springs/{name}").exists() for name in ("bad", "tag", "blank"))


def test_what_never_ends_is_stopped_and_told(checkout):
    endless = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    write_notebooks(checkout, endless=notebook_text(endless))
    with pytest.raises(BookError) as told:
        run(checkout, cell_minutes=0.05)
    why = r"it was stopped after 3\.0 s \(deepmech's option --cell-minutes"
    assert re.search(rf"notebook springs/endless, code cell 2 of 2:\n(    .*\n)+\n{why}", str(told.value))


def test_a_kernel_that_dies_and_an_error_without_end_are_told(checkout):
    texts = {"dead": "import os\nos._exit(3)", "wordy": "raise ValueError('x' * 10**6)"}
    write_notebooks(checkout, **{name: notebook_text(code) for name, code in texts.items()})
    with pytest.raises(BookError) as told:
        run(checkout)
    assert re.search(r"notebook springs/dead, code cell 2 of 2:\n(    .*\n)+\n.*its kernel died", str(told.value))
    assert re.search(r"ValueError: x+ … \d{7} characters … x+", str(told.value)) and len(str(told.value)) < 40_000


def test_a_result_that_cannot_be_kept_is_told(checkout, monkeypatch):
    """The disk is full; a folder is in the way; a link to nothing stands where pictures belong."""
    write_notebooks(checkout, **{name: notebook_text(SAY) for name in "abc"})
    checkout.executed("quick", "springs/b").mkdir(parents=True)
    keys.figures(checkout.executed("quick", "springs/c")).symlink_to("nothing")
    write = execution.write_whole

    def full(path, text):
        if path.stem == "a":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(execution, "write_whole", full)
    with pytest.raises(BookError, match="3 of 3 notebooks failed") as told:
        run(checkout)
    for name in "abc":
        assert f"notebook springs/{name}, its result cannot be kept: " in str(told.value)


def test_a_change_while_it_runs_is_not_trusted_next_time(checkout):
    spoil = "from pathlib import Path\nPath('lib/deepmech/physics.py').write_text('G = 10')\n"
    spoil += "b = Path('notebooks/springs/b.md')\nb.write_text(b.read_text() + 'More.')"
    write_notebooks(checkout, a=notebook_text(spoil), b=notebook_text(SAY))
    page_runs, lines = run(checkout, jobs=1)
    assert outputs(page_runs["springs/b"]) == "n = 3 profile = quick\n", "as it was when the build began"
    assert sum("changed while it ran" in line for line in lines) == 2
    assert all(page_run.fresh for page_run in run(checkout)[0].values())


def start(checkout):
    command = [sys.executable, "-m", "deepmech.cli", "book", "--no-site"]
    # A shell that runs the tests in the background has them ignore SIGINT, and so would the build.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=checkout.root, stderr=subprocess.PIPE, text=True, preexec_fn=listen)


def gone(processes, patience=15.0):
    """Whether all processes end by themselves within ``patience`` seconds."""
    _, alive = psutil.wait_procs(processes, timeout=patience)
    return not alive


def descendants(process):
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.slow
def test_killed_at_random_points(checkout):
    """Nothing half-made is trusted, nothing keeps running, and the next run completes the work."""
    write_notebooks(checkout, **{name: notebook_text("import time\ntime.sleep(0.3)", SAY) for name in "abc"})
    pause = random.Random(1)
    for _ in range(3):
        process = start(checkout)
        time.sleep(pause.uniform(0.3, 5.0))
        family = descendants(process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert gone(family), "a process outlives the build"
        for path in checkout.generated.rglob("*.ipynb"):
            assert keys.executed(path), f"{path.name} is there but not whole"
    before = {s.name for s in notebooks.page_runs(Checkout(checkout.root), "quick") if s.notebook}
    page_runs, _ = run(checkout)
    assert all(s.notebook for s in page_runs.values())
    assert {name for name, s in page_runs.items() if not s.fresh} == before, "what was finished is not done again"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_a_long_notebook_ends_with_the_build(checkout, ending):
    write_notebooks(checkout, a=notebook_text("import time\ntime.sleep(600)"))
    process = start(checkout)
    deadline = time.monotonic() + 120
    while not descendants(process) and time.monotonic() < deadline:
        time.sleep(0.1)
    family = descendants(process)
    assert family, "the notebook's kernel"
    process.send_signal(ending)
    _, told = process.communicate(timeout=15)
    if ending == signal.SIGINT:
        assert process.returncode == 130 and told.endswith("stopped; finished results are kept\n")
    assert gone(family)


ORPHAN = """\
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid)"""


def test_what_a_cell_started_ends_with_its_page(checkout, monkeypatch):
    """In a session of its own too, which no signal to a group of processes reaches."""
    monkeypatch.setenv("DEEPMECH_TEST", str(checkout.root))
    write_notebooks(checkout, a=notebook_text(ORPHAN), b=notebook_text(ORPHAN + "\nraise ValueError"))
    with pytest.raises(BookError, match="1 of 2 notebooks failed"):
        run(checkout)
    (a,) = [s for s in notebooks.page_runs(Checkout(checkout.root), "quick") if s.notebook]
    assert not psutil.pid_exists(int(outputs(a))) or psutil.Process(int(outputs(a))).status() == psutil.STATUS_ZOMBIE
    family = [p for p in psutil.process_iter() if environment_of(p).get("DEEPMECH_TEST") == str(checkout.root)]
    assert not family


def environment_of(process):
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def test_an_output_that_cannot_be_sent_is_told(checkout):
    write_notebooks(checkout, a=notebook_text(r"print('before', '\ud800')"))
    with pytest.raises(BookError, match="an output was lost"):
        run(checkout)


def test_two_builds_do_not_work_in_one_checkout(checkout):
    from deepmech_book.build.site import build_lock

    with build_lock(checkout), pytest.raises(BookError, match="another build is at work"), build_lock(checkout):
        pass
    with build_lock(checkout):
        pass
