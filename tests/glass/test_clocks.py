"""Claims on walks name the wait before their clock starts."""

import numpy as np
import pytest
from runs_glass import LONG, sliding_run

from deepmech_book import claims
from deepmech_book.claims import functions
from deepmech_book.glass.clocks import ClaimOnWalks, after_paper_wait

PAGES = [f"glass/{page}" for page in ("relaxation", "superposition", "displacement", "heterogeneity", "ageing")]
WALKS = [c for c in claims.claims().values() if c.page in PAGES or (c.page == "glass/cifar" and c.id[:4] != "C.A3")]


@pytest.mark.parametrize("claim", WALKS, ids=lambda claim: claim.id)
def test_every_claim_on_walks_names_its_wait(claim):
    named = any(word in claim.measure for word in ("wait", "t_w"))
    assert named or isinstance(functions.functions_of(claim.page)[claim.id], ClaimOnWalks)


def test_a_claim_is_judged_after_the_papers_wait_and_tells_what_the_first_one_makes_of_it():
    """Hot weights are free walks at first, and go a hundredth as far after the paper's wait."""
    run = sliding_run(0.0, kicks=100, cooling=np.log(100) / 10_000)
    found = claims.measure("C.5.hot_is_free", {"regularised": run})
    assert found.verdict == "fails" and 0 < found.measured < 0.02
    assert "Clock started after t_w = 20,000 steps (as in Fig. 3 of the paper); after 10,000: holds, " in found.detail


def test_the_first_wait_counts_for_a_figure_with_a_shorter_one():
    """Weights slide at first, and a hundred times as slowly after the paper's wait: no sooner than a free walk."""
    run = sliding_run(1e-7, slowing=5e-4, times=LONG)
    found = claims.measure("C.2.cold_is_faster", run)
    assert found.verdict == "holds"
    late = claims.measure("C.2.cold_is_faster", after_paper_wait(run))
    assert late.verdict == "fails" and f"{late.measured:.2f}"[:3] in found.detail
    assert "Clock started after t_w = 10,000 steps; after 20,000 (as in Fig. 3 of the paper): fails, " in found.detail
    assert late.detail.endswith("Clock started after t_w = 20,000 steps.")


def test_a_record_without_the_papers_wait_names_its_own_alone():
    assert after_paper_wait(sliding_run(waits=(5000, 10_000))) is None
    assert after_paper_wait({"one": sliding_run(), "other": sliding_run(waits=(20_000,))}) is None
    assert after_paper_wait(sliding_run()).waiting.values.tolist() == [20_000]
