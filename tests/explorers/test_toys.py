"""Toys inside arguments: what they show is the array's, what they say is true of it, on a page and in Jupyter."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from explorer_pages import sent

from deepmech.metrics.curvature import curvature
from deepmech_book import explorers
from deepmech_book.explorers import toys
from deepmech_book.explorers.relaxation import phase_run
from deepmech_book.glass.displacement import LOW
from deepmech_book.glass.experiments import experiment
from deepmech_book.sweeps.shipped import result

PICKED = {
    "curves": xr.DataArray(np.arange(12.0).reshape(2, 2, 3), {"t": [1, 2], "who": ["a", "b"]}, ("t", "who", "x")),
    "says": ["first", "then"],
    "looks": {"b": "points"},
}


def test_weak_noise_creeps_to_the_same_end() -> None:
    made = toys.creeping()
    way = made["curves"].sel(curve=["strong noise", "weak noise"])
    off = abs(curvature(way, dim="block") - curvature(made["curves"].sel(curve="balance of frictions"), dim="block"))
    assert (off.isel(time=-1) < 0.03).all() and (off.sel(curve="weak noise").sel(time=100) > 0.2).all()
    told = ["only takes longer" in words for words in made["says"]]
    assert told == sorted(told) and set(told) == {False, True}


def test_one_weight_has_the_minima_that_it_tells_of() -> None:
    made = toys.one_weight()
    whole = made["curves"].sel(curve="data loss and penalty").values
    inside = whole[:, 1:-1]
    least = (inside < whole[:, :-2]) & (inside < whole[:, 2:])
    told = [2 if "two minima" in words else 1 for words in made["says"]]
    assert least.sum(1).tolist() == told and set(told) == {1, 2}
    origin = int(abs(made["curves"]["weight w"].values[1:-1]).argmin())
    assert least[1:, origin].all() and not least[0, origin]


def test_the_glass_former_dips_and_networks_do_not() -> None:
    made = toys.caged(phase_run("regularised mnist"), result(experiment("glass-former")).msd)
    networks, former, _ = made["curves"].sel(time=slice(100, None)).transpose("kind", "time", "temperature")
    assert (networks.min("time") > LOW).all() and (former.min("time") < LOW).all() and (former.max("time") > 1).all()


def test_only_in_the_glass_are_many_directions_steep() -> None:
    made = toys.steep(result(experiment("landscape")).curvature)["curves"].isel({"distance from rest": -1})
    assert (made[0] == 1).all() and (made.diff(made.dims[0]) <= 0).all()
    assert (made[1:].sel(system="glass") > 2 * made[1:].drop_sel(system="glass").max("system")).all()


def test_free_walks_fall_on_one_curve_exactly() -> None:
    made = toys.rescaled(phase_run("regularised mnist"))
    free = made["curves"].sizes["temperature"] // 2
    curves, places = (made[name][[0, -1], free:].values for name in ("curves", "places"))
    seen = places[1].max(-1) > 3  # of cold walks the record sees the beginning alone

    def spread(unit, at):
        return np.ptp([np.interp(at, x, q) for x, q in zip(places[unit][seen], curves[unit][seen], strict=True)])

    assert seen.sum() > 2 and spread(0, 1000.0) > 0.3 and spread(1, 2.0) < 0.01


def test_the_threshold_says_who_leads() -> None:
    bend, right = np.array([[-0.2, 0.06], [0.0, 0.03]]), np.array([[0.9, 0.95], [0.93, 0.94]])
    dims = ("slope", "dropout", "seed")
    made = toys.threshold(xr.Dataset({"curvature": (dims, bend[..., None]), "accuracy": (dims, right[..., None])}))
    told = dict(zip(made["curves"].threshold.values.round(3).tolist(), made["says"], strict=True))
    assert "2 of 4" in told[0.05]
    assert told[0.05].endswith("94.00 %, the best bent one 95.00 %: bent leads by 1.00 points.")
    assert "3 of 4" in told[0.065] and told[0.065].endswith("straight leads by 5.00 points.")


def test_a_way_along_a_kink_turns_back_at_every_step_and_leads_as_far() -> None:
    step, axes = np.arange(5), ["along the drift", "across it"]
    ways = {"ReLU": [0, 0.75, 0, 0.75, 0], "softplus": [0, 0, 0, 0, 0]}
    paths = {name: xr.DataArray([step, across], {"axis": axes, "step": step}) for name, across in ways.items()}
    made = toys.sliding({name: path.transpose("step", "axis") for name, path in paths.items()})
    assert made["curves"].notnull().sum("step").values.tolist() == [[n, n] for n in (2, 3, 4, 5)]
    assert made["says"][-1] == (
        "After 4 steps ReLU has turned back 3 times, its path is 1.2 times its drift; "
        "softplus has turned back 0 times, its path is 1.0 times its drift."
    )


def test_classes_that_are_dragged_along_part_by_what_they_do_not_share() -> None:
    made = toys.dragged(rounds=5)
    lead = made["curves"].isel(step=slice(2, None, 3)).diff("curve").squeeze()  # after whole rounds
    assert np.allclose(-lead, 3 * np.arange(1, 6) * (1 - made["curves"][made["curves"].dims[0]].values[:, None]))
    assert "leads by 20." in made["says"][0] and "leads by 0." in made["says"][-1]


def test_a_slider_moves_through_the_array_by_keys_and_in_jupyter(visit: Any, jupyter: Any, tmp_path: Any) -> None:
    path = tmp_path / "toy.html"
    path.write_text(explorers.toy_page(**PICKED).document("toy"), encoding="utf-8")
    one = explorers.ToyExplorer(**PICKED)
    for page in (visit().open(path), jupyter(one)):
        line = page.locator(".line.mean")
        before = line.get_attribute("d")
        assert page.inner_text(".told") == "first" and page.locator("circle").count() == 3
        page.locator("input[name=at]").focus()
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".told") == "then" and line.get_attribute("d") != before
    assert sent(page) == {"at": 1}
    for wrong, told in (({"says": ["one"]}, "1 sentences for 2 stops"), ({"at": 2}, "must lie between 0 and 1")):
        with pytest.raises(ValueError, match=told):
            explorers.toy_page(**PICKED | wrong)
