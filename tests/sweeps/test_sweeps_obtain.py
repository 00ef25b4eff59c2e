"""Where a page gets its sweep: shipped if it is there, else computed and kept."""

import numpy as np
import pytest

from deepmech import over
from deepmech.sweeps import NotShipped, Sweep, obtain, run, ship, stored


def sweep(n):
    return Sweep(
        "obtained", "deepmech.sweeps.example:powers", {"base": over("base", np.arange(n) / 7)}, fixed={"highest": 3}
    )


def test_shipped_results_are_preferred_and_computed_ones_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("DEEPMECH_STORES", str(tmp_path / "stores"))
    computed = obtain(sweep(3))
    assert computed.attrs["obtained"] == "computed for this page"
    assert len(list((tmp_path / "stores").iterdir())) == 1
    ship(run(sweep(3)), tmp_path / "results")
    stored = obtain(sweep(3))
    assert stored.attrs["obtained"] == "shipped with the book"
    for name in computed.data_vars:
        assert np.array_equal(computed[name], stored[name])
    assert obtain(sweep(4)).attrs["obtained"] == "computed for this page"  # another spec is another result


def test_nothing_is_kept_where_no_place_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("DEEPMECH_RESULTS", raising=False)
    monkeypatch.delenv("DEEPMECH_STORES", raising=False)
    monkeypatch.chdir(tmp_path)
    assert obtain(sweep(2)).sizes["base"] == 2
    assert list(tmp_path.iterdir()) == []


def test_a_stored_result_is_found_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPMECH_RESULTS", str(tmp_path))
    with pytest.raises(NotShipped, match="none in"):
        stored("obtained")
    ship(run(sweep(3)), tmp_path)
    assert stored("obtained").sizes["base"] == 3
    ship(run(sweep(4)), tmp_path)
    with pytest.raises(NotShipped, match="one is needed"):
        stored("obtained")
