"""What no machine could keep, and steps that nobody could wait for, are refused at once, by field and number."""

import numpy as np
import pytest

from deepmech.simulators import brownian, elastic_sde, folding_ruler, spring_block
from deepmech.simulators.elastic_sde import ElasticSDE
from deepmech.simulators.folding_ruler import Pull, Ruler
from deepmech.simulators.spring_block import Chain

QUIET = Chain(noise=0.0)
START = [[1.0], [0.0]]
STEPS, KEPT = "steps, one after another, take .* days", "would have to be kept, and this machine has"
BEYOND = {
    "a chain's steps": (lambda: spring_block.simulate(QUIET, 1e12), "t_end = .*" + STEPS),
    "a chain without end": (lambda: spring_block.simulate(QUIET, 1e300), "t_end = .*" + STEPS),
    "a small step": (lambda: spring_block.simulate(QUIET, 1.0, dt=1e-300), "t_end = .*" + STEPS),
    "a small time": (lambda: spring_block.simulate(QUIET, 1e-300, dt=1e-320), "t_end = .*" + STEPS),
    "a chain's times": (
        lambda: spring_block.simulate(QUIET, 1e5, record=np.arange(1e5), n_runs=10**6), "n_runs = .*" + KEPT
    ),
    "averages": (lambda: spring_block.averaged(QUIET, 1e300), "t_end = .*" + STEPS),
    "training": (lambda: elastic_sde.train_discrete(ElasticSDE(), [1.0], START, step=1e-300), "step = .*" + STEPS),
    "classes drawn": (lambda: elastic_sde.train_discrete(ElasticSDE(), [1e11], START, step=1.0), "step = .*" + KEPT),
    "classes": (
        lambda: elastic_sde.simulate(ElasticSDE(n_classes=10**6), [1.0], np.ones((10**6, 1)), n_samples=1),
        "n_classes = .*" + KEPT,
    ),
    "samples": (
        lambda: elastic_sde.simulate(ElasticSDE(), [1.0], START, n_samples=10**6, n_runs=10**6), "n_samples = .*" + KEPT
    ),
    "a ruler's step": (lambda: folding_ruler.simulate(Ruler(), Pull(), dt=1e-300), "dt = .*" + STEPS),
    "a pull": (lambda: folding_ruler.simulate(Ruler(), Pull(duration=1e300)), "dt = .*" + STEPS),
    "frames": (lambda: folding_ruler.simulate(Ruler(), Pull(), n_frames=10**12), "n_frames = .*" + KEPT),
    "windows of none": (lambda: brownian.free_time(np.array([0.0, 1.0]), 1.0), "50% of the windows are above 0"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "said"), BEYOND.values(), ids=BEYOND)
def test_sizes_that_no_machine_has_time_or_room_for_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("closed", [1, 2, 5])
def test_walks_without_a_window_keep_the_overlap_down(closed):
    """Mean overlap of 20 walks of which some have no window: what the others reach at the time found."""
    windows = np.array([0.0] * closed + [1.0] * (20 - closed))
    time = brownian.free_time(windows, 1.0, level=0.7)
    assert brownian.free_overlap(time, 1.0, 1.0) * (20 - closed) / 20 == pytest.approx(0.7, rel=1e-12)
