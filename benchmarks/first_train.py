"""What a first call costs where nothing is compiled yet, in seconds of a processor: import, first call, second call.

``python benchmarks/first_train.py [--rounds 3] [TREE ...]``: each call in a process of its own with an empty cache of
machine code. TREEs are folders that hold ``deepmech``, such as ``lib`` and that of an older checkout; they take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CALLS = {
    "train(MLP())": "train(MLP(), Training(epochs=1), data)",
    "train(MLP(dropout=0.1))": "train(MLP(dropout=0.1), Training(epochs=1), data)",
    "walk(Dynamics())": "walk(Dynamics(width=30), Preparation(sgd_steps=10), signs, steps=10)",
    "train_lenet": "train_lenet(SingleSample(iterations=10), images)",
}
PROGRAM = """
import sys, time
begun = time.process_time()
import deepmech
bare = time.process_time() - begun
import numpy as np
from types import SimpleNamespace
from deepmech.data import load
from deepmech.trainers import MLP, Dynamics, Preparation, SingleSample, Training, train, train_lenet, walk
x, y = np.random.default_rng(0).normal(size=(200, 100)).astype("float32"), np.arange(200) % 10
data = SimpleNamespace(x_train=x, y_train=y, x_test=x, y_test=y, n_classes=10, fingerprint="example", shape=())
signs = SimpleNamespace(x=x, y=np.where(y > 4, 1.0, -1.0), fingerprint="example")
images = load("geomnist", n_train=20) if "lenet" in sys.argv[1] else None
taken = [bare, time.process_time() - begun]
for _ in range(2):
    begun = time.process_time()
    exec(sys.argv[1])
    taken.append(time.process_time() - begun)
print(*taken)
"""


def seconds(tree: str, call: str) -> list[float]:
    """Of ``import deepmech``, of all imports and data, and of the first and the second call."""
    with tempfile.TemporaryDirectory() as folder:
        set_up = {**os.environ, "PYTHONPATH": f"{tree}:{os.environ.get('PYTHONPATH', '')}", "NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", PROGRAM, call]
        found = subprocess.run(command, env=set_up, check=True, capture_output=True, text=True).stdout
    return [float(number) for number in found.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", default=[str(Path(__file__).parents[1] / "lib")], metavar="TREE")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("shortest of the rounds, seconds of a processor")
    print(f"  {'':26s} {'import deepmech':>16s} {'with all else':>14s} {'first call':>11s} {'second':>8s}  first calls")
    for name, call in CALLS.items():
        found: dict[str, list[list[float]]] = {tree: [] for tree in arguments.trees}
        for _ in range(arguments.rounds):
            for tree in arguments.trees:
                found[tree].append(seconds(tree, call))
        for tree, rows in found.items():
            least, firsts = np.min(rows, axis=0), " ".join(f"{row[2]:.1f}" for row in rows)
            print(
                f"  {name:26s} {least[0]:16.2f} {least[1]:14.2f} {least[2]:11.2f} {least[3]:8.3f}  {firsts}  {tree}",
                flush=True,
            )


if __name__ == "__main__":
    main()
