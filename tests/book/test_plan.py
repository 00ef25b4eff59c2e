"""``deepmech plan``: what pages ask for is found without computing it, and what it costs is said."""

import ast
import csv
import json

import pytest
from miniature import ROOT, notebook_text, write_notebooks

from deepmech import cli, over
from deepmech.sweeps import Sweep, run, ship
from deepmech.sweeps.results import folder
from deepmech_book.press import asked, costs, plan
from deepmech_book.press.sources import PROFILES, BookError, House

REAL = House(ROOT)
IMPORTS = """\
from pathlib import Path
from deepmech import over
from deepmech.sweeps import Sweep, result
from deepmech.sweeps.results import sweep_of

def powers(bases, highest=2, name="powers"):
    return Sweep(name, "deepmech.sweeps.example:powers", {"base": over("base", bases)}, {"highest": highest})
"""
PAGE = (
    IMPORTS
    + """
Path("ran").write_text("a figure, a claim or a live computation")
first = result(powers([1.0, 2.0]))
made = {n: result(powers([float(i) for i in range(n)], name="more")) for n in counts}
again = result(powers(list(sweep_of(first).cells["base"].values) + [3.0], name="after"))"""
)
OWN = 'profile = "quick"\ncounts = [2, 3]'
SAME = f"{IMPORTS}\nresult(powers([1.0, 2.0]))"
LOST = f"{IMPORTS}\nmade = result(powers([1.0]))['no such variable'] + result(powers([2.0]))"


@pytest.fixture
def own(house, monkeypatch):
    sweep = Sweep("powers", "deepmech.sweeps.example:powers", {"base": over("base", [1.0, 2.0])}, {"highest": 2})
    ship(run(sweep), house.book / "results")
    monkeypatch.setenv("DEEPMECH_RESULTS", str(house.book / "results"))
    monkeypatch.chdir(house.root)
    asked.shipped.cache_clear()
    yield write_notebooks(house, a=notebook_text(PAGE, parameters=OWN), b=notebook_text(SAME))
    asked.shipped.cache_clear()


def test_sweeps_are_found_and_nothing_is_computed(own):
    found = asked.asked(own.source("springs/a"), {"counts": [2, 3, 4]})
    assert [(s.name, s.n_cells) for s in found.sweeps] == [
        ("powers", 2),
        *(("more", n) for n in (2, 3, 4)),
        ("after", 3),
    ]
    assert found.shipped == {found.sweeps[0].key} and found.unsure == [] and found.live == []
    assert not (own.root / "ran").exists()


def test_what_may_be_more_is_said(own):
    house = write_notebooks(own, a=notebook_text(LOST))
    (words,) = asked.asked(house.source("springs/a"), {}).unsure
    assert "stopped after 1 sweeps" in words and "no such variable" in words


def test_rows_and_total(own, capsys):
    made = plan.plan(own, "quick", calibrate=0.0)
    assert [(r.page, r.sweep, r.cells, r.here, r.shared) for r in made.rows] == [
        ("springs/a", "powers", 2, 2, ""),
        ("springs/a", "more", 2, 0, ""),
        ("springs/a", "more", 3, 0, ""),
        ("springs/a", "after", 3, 0, ""),
        ("springs/b", "powers", 2, 2, "springs/a"),
    ]
    # Nobody counts the operations of this function, but a result of it ships: time goes by cells.
    left = [r for r in made.rows if r.left]
    assert all(r.tflop is None and r.seconds > 0 and r.basis == "by cells, from powers" for r in left)
    assert made.total().startswith("profile quick: 2 pages ask for 4 sweeps of 10 cells; 8 cells of 3 sweeps are left")
    assert cli.main(["plan", "--no-calibrate", "--chapters", "springs/b"]) == 0
    assert "all are here" in capsys.readouterr().out


def test_the_total_is_kept_for_the_book_and_knows_its_age(own):
    assert "deepmech plan --profile quick says" in plan.total_line(own, "quick")
    total = plan.plan(own, "quick", calibrate=0.0).total()
    assert plan.total_line(own, "quick") == total
    (own.root / "notebooks" / "springs" / "a.md").write_text(notebook_text(SAME))
    assert plan.total_line(own, "quick") == f"{total} (planned before pages, profile or results changed)"


def test_cells_that_an_interrupted_computation_kept_are_here(own):
    sweep = asked.asked(own.source("springs/a"), {"counts": [3]}).sweeps[1]
    store = own.generated / ".stores" / f"{sweep.name}-{sweep.key}-{sweep.code}"
    run(sweep, store, chunk=1)
    sorted(store.glob("cells-*"))[0].unlink()
    assert plan.kept(own, sweep) == 2


def test_devices_and_measured_rates(own, tmp_path, capsys):
    assert cli.main(["plan", "--on", "abacus"]) == 1
    assert "--on abacus: must be one of t4, v100" in capsys.readouterr().err
    work, other = (costs.Work(engine, 6e12, 1.0, "a shape") for engine in ("mlp", "cnn"))
    sheet = plan.data_sheet("t4")
    assert sheet.rate(None, work).value == 8.1e12 and sheet.rate(None, None) is None and "t4" in sheet.where
    (tmp_path / "rates.json").write_text(json.dumps({"device": "abacus", "flop_per_second": {"mlp": 2e12}}))
    clock = plan.given(tmp_path / "rates.json")
    assert clock.rate(None, work).value == 2e12 and clock.rate(None, other) is None and clock.where == "abacus"
    with pytest.raises(BookError, match=r"is not what benchmarks/gpu\.py writes"):
        plan.plan(own, "quick", rates=tmp_path / "none.json")


def test_operations_are_counted():
    """By hand: six for each weight and sample of a step, ten more for each weight and step of Adam."""
    from deepmech_book.experiments.glass import protocol
    from deepmech_book.experiments.spring_block import networks

    weights = 64 * 100 + 6 * 100**2 + 10 * 100
    sweep = networks.figure_1("batch_size", "digits", [1000, 10], [0.0], 3)
    assert costs.work(sweep).flop == 3 * 100 * weights * (2 * 6 * 1000 + 10 * (1 + 100))
    how = protocol.preparations(1.0, [50, 50, 50], [0.02] * 3, 5)
    walk = protocol.sweeps("digits", 100, [3] * 3, [[0.1, 0.0]] * 3, [4] * 3, [60] * 3, [[20]] * 3, how)["regularised"]
    n = 10 * 3 + 5 * 9 + 3
    assert costs.work(walk).flop == 6 * n * (8 * 60 * 100 + 4 * (50 * 100 + 5 * 100))


def test_a_rate_is_measured_once_and_kept(tmp_path):
    from deepmech_book.experiments.spring_block import networks

    sweep = networks.figure_1("dropout", {"name": "digits", "n_train": 100}, [0.0], [0.0], 2, training={"epochs": 50})
    first = costs.Calibration(tmp_path / "rates.json", 20.0).rate(sweep)
    assert first.value > 0 and first.basis.startswith("measured here")
    assert costs.Calibration(tmp_path / "rates.json", 0.0).rate(sweep) == first
    assert costs.Calibration(tmp_path / "other.json", 0.0).rate(sweep) is None


def test_profiles_extend_one_another(house):
    profiles = house.root / "notebooks" / "profiles"
    (profiles / "laptop.yml").write_text("springs/one: {points: 41, stiffness: 2.0}\n")
    (profiles / "paper.yml").write_text("extends: laptop\nsprings/one: {points: 50}\n")
    assert house.profile("paper")["springs/one"] == {"profile": "paper", "points": 50, "stiffness": 2.0}
    (profiles / "paper.yml").write_text("extends: paper\n")
    with pytest.raises(BookError, match=r"extends: 'paper': must be one of quick, laptop"):
        house.profile("paper")


# --- the book itself --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages():
    """What every page asks for at every profile."""
    parameters = {profile: REAL.profile(profile) for profile in PROFILES}
    return {(p, n): asked.asked(REAL.source(n), parameters[p][n]) for p in PROFILES for n in REAL.names}


@pytest.mark.slow
def test_every_page_builds_its_sweeps_at_every_profile(pages):
    assert {where: found.unsure for where, found in pages.items() if found.unsure} == {}


@pytest.mark.slow
def test_the_quick_profile_asks_for_all_that_ships(pages):
    """The parameters that pages name have the values that results were made with: by their keys. What a sweep is made
    from counts, too: its key stands for the sweep's data."""
    asked_for = [s for (profile, _), found in pages.items() if profile == "quick" for s in found.sweeps]
    keys = {s.key for s in asked_for} | {s.data for s in asked_for}
    ships = {path.stem.rpartition("-")[2] for path in folder().glob("*.nc")}
    assert ships - keys == set()


@pytest.mark.slow
def test_the_table_of_paper_size_is_of_today(pages):
    """Cells are those that pages ask for; operations and times are compared for two pages that share no sweep."""
    with (ROOT / "book" / "paper_size.csv").open(encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    seen, missing, asked_for = set(), {}, {}
    for name in REAL.names:
        found = pages["paper", name]
        others = " and ".join(dict.fromkeys(missing[s.key] for s in found.sweeps if s.key in missing))
        own = [s for s in found.sweeps if s.key not in seen]
        seen |= {s.key for s in own}
        absent = [s for s in own if s.key not in found.shipped]
        missing |= {s.key: name for s in absent}
        if absent or others:
            counts = [str(sum(s.n_cells for s in sweeps)) for sweeps in (own, absent)]
            asked_for[name] = (*counts, others)
    assert {row["page"]: (row["cells"], row["left"], row["and those of"]) for row in kept[:-1]} == asked_for
    two = ["spring_block/other_widths", "spring_block/convolutional"]
    made = plan.plan(REAL, "paper", two, device="h100").csv().splitlines()[1:-1]
    assert made == [",".join(row.values()) for row in kept if row["page"] in two]


def test_every_parameter_is_used_by_its_page():
    for name in REAL.names:
        source = REAL.source(name)
        cells = [
            c for c in source.notebook.cells if c.cell_type == "code" and "parameters" not in c.metadata.get("tags", [])
        ]
        used = {n.id for c in cells for n in ast.walk(ast.parse(c.source)) if isinstance(n, ast.Name)}
        assert set(source.parameters) - used <= {"profile"}, name


def test_paper_takes_nothing_reduced_from_laptop():
    """What it does not name itself is at least as large as the page's own value."""
    import yaml

    named = yaml.safe_load((ROOT / "notebooks" / "profiles" / "paper.yml").read_text())
    for name, values in REAL.profile("paper").items():
        for key in values.keys() - (named.get(name) or {}).keys() - {"profile"}:
            mine, default = values[key], REAL.source(name).parameters[key]
            assert isinstance(mine, str) or mine >= default, f"{name}: {key} = {mine!r} comes from laptop.yml"
