"""What JavaScript computes is what Python computes: random numbers, steps, closed forms, lines between classes."""

from typing import Any

import numpy as np
import pytest
from explorer_pages import simulated, unpacked

from deepmech.core.random import Stream, stream_id
from deepmech.metrics.curvature import curvature
from deepmech.metrics.separability import linearly_separable
from deepmech.simulators.folding_ruler import Ruler, slow_profile
from deepmech.simulators.spring_block import equilibrium
from deepmech_book import explorers
from deepmech_book.explorers.chain import chain_of, phase
from deepmech_book.explorers.page import EXPLORERS, page_of
from deepmech_book.explorers.ruler import EXTENSION

EPOCHS = 3
# The states of one run, from the state of an explorer.
SCRIPTS = {
    "chain": """({ Chain, $philox }, s) => {
      const chain = new Chain(s.n_blocks, new $philox.Normals(s.noise_keys[s.seed], s.purpose));
      return [1, 1000, 5000].map((end) => { chain.advance(s, end - chain.steps); return Array.from(chain.x); });
    }""",
    "elastic": """({ Cloud, $philox }, s) => {
      const [start, noise] = s.purposes.map((purpose) => new $philox.Normals(s.noise_keys[s.seed], purpose));
      const cloud = new Cloud(s.n_samples, s.corners[s.n_classes - 2], s.start_spread, start, noise);
      return [0, 1, 300].map((end) => { cloud.advance(s, end - cloud.steps); return Array.from(cloud.x); });
    }""",
    "ruler": """({ Ruler, $philox }, s) => {
      const strengths = new Float64Array(s.duration + 8), steps = Math.ceil(s.duration / 0.02 - 1e-9);
      new $philox.Normals(s.noise_keys[s.seed], s.purpose).draw(0, strengths.length - 4, strengths);
      const ruler = new Ruler(s, s.setting, (turn) => Math.abs(strengths[turn]));
      return [0, Math.round(steps / 2), steps].map((end) => {
        ruler.advance(s, end - ruler.steps);
        return Array.from(ruler.x);
      });
    }""",
    "training": """({ $network }, s) => {
      const x = Float64Array.from(s.images), n = s.labels.length - s.n_test, split = n * s.sizes[0];
      const data = { x: x.slice(0, split), xTest: x.slice(split), y: s.labels.slice(0, n), yTest: s.labels.slice(n) };
      const training = new $network.Training({ ...s, data, key: s.train_keys[s.seed], p: s });
      const out = [training.measure()];
      while (training.epoch < s.epochs) { training.runEpoch(); out.push(training.measure()); }
      return out.map(({ curve, accuracy }) => [...curve, accuracy]);
    }""",
}


TIMES = {"chain": [0.01, 10, 50], "elastic": [0.0, 0.01, 3.0]}
OVER_NOISY = {"friction_right": 0.04, "friction_left": 0.12, "noise": 0.011, "seed": 7}
LONG = {"friction_right": 0.05, "friction_left": 0.25, "noise": 0.02, "n_blocks": 12, "stiffness": 4.0}
SHORT = {"friction_right": 0.0, "friction_left": 0.1, "noise": 0.02, "n_blocks": 1, "stiffness": 0.5, "seed": 99}
ROUGH = {"jerk_speed": 4.0, "shake_speed": 0.05, "table_friction": 0.5, "duration": 20, "seed": 99}
SMALL_BATCHES = {"slope": 0.3, "dropout": 0.2, "learning_rate": 3e-3, "batch_size": 100, "seed": 5}
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("chain", {"friction_right": 0.11, "friction_left": 0.03, "noise": 0.006}),
    ("chain", {"friction_right": 0.04, "friction_left": 0.04, "noise": 0.01}),
    ("chain", OVER_NOISY),
    ("chain", {"friction_right": 0.12, "friction_left": 0.2, "noise": 0.0}),
    ("chain", LONG),
    ("chain", SHORT),
    ("elastic", {}),
    ("elastic", {"n_classes": 2, "n_samples": 1, "seed": 7}),
    ("elastic", {"n_classes": 4, "n_samples": 7, "inter": -0.5, "noise": 1.0}),
    ("elastic", {"noise": 0.0}),
    ("ruler", {}),
    ("ruler", {"duration": 400}),
    ("ruler", {"jerk_speed": 2.0, "seed": 3}),
    ("ruler", {"shake_speed": 1.0}),
    ("ruler", ROUGH),
    ("ruler", {"table_friction": 0.0, "jerk_speed": 1.0}),
    ("training", {"slope": 0.0, "dropout": 0.1, "epochs": EPOCHS}),
    ("training", {**SMALL_BATCHES, "epochs": EPOCHS}),
    ("training", {"slope": 1.0, "dropout": 0.0, "learning_rate": 1e-2, "epochs": EPOCHS}),
]


@pytest.mark.parametrize("kind, parameters", RUNS)
def test_steps_are_the_librarys(engine: Any, kind: str, parameters: dict[str, Any]) -> None:
    state = page_of(kind).state(**parameters)
    if kind == "training":  # V8 alone has no base64
        state["images"] = unpacked(state["images"], (-1,)).tolist()
    found, wanted = np.array(engine(kind, SCRIPTS[kind], state)), simulated(kind, state, TIMES.get(kind, ()))
    apart = 1e-8 if kind == "ruler" else 1e-9
    np.testing.assert_allclose(found, wanted, rtol=apart if kind == "elastic" else 0, atol=apart)
    # It has moved, pairs not all alike: idle states would agree with anything.
    moved = np.diff(found) if kind == "ruler" else found - found[0]
    assert np.ptp(moved[-1]) > {"chain": 0.1, "elastic": 1e-2, "ruler": 1e-3, "training": 0.1}[kind]


@pytest.mark.parametrize("step", [0, 1, 12345, 2**31 + 3, 2**32 + 5])
def test_random_words_and_normals(engine: Any, step: int) -> None:
    stream, n = Stream.of("explorer", 3), 11
    script = """({ $philox }, [key, purpose, step, n]) => {
      const normals = new $philox.Normals(key, purpose), words = [], four = new Uint32Array(4);
      const out = new Float64Array(n + 4);
      normals.draw(step, n, out);
      for (let i = 0; i < 3; i++) {
        $philox.philox(i, step >>> 0, Math.floor(step / 4294967296), purpose, normals.k0, normals.k1, four);
        words.push(...four);
      }
      return [words, Array.from(out.subarray(0, n))];
    }"""
    words, normals = engine("chain", script, [f"{stream.key:016x}", stream_id("noise"), step, n])
    assert words == stream.bits("noise", step, 12).tolist()
    np.testing.assert_allclose(normals, stream.normal("noise", step, n), rtol=0, atol=1e-14)


@pytest.mark.parametrize("friction", [0.0, 0.01, 0.03, 0.04, 0.11, 0.25])
@pytest.mark.parametrize("n_blocks", [1, 7, 12])
def test_closed_forms(engine: Any, friction: float, n_blocks: int) -> None:
    p = {"n_blocks": n_blocks, "stiffness": 0.7, "friction_right": friction, "friction_left": 0.2, "noise": 0.0}
    script = "(m, p) => { const rest = m.equilibrium(p), loud = m.largeNoiseLimit(p);"
    script += " return [Array.from(rest.x), rest.moving, Array.from(loud), m.curvature(loud)]; }"
    rest, moving, loud, bend = engine("chain", script, p)
    wanted = equilibrium(chain_of(p))
    np.testing.assert_allclose(rest, wanted.position, rtol=0, atol=1e-12)
    assert moving == int(wanted.n_moving)
    np.testing.assert_allclose(np.diff(loud, 2), (friction - 0.2) / (2 * 0.7), rtol=0, atol=1e-12)
    assert (loud[0], loud[-1]) == (0, 1)
    assert bend == pytest.approx(curvature(1 - np.array(loud)), abs=1e-12)


@pytest.mark.parametrize("setting", [(0.1, 1.0, 7), (0.2, 2.0, 3)])
def test_diagram_computed_in_the_browser(engine: Any, setting: tuple[float, float, int]) -> None:
    wanted = phase(*setting)
    p = {"friction_left": setting[0], "stiffness": setting[1], "n_blocks": setting[2]}
    script = "({ diagramOf }, [p, diagram, purpose]) => {"
    script += " const run = diagramOf(p, diagram, purpose); let told = run.next(), calls = 0;"
    script += " while (!told.done) { told = run.next(); calls++; } return [told.value, calls]; }"
    found, calls = engine("chain", script, [p, {**wanted, "curvature": None}, stream_id("noise")])
    np.testing.assert_allclose(found, wanted["curvature"], rtol=0, atol=0.5001e-4)
    assert calls > 1  # the work was cut into slices, and the cuts left no trace
    signs = np.sign(wanted["curvature"])
    assert signs.min() == -1 and signs.max() == 1


def test_lines_stand_where_a_linear_program_finds_one(engine: Any) -> None:
    """Random clouds of 1 to 6 points, near each other, and points on one line: the same answer, and a line between."""
    s = Stream.of("test elastic explorer", 0)
    pairs = []
    for i in range(150):
        n, m = (1 + int(6 * u) for u in s.uniform("sizes", i, 2))
        x, y = s.normal("x", i, (n, 2)), s.normal("y", i, (m, 2)) + 1.5 * s.normal("shift", i, 2)
        if i % 5 == 0:
            x, y = x[:, :1] * [1.0, 2.0], y[:, :1] * [1.0, 2.0]  # all on one line
        pairs.append((x, y))
    script = "({ separation }, pairs) => pairs.map(([a, b]) => separation(a, b))"
    found = engine("elastic", script, [[x.tolist(), y.tolist()] for x, y in pairs])
    answers = [linearly_separable(x, y) for x, y in pairs]
    assert [f["gap"] > 0 for f in found] == answers and 20 < sum(answers) < 130
    for (x, y), f, apart in zip(pairs, found, answers, strict=True):
        if apart:
            (first, *one), (second, *other) = (np.sign(z @ f["normal"] - f["middle"]) for z in (x, y))
            assert first != second and {*one} <= {first} and {*other} <= {second}


@pytest.mark.parametrize("friction", [0.0, 0.05, 0.2, 0.5])
def test_slow_profile(engine: Any, friction: float) -> None:
    script = "({ slowProfile }, [f, u, s]) => slowProfile(s.n_pairs, f, u, s.fold, s.stop)"
    found = engine("ruler", script, [friction, EXTENSION, explorers.ruler_page.state()["setting"]])
    np.testing.assert_allclose(found, slow_profile(Ruler(table_friction=friction), EXTENSION), rtol=0, atol=1e-9)


def test_an_address_sets_numbers_in_range_and_choices_and_nothing_else(engine: Any) -> None:
    """Whatever stands behind the # of an address that somebody sent."""
    made, letters = np.random.default_rng(0), list("0123456789.eE+-xX_ \t<>&\"'#=%aAnNfFiIyYtrue")
    odd = "NaN -Infinity 1e999 -1 true __proto__ 0x10 1e-320"
    texts = ["", "<img src=x onerror=alert(1)>", *odd.split()]
    texts += ["".join(made.choice(letters, made.integers(1, 8))) for _ in range(2000)]
    for kind in EXPLORERS:
        page = page_of(kind)
        state = {name: value for name, value in page.state().items() if name in {*page.values, "ranges", "choices"}}
        script = "({ $view }, [state, names, texts]) =>"
        script += " names.map((name) => texts.map((text) => $view.fitting(state, name, text) ?? null))"
        for name, found in zip(page.values, engine("training", script, [state, [*page.values], texts]), strict=True):
            set_to = {value for value in found if value is not None}
            if name in state["choices"]:
                assert set_to <= {*state["choices"][name]}
            elif isinstance(state[name], bool):
                assert set_to <= {True, False}
            else:
                low, high, _ = state["ranges"].get(name, (0, np.inf, 0))
                assert all(low <= value <= high and np.isfinite(value) for value in set_to), name
