"""Ctrl-C is answered between chunks of work, which leave the numbers alone."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
from trainer_data import bent, clusters

from deepmech.data import load
from deepmech.trainers import train
from deepmech.trainers.engines.compiled import langevin, lenet, mlp
from deepmech.trainers.langevin import Dynamics, Preparation, walk
from deepmech.trainers.lenet import train_lenet
from deepmech.trainers.specs import MLP, SingleSample, Training

resource = pytest.importorskip("resource", reason="how long another process took is asked of POSIX")
CLASSES, SIGNS = clusters(256, 16, 3), bent(256, 16)

# Nothing is learned from one epoch to the next, so that training does not end by itself.
ENDLESS = {"learning_rate": 1e-9, "stop_loss": 0.0, "stop_change": 0.0}

#: What runs for {n} steps: a few first, for what has to be compiled cannot be interrupted, then without an end.
LONG = {
    "compiled": "train(MLP(depth=4, width=100), Training(epochs={n}, **ENDLESS), CLASSES, engine='compiled')",
    "torch": "train(MLP(depth=4, width=100), Training(epochs={n}, **ENDLESS), CLASSES, engine='torch')",
    "lenet": "train_lenet(SingleSample(iterations={n}), load('geomnist', n_train=9), threads=1)",
    "walk": "walk(Dynamics(width=30), Preparation(sgd_steps=10), SIGNS, steps={n}, record=[{n}])",
    "preparation": "walk(Dynamics(width=30), Preparation(sgd_steps={n}), SIGNS, steps=10)",
    "walk, torch": "walk(Dynamics(), Preparation(sgd_steps=9), SIGNS, steps={n}, record=[{n}], engine='torch')",
}


def spent(process):
    """Seconds of processor time."""
    return sum(process.cpu_times()[:2])


@pytest.mark.slow
@pytest.mark.parametrize("work", LONG)
def test_every_engine_answers_an_interrupt_soon(work):
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        from test_interrupts import *
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs behind a shell is told to ignore it
        {LONG[work].format(n=20)}
        print("ready", flush=True)
        {LONG[work].format(n=10**6 if "lenet" in work else 10**7 if "train" in LONG[work] else 10**9)}
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        family = psutil.Process(process.pid)
        begun = spent(family)
        while spent(family) < begun + 1:  # until it is deep in its work
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        before, others = spent(family), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        process.send_signal(signal.SIGINT)
        process.wait(300)
        # In its own time, which does not depend on what else the machine does.
        assert sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - others - before < 5
        assert "KeyboardInterrupt" in process.stderr.read()
    finally:
        process.kill()


def test_chunks_leave_every_bit_as_it_is(monkeypatch):
    def results():
        images = load("geomnist", n_train=9, n_test=5)
        return [
            train(MLP(depth=3, width=8), Training(epochs=3, batch_size=16), CLASSES, engine="compiled"),
            train_lenet(SingleSample(iterations=40), images, record=[0, 3, 7, 21, 40]),
            train_lenet(SingleSample(iterations=40, learning_rate=3.0), images, record=[0, 3, 7, 21, 40]),
            walk(Dynamics(width=4, temperature=1.0), Preparation(sgd_steps=20), SIGNS, steps=50, record=[3, 50]),
        ]

    whole = results()
    monkeypatch.setattr(lenet, "PIECE", 7)
    monkeypatch.setattr(langevin, "PRODUCTS", 7 * 256 * 100)
    monkeypatch.setattr(mlp, "PRODUCTS", 1)
    for one, other in zip(whole, results(), strict=True):
        assert one.drop_attrs().identical(other.drop_attrs())
