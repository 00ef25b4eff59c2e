"""Pairs of the page beyond/tangent_kernel, and measures of what a step does where steps and logits are known."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech_book.beyond import tangent_kernel as moves
from pairs import Page

page = Page("beyond/tangent_kernel")
GROUPS = {"shapes": 10, "photos": 5}
WINDOW = 551
K, STOPS, EVERY, THIN = 3, 41, 250, 50
DIRECTIONS = np.eye(K) - 1 / K
START, RATE = np.array([1.0, 1.5, 2.2]), 6e-4
"""Own-class margins at the beginning, and α per iteration by which each grows; β is 0."""


def stopped_networks(rng, effect=1.0, share=0.0, frozen=0.2, groups=6, noise=0.02):
    """Networks that obey both models of paper B with β = 0, stopped on their way; as the tangent kernels' sweep.

    A step does ``effect`` to its own class, by what the logits grow by, and a ``share`` of it to others, which scatters
    over groups by ``noise``; the initial kernel does ``frozen``, and moves all classes alike.
    """
    time, block = np.arange(STOPS) * float(EVERY), np.arange((STOPS - 1) * EVERY // THIN) * float(THIN)

    def means(at):
        grown = START * np.exp(RATE * at[:, None] / K)
        return grown[..., None] * DIRECTIONS / (1 - 1 / K)

    def like(values, *dims):
        scatter = 1 + noise * rng.normal(size=(groups, *[1] * values.ndim))
        return (("group", *dims), scatter * values)

    x, own = means(time), np.eye(K)[..., None]
    step = RATE * x[:, None] * (effect * own)
    other = RATE * effect * (share + noise * rng.normal(size=groups))[:, None, None, None, None]
    dims = "time", "class", "trained", "logit"
    found = {
        "move_frozen": like(frozen * RATE * np.broadcast_to(x[:, None], step.shape), *dims),
        "mean": like(means(block), "block", "class", "logit"),
        "logits": like(x, "time", "class", "logit"),
        "move": (("group", *dims), step + other * x[:, None] * (1 - own)),
    }
    return xr.Dataset(found, {"time": time, "block": block})


BLOCKS = {"shapes": 0.0069, "photos": 0.052}
"""Half-widths of the intervals that ship."""


@page.pair("B.3.kernel.elastic", panels=BLOCKS, usual=0.83, reach=BLOCKS)
def learnt_blocks(level, rng, rival):
    """Kernels between classes that scatter over groups, by those within; before training larger, but for the rival."""
    runs = {}
    for (data, n), scatter in zip(GROUPS.items(), (0.0096, 0.042), strict=True):
        means = np.where(np.arange(STOPS) < STOPS // 2, level[data] if rival else 1.2, level[data])
        between = means + scatter * rng.normal(size=(n, 2)).repeat([STOPS // 2, STOPS - STOPS // 2], 1)
        kernel = 5.0 * (np.eye(K) + between[..., None, None] * (1 - np.eye(K)))
        runs[data] = xr.Dataset({"kernel": (("group", "time", "class", "other"), kernel)})
    return {"kernels": runs}


@page.pair("B.3.kernel.growth", panels=GROUPS, usual=1.0, reach=0.04, told=0.3)
def steps_to_first_order(level, rng, rival):
    """Steps that scatter over groups by a few per cent: by those that ship, whose intervals are a seventh and four
    fifths of the number, the sentence can only fail."""
    runs = {}
    for (data, n), scatter in zip(GROUPS.items(), (0.056, 0.032), strict=True):
        run = stopped_networks(rng, effect=level[data], groups=n, frozen=0.01, noise=0.0)
        run["move"] = run.move * (1 + scatter * xr.DataArray(rng.normal(size=n), dims="group"))
        runs[data] = run.assign(move_frozen=run.move) if rival else run
    return {"kernels": runs, "steps": runs["shapes"]}


FOUND = {f"shapes, {moves.FIRST_ORDER}": 0.0137, f"shapes, {moves.WHOLE}": 0.0137}
FOUND |= {f"photos, {moves.FIRST_ORDER}": 0.044}
"""What is measured, divided by the size of logits and not, and half-widths of the intervals that ship."""


@page.pair("B.3.kernel.sign", panels=FOUND, usual=-0.4, reach=FOUND, told=0.3)
def repulsion(level, rng, rival):
    """Effects on other classes that scatter over groups; the initial kernels of the rival do what steps do."""
    shapes, whole, photos = (
        stopped_networks(rng, share=share, groups=n, noise=noise)
        for share, n, noise in zip(level.values(), (10, 10, 5), (0.02, 0.02, 0.037), strict=True)
    )
    if rival:
        shapes, photos = (run.assign(move_frozen=run.move) for run in (shapes, photos))
        whole = shapes
    found = moves.effects_by_source(shapes, WINDOW, whole), moves.effects_by_source(photos, WINDOW)
    return {"found": dict(zip(GROUPS, found, strict=True)), "later": {3000: found[0]}}


test_claims_hold_where_they_are_true_and_nowhere_else = page.law()


@pytest.fixture(scope="module")
def exact():
    return stopped_networks(np.random.default_rng(0), effect=2.0, share=0.25, frozen=0.5, noise=0.0)


def test_signal_starts_where_margins_exceed_their_scatter(exact):
    run = stopped_networks(np.random.default_rng(1))
    assert moves.start_of_signal(run) == run.block[0]
    run["mean"][:, :50] = np.random.default_rng(2).normal(size=run["mean"][:, :50].shape)
    assert run.block[40] <= moves.start_of_signal(run) <= run.block[50]


def test_effects_are_those_of_logits_and_of_steps_by_both_models(exact):
    found = moves.effects_by_source(exact, 551, exact)
    assert found.sizes == {"source": 4, "model": 2, "of": 1 + exact.sizes["group"]}
    for source, alpha in ((moves.INFERRED, 1), (moves.FIRST_ORDER, 2), (moves.INITIAL, 0.5), (moves.WHOLE, 2)):
        np.testing.assert_allclose(found.intra.sel(source=source), alpha * RATE, rtol=0.02, err_msg=source)
    np.testing.assert_allclose(found.inter.sel(source=moves.INFERRED), 0, atol=0.02 * RATE)
    np.testing.assert_allclose(found.inter.sel(source=moves.FIRST_ORDER), 0.5 * RATE, rtol=1e-6)
    share = moves.elasticity({"shapes": found, "photos": found.sel(source=[moves.INFERRED, moves.FIRST_ORDER])})
    assert np.isnan(share.value.sel(data="photos", source=moves.WHOLE))
    np.testing.assert_allclose(share.value.sel(source=moves.FIRST_ORDER), 0.25, rtol=1e-6)
    table = moves.sizes({"shapes": found})
    assert list(table["shapes", "β/α"])[1:] == ["0.25", "1.00", "0.25"] and table["shapes", "α"][moves.WHOLE] == "1.2"


def test_moves_that_no_margin_divides_weigh_each_record_by_its_margin_and_a_later_start_leaves_the_first_out(exact):
    """Steps that move all alike at first and their own class alone in the end, while margins grow."""
    alike = moves.by_weight(moves.effects_by_source(exact, 551, exact))
    assert [one.value for one in alike.values()] == pytest.approx([0.25] * 4)
    own = xr.DataArray(np.eye(3), dims=("class", "trained"))
    share = xr.DataArray(np.linspace(1, 0, exact.sizes["time"]), {"time": exact.time})
    steps = exact.assign(move=exact.move * own + exact.move * 4 * share * (1 - own))
    for since in (exact.time[0], exact.time[5]):
        late, margin = share.sel(time=slice(since, None)), exact.logits[0, :, 0, 0].sel(time=slice(since, None))
        found = moves.by_weight(moves.effects_by_source(exact, 551, steps, float(since)))
        divided, undivided = float(late.mean()), float((late * margin).sum() / margin.sum())
        assert undivided < 0.9 * divided
        assert [one.value for one in found.values()] == pytest.approx([divided, undivided] * 2, rel=1e-6)


@given(st.floats(0.1, 5.0), st.integers(2, 5))
def test_margins_grow_as_far_as_steps_add_up_to(factor, k):
    time = xr.DataArray(np.linspace(0.0, 10.0, 11), dims="time")
    logits = xr.DataArray(np.eye(k), dims=("class", "logit")) * (1 + 0.3 * time)
    step = xr.DataArray(np.eye(k), dims=("class", "logit")) * 0.3 * factor * xr.ones_like(time)
    move = step.expand_dims(trained=k)
    assert float(moves.margin_growth(logits, move)) == pytest.approx(factor)
    everywhere = move + xr.DataArray(np.arange(k), dims="class")  # what moves all logits of a class moves no margin
    assert float(moves.margin_growth(logits, everywhere)) == pytest.approx(factor)
