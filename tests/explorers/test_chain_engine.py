"""The JavaScript chain is the Python chain: same random numbers, same steps, same closed forms, same diagram."""

from typing import Any

import numpy as np
import pytest

from deepmech.core.random import Stream, purpose_word
from deepmech.metrics.curvature import curvature
from deepmech.simulators.spring_block import Chain, equilibrium, simulate
from deepmech_book.explorers.chain import chain_state, phase

PARAMETERS = {
    "lazy": {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006},
    "balanced": {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01},
    "over-noisy": {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011, "seed": 7},
    "quiet": {"friction_right": 0.12, "friction_left": 0.2, "noise": 0.0},
    "long and stiff": {"friction_right": 0.05, "friction_left": 0.25, "noise": 0.02, "n_blocks": 12, "stiffness": 4.0},
    "one block": {
        "friction_right": 0.0,
        "friction_left": 0.1,
        "noise": 0.02,
        "n_blocks": 1,
        "stiffness": 0.5,
        "seed": 99,
    },
}
STEP = "({ Chain, Normals }, [p, key, purpose, steps]) => {"
STEP += "  const chain = new Chain(p.n_blocks, new Normals(key, purpose)), out = [];"
STEP += "  for (const s of steps) { chain.advance(p, s - chain.steps); out.push(Array.from(chain.x)); }"
STEP += "  return out; }"


def physics(state: dict[str, Any]) -> dict[str, Any]:
    return {k: state[k] for k in ("friction_right", "friction_left", "noise", "stiffness", "n_blocks")}


@pytest.mark.parametrize("step", [0, 1, 12345, 2**31 + 3, 2**32 + 5])
def test_random_words_and_normals(chain_engine: Any, step: int) -> None:
    stream, n = Stream.of("explorer", 3), 11
    script = """({ Normals, philox }, [key, purpose, step, n]) => {
      const normals = new Normals(key, purpose), out = new Float64Array(n + 4), words = [], four = new Uint32Array(4);
      normals.draw(step, n, out);
      for (let i = 0; i < 3; i++) {
        philox(i, step >>> 0, Math.floor(step / 4294967296), purpose, normals.k0, normals.k1, four);
        words.push(...four);
      }
      return [words, Array.from(out.subarray(0, n))];
    }"""
    words, normals = chain_engine(script, [f"{stream.key:016x}", purpose_word("noise"), step, n])
    assert words == stream.bits("noise", step, 12).tolist()
    np.testing.assert_allclose(normals, stream.normal("noise", step, n), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", PARAMETERS)
def test_steps_equal_the_simulator(chain_engine: Any, name: str) -> None:
    state = chain_state(**PARAMETERS[name])
    p, steps = physics(state), [1, 1000, 5000]
    found = chain_engine(STEP, [p, state["noise_keys"][state["seed"]], state["purpose"], steps])
    wanted = simulate(Chain(**p), t_end=50, record=np.array(steps) * 0.01, seed=state["seed"]).position
    np.testing.assert_allclose(found, wanted.isel(run=0).transpose("time", "block"), rtol=0, atol=1e-9)
    assert np.ptp(found[2]) > 0.5  # the chain has moved: zeros would agree with anything


def test_simulator_draws_the_noise_that_the_page_carries(chain_engine: Any) -> None:
    """Ten lines of NumPy between the two: neither side can drift away with the other."""
    p, stream = physics(chain_state(**PARAMETERS["over-noisy"])), Stream.of("spring_block", 7, 0)
    x = np.zeros(9)
    x[-1] = 1.0
    for step in range(1000):
        force = x[2:] - 2 * x[1:-1] + x[:-2] + p["noise"] / 0.1 * stream.normal("noise", step, 7)
        x[1:-1] += 0.01 * (np.maximum(force - 0.04, 0) + np.minimum(force + 0.12, 0))
    found = chain_engine(STEP, [p, f"{stream.key:016x}", purpose_word("noise"), [1000]])
    np.testing.assert_allclose(found[0], x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.01, 0.03, 0.04, 0.11, 0.25])
@pytest.mark.parametrize("n_blocks", [1, 7, 12])
def test_closed_forms(chain_engine: Any, friction: float, n_blocks: int) -> None:
    chain = Chain(n_blocks=n_blocks, stiffness=0.7, friction_right=friction, friction_left=0.2, noise=0.0)
    p = {"n_blocks": n_blocks, "stiffness": 0.7, "friction_right": friction, "friction_left": 0.2, "noise": 0.0}
    script = "(m, p) => { const rest = m.equilibrium(p), loud = m.largeNoiseLimit(p);"
    script += " return [Array.from(rest.x), rest.moving, Array.from(loud), m.curvature(loud)]; }"
    rest, moving, loud, bend = chain_engine(script, p)
    wanted = equilibrium(chain)
    np.testing.assert_allclose(rest, wanted.position, rtol=0, atol=1e-12)
    assert moving == int(wanted.n_moving)
    np.testing.assert_allclose(np.diff(loud, 2), (friction - 0.2) / (2 * 0.7), rtol=0, atol=1e-12)
    assert (loud[0], loud[-1]) == (0, 1)
    assert bend == pytest.approx(curvature(1 - np.array(loud)), abs=1e-12)


@pytest.mark.parametrize("setting", [(0.1, 1.0, 7), (0.2, 2.0, 3)])
def test_diagram_computed_in_the_browser(chain_engine: Any, setting: tuple[float, float, int]) -> None:
    wanted = phase(*setting)
    p = {"friction_left": setting[0], "stiffness": setting[1], "n_blocks": setting[2]}
    script = "({ DiagramRun }, [p, diagram, purpose]) => {"
    script += " const run = new DiagramRun(p, diagram, purpose); let out = null, calls = 0;"
    script += " while (!out) { out = run.work(20); calls++; } return [out, calls]; }"
    found, calls = chain_engine(script, [p, {**wanted, "curvature": None}, purpose_word("noise")])
    np.testing.assert_allclose(found, wanted["curvature"], rtol=0, atol=0.5001e-4)
    assert calls > 1  # the work was cut into slices, and the cuts left no trace
    signs = np.sign(wanted["curvature"])
    assert signs.min() == -1 and signs.max() == 1
