"""One command for a machine with PyTorch and a GPU: is it right there, how fast, and what can it make for the book.

    python benchmarks/gpu.py --minutes 25 --out out

1. Every torch engine on the device beside plain autograd on the CPU (the tests' oracle).
2. Rates, beside eager PyTorch on the same device, and as shares of the device's own products and memory bandwidth, all
   measured here: networks of Fig. 1, the convolutional network, Langevin steps at P_D = 60,000.
3. Sweeps of the profile ``paper`` in order of worth, chunk by chunk until the minutes are over. What is whole is
   written as files that can ship, what is not as ``stores.tar``, with which the next call (``--resume``) goes on.

``out`` then holds at most eight files of at most 16 MB: report.json and results.
The library needs none of the book's packages here, and no numba: random streams are then drawn by NumPy, bit by bit the
same. ``--device cpu --toy`` rehearses all of it in a minute. Data sets lie where ``DEEPMECH_DATA`` says.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "benchmarks")]

import without_numba  # noqa: E402

WITHOUT = without_numba.install()

import numpy as np  # noqa: E402
import torch  # noqa: E402
import yaml  # noqa: E402

from deepmech.core import provenance  # noqa: E402
from deepmech.core.labels import over  # noqa: E402
from deepmech.core.random import Stream  # noqa: E402
from deepmech.data import load  # noqa: E402
from deepmech.sweeps import Sweep  # noqa: E402
from deepmech.sweeps import load as load_sweep  # noqa: E402
from deepmech.sweeps.run import chunks_of, compute_chunk, missing  # noqa: E402
from deepmech.sweeps.store import Store  # noqa: E402
from deepmech.trainers import CNN, MLP, Training, train  # noqa: E402
from deepmech.trainers.engines.compiled.langevin import initial, layer_sizes, n_weights  # noqa: E402
from deepmech.trainers.engines.torch_walk import TorchWalk  # noqa: E402
from deepmech.trainers.modules import BiasFree, build_network  # noqa: E402
from deepmech.trainers.run import device_in_words  # noqa: E402
from deepmech.trainers.specs import Member  # noqa: E402
from deepmech_book.glass.experiments import experiment  # noqa: E402
from deepmech_book.spring_block import experiments as springs  # noqa: E402
from deepmech_book.sweeps.glass import walks  # noqa: E402
from deepmech_book.sweeps.shipped import publish  # noqa: E402
from deepmech_book.sweeps.spring_block import networks  # noqa: E402

FILES, BYTES = 8, 16 * 2**20
#: Largest relative difference from the oracle, after a few steps in double precision.
ALLOWED = 1e-6


def say(line: str) -> None:
    print(line, flush=True)


def clocked(run: Callable[[], object], device: str, repeats: int = 3) -> float:
    """Shortest time of ``run``, which is called once before; the device has done everything when the clock stops."""
    shortest = float("inf")
    for attempt in range(repeats + 1):
        if device != "cpu":
            torch.cuda.synchronize(device)
        start = time.perf_counter()
        run()
        if device != "cpu":
            torch.cuda.synchronize(device)
        if attempt:
            shortest = min(shortest, time.perf_counter() - start)
    return shortest


def _oracle() -> Any:
    spec = importlib.util.spec_from_file_location("oracle", ROOT / "tests" / "trainers" / "oracle.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- 1. is it right ---------------------------------------------------------------------------------------------------


def checks(device: str) -> dict[str, float]:
    """Engine -> largest relative difference from plain autograd on the CPU."""
    found = {}
    for name, network in (("mlp", MLP(depth=4, width=20, dropout=0.1)), ("cnn", CNN(convolutions=2, channels=3))):
        found[name] = _trained(network, device)
    found["langevin"] = _walked(device)
    for name, far in found.items():
        say(f"  {name:10s} differs from the oracle by {far:.1e}")
    return found


def _trained(network: Any, device: str) -> float:
    oracle, data, how = (
        _oracle(),
        load("digits", n_train=60, n_test=200),
        Training(epochs=4, batch_size=20, dtype="float64"),
    )
    made = train(network, how, data, seed=1, engine="torch", device=device, experiment="gpu")
    member = Member(network, how, 1, "gpu")
    shape = data.x_train.shape[1:] if isinstance(network, MLP) else (1, 8, 8)
    one = oracle.Oracle(build_network(member, shape, data.n_classes), member, data)
    expected = np.array([one.step(epoch) for epoch in range(1, 5)])
    return float(abs(made.loss.values.ravel() - expected).max() / abs(expected).max())


def _walked(device: str) -> float:
    stream, sizes = Stream.of("gpu", 0), layer_sizes(4, 6, 3)
    x, y = stream.normal("x", 0, (50, 4)), np.sign(stream.normal("y", 0, 50))
    weights = 2 * initial(sizes, stream)
    many = TorchWalk(sizes, x, y, "float64", 2, device)
    many.set(np.tile(weights, (2, 1)))
    expected = np.asarray(_oracle().hinge_gradient(weights, sizes, x, y))
    return float(abs(many.gradient() - expected).max() / abs(expected).max())


# --- 2. how fast ------------------------------------------------------------------------------------------------------


def limits(device: str, toy: bool) -> dict[str, float]:
    """The device's own products in single precision (FLOP/s) and bytes copied per second, in and out."""
    n = 512 if toy else 8192
    a, b = (torch.randn(n, n, device=device) for _ in range(2))
    long, target = (torch.empty(2**22 if toy else 2**28, device=device) for _ in range(2))
    return {
        "products": 2 * n**3 / clocked(lambda: a @ b, device),
        "bandwidth": 2 * 4 * long.numel() / clocked(lambda: target.copy_(long), device),
    }


def rates(device: str, toy: bool, own: dict[str, float]) -> dict[str, dict[str, float]]:
    """Engine -> FLOP/s of the library and of eager PyTorch, and the library's share of the device's products."""
    found = {}
    for name, measure in (("mlp", _mlp), ("cnn", _cnn), ("langevin", _langevin)):
        flop, ours, eager_flop, eager = measure(device, toy)
        rate = flop / ours
        found[name] = {"library": rate, "eager": eager_flop / eager, "share of products": rate / own["products"]}
        beside = f"{rate / (eager_flop / eager):.1f} times eager PyTorch"
        say(f"  {name:10s} {rate / 1e9:10.1f} GFLOP/s, {100 * rate / own['products']:5.1f} % of products, {beside}")
    return found


def _data(toy: bool) -> Any:
    return load("digits", n_train=100) if toy else load("mnist", size=10, n_train=2560)


def _by_epochs(network: Any, data: Any, members: int, epochs: int, device: str) -> float:
    """Seconds of ``epochs`` epochs of so many members; what a call costs beside them is taken off where it is small."""

    def run(n: int) -> Callable[[], object]:
        how = Training(epochs=n, stop_loss=0.0, stop_change=0.0)
        return lambda: train(network, how, data, seed=over("seed", range(members)), engine="torch", device=device)

    long, short = clocked(run(1 + epochs), device, 1), clocked(run(1), device, 1)
    return long - short if long > 2 * short else long  # a difference of two nearly equal times says nothing


def _eager(module: torch.nn.Module, data: Any, shape: tuple[int, ...], steps: int, device: str) -> float:
    """Seconds of so many full-batch Adam steps of one network, as everybody writes them."""
    module = module.to(device)
    x = torch.from_numpy(data.x_train).float().reshape(-1, *shape).to(device)
    y, optimizer = torch.from_numpy(data.y_train).to(device), torch.optim.Adam(module.parameters())

    def run() -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(x), y).backward()
            optimizer.step()

    return clocked(run, device)


def _mlp(device: str, toy: bool) -> tuple[float, float, float, float]:
    """A panel of Fig. 1: 480 networks of 100 units, full batches."""
    data, members, epochs, steps = _data(toy), 4 if toy else 480, 2 if toy else 10, 2 if toy else 20
    features = data.x_train.shape[1]
    layers: list[torch.nn.Module] = []
    for below in (features, *[100] * 6):
        layers += [torch.nn.Linear(below, 100), torch.nn.BatchNorm1d(100), torch.nn.ReLU()]
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(features), *layers, torch.nn.Linear(100, 10))
    weights = features * 100 + 6 * 100**2 + 1000
    each = 6.0 * weights * len(data.y_train)
    ours = _by_epochs(MLP(), data, members, epochs, device)
    return each * members * epochs, ours, each * steps, _eager(module, data, (features,), steps, device)


def _cnn(device: str, toy: bool) -> tuple[float, float, float, float]:
    """The network of Figs. S2 and S3, two at a time as in its sweep."""
    data, epochs, steps = _data(toy), 1 if toy else 10, 1 if toy else 10
    network = CNN(convolutions=2, channels=4) if toy else CNN()
    side = round(data.x_train.shape[1] ** 0.5)
    c, layers, below = int(network.channels), int(network.convolutions), 1
    parts: list[torch.nn.Module] = [torch.nn.BatchNorm2d(1)]
    for _ in range(layers):
        parts += [torch.nn.Conv2d(below, c, 3, padding=1), torch.nn.BatchNorm2d(c), torch.nn.ReLU()]
        parts += [torch.nn.MaxPool2d(2), torch.nn.Upsample(scale_factor=2)]
        below = c
    module = torch.nn.Sequential(*parts, torch.nn.Flatten(), torch.nn.Linear(c * side**2, 10))
    each = 6.0 * len(data.y_train) * (9 * side**2 * (c + (layers - 1) * c**2) + 10 * c * side**2)
    ours = _by_epochs(network, data, 2, epochs, device)
    return each * 2 * epochs, ours, each * steps, _eager(module, data, (1, side, side), steps, device)


def _langevin(device: str, toy: bool) -> tuple[float, float, float, float]:
    """Networks of width 30 at the paper's P_D, as many at once as the sweep of a phase has seeds."""
    n, members, steps = (200, 2, 3) if toy else (60_000, 50, 20)
    stream, sizes = Stream.of("gpu", 0), layer_sizes(10, 30, 6)
    x, y = stream.normal("x", 0, (n, 10)), np.sign(stream.normal("y", 0, n))
    weights = 2 * initial(sizes, stream)
    many = TorchWalk(sizes, x, y, "mixed", members, device)
    many.set(np.tile(weights, (members, 1)))
    how = [np.full(members, v) for v in (1e-6, 0.0, 1e-9)]
    streams = [Stream.of("gpu", k) for k in range(members)]
    ours = clocked(lambda: many.walk(steps, 0, *how, streams), device)
    one = BiasFree(sizes).to(device)
    tx, ty = (torch.tensor(v, dtype=torch.float32, device=device) for v in (x, y))
    torch.nn.utils.vector_to_parameters(torch.tensor(weights, dtype=torch.float32, device=device), one.parameters())

    def run() -> None:
        for _ in range(steps):
            one.zero_grad()
            (0.5 * torch.relu(1 - ty * one(tx)[:, 0]) ** 2).mean().backward()
            with torch.no_grad():
                for w in one.parameters():
                    w.add_(w.grad, alpha=-1e-6)
                    w.add_(torch.randn_like(w), alpha=1e-9)

    each = 6.0 * n_weights(sizes) * n
    return each * members * steps, ours, each * steps, clocked(run, device)


# --- 3. what it can make ----------------------------------------------------------------------------------------------


def at_paper(page: str) -> dict[str, Any]:
    """Parameters of a page at the profile ``paper``: its own, and what the profile says otherwise.

    Read without the packages that build the book, which a machine with a GPU need not have.
    """
    cell = re.search(r":tags: \[parameters\]\n(.*?)\n```", _text(f"{page}.md"), re.DOTALL)
    assert cell, page
    values: dict[str, Any] = {}
    exec(cell[1], values)
    return values | (yaml.safe_load(_text("profiles/paper.yml")).get(page) or {})


def _text(name: str) -> str:
    return (ROOT / "notebooks" / name).read_text(encoding="utf-8")


def worth(toy: bool, seeds: int | None) -> Iterator[Sweep]:
    """Sweeps of the profile ``paper`` that a GPU is wanted for, in order of worth; ``seeds`` of the phases' many."""
    if toy:
        cells = {"slope": [0.0], "dropout": [0.0, 0.2], "seed": range(2)}
        yield springs.experiment("figure-1c", cells, data={"name": "digits", "n_train": 60}, training={"epochs": 2})
        how = {"sgd_steps": 50, "learning_rate": 0.02, "descent_steps": 5}
        toys = {"n_data": 100, "width": 3, "temperatures": [0.1, 0.0], "n_seeds": 2, "steps": 60, "waiting": [20]}
        yield from walks.sweeps("digits", toys | {"preparation": how}).values()
        return
    glass, rest = at_paper("glass/relaxation"), at_paper("glass/transitions")
    made = walks.sweeps(glass["dataset"], glass["changes"] | ({} if seeds is None else {"n_seeds": seeds}))
    wide, stages = at_paper("spring_block/figures_s4_to_s9"), at_paper("spring_block/convolutional")
    s6 = springs.supplement({"mnist": "mnist"}, wide["wide_layers"])
    cells = {"width": [rest["width_c"]], "regularisation": rest["regularisations_c"], "seed": range(rest["n_seeds_c"])}
    same = ("dataset", "n_data", "whiten", "gain", "sgd_steps", "descent_steps", "slow_steps")
    at_rest = {name: rest[name] for name in same} | {"learning_rate": rest["sgd_rate"]}
    yield s6["S6(a), width 400"]
    raised = {"training": {"learning_rate": stages["learning_rate"]}, "stage": stages["stage"], "n_records": 6}
    images = networks.dataset_kwargs(stages["dataset"])
    yield springs.experiment("dropout-raised", {"seed": range(stages["n_seeds"])}, data=images, **raised)
    yield made["regularised"]
    yield made["underparameterised"]
    yield experiment("glass-ttt", cells, **at_rest)
    yield s6["S6(b), width 2500"]
    yield made["overparameterised"]


def make(sweeps: Iterator[Sweep], folder: Path, until: float, out: Path) -> list[dict[str, Any]]:
    """Compute chunk after chunk until the clock says ``until``; ship what is whole. One row per sweep."""
    rows, room = [], FILES - 2  # beside the report and what is not whole
    for sweep in sweeps:
        store = Store(folder / f"{sweep.name}-{sweep.key}-{sweep.code}", sweep)
        failure, size = "", 1
        with store.locked():
            while (todo := missing(sweep, store.read())) and size and time.time() < until and not failure:
                indices, began = chunks_of(todo, size)[0], time.time()
                outcome = compute_chunk(sweep, indices)
                if outcome.dataset is None:
                    failure = outcome.traceback.strip().splitlines()[-1]
                else:
                    store.write(outcome.dataset)
                size = _chunk(len(indices), time.time() - began, until - time.time())
        row = {"sweep": sweep.name, "cells": sweep.n_cells, "left": len(todo), "failed": failure}
        if not todo and room:
            path = publish(load_sweep(sweep, store.path), out)
            if path.stat().st_size > BYTES:
                row["failed"] = f"{path.stat().st_size} bytes: more than {BYTES}"
                path.unlink()
            else:
                room -= 1
        say(f"  {row['sweep']:36s} {row['cells'] - row['left']} of {row['cells']} cells {row['failed']}")
        rows.append(row)
    return rows


def _chunk(cells: int, took: float, left: float) -> int:
    """How many cells come next, after so many that took so many seconds: as many as fit into the time left, a minute's
    worth at most and no more than eight times as many, since many at once take less each; 0 if not one does."""
    return min(8 * cells, int(min(left, 60.0) * cells / took)) if took < 60 * cells else int(left * cells >= took)


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, … or cpu (default: cuda)")
    parser.add_argument("--minutes", type=float, default=25.0, help="for everything together (default: 25)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="what is brought home (default: out)")
    parser.add_argument("--resume", type=Path, help="stores.tar of an earlier call")
    parser.add_argument("--seeds", type=int, help="initial conditions of the walks, in place of the paper's fifty")
    parser.add_argument("--toy", action="store_true", help="the same with everything small")
    options = parser.parse_args(given)
    started, out = time.time(), options.out
    out.mkdir(parents=True, exist_ok=True)
    os.environ["DEEPMECH_DEVICE"] = options.device
    report: dict[str, Any] = {"device": device_in_words(options.device), "versions": provenance.versions_in_words()}
    report["numba"] = not WITHOUT
    say(f"{report['device']}; {report['versions']}")
    say("1. beside plain autograd on the CPU")
    report["checks"] = checks(options.device)
    wrong = [name for name, far in report["checks"].items() if not far < ALLOWED]
    if wrong:
        say(f"{', '.join(wrong)}: more than {ALLOWED:g}: nothing is made with that")
        (out / "report.json").write_text(json.dumps(report, indent=1))
        return 1
    say("2. rates")
    report["limits"] = limits(options.device, options.toy)
    say("  {products:.3g} FLOP/s in products, {bandwidth:.3g} bytes/s in copies".format(**report["limits"]))
    report["rates"] = rates(options.device, options.toy, report["limits"])
    say("3. sweeps")
    folder = out.parent / f"{out.name}-stores"
    if options.resume:
        with tarfile.open(options.resume) as archive:
            archive.extractall(folder, filter="data")
    until = started + 60 * options.minutes
    report["sweeps"] = make(worth(options.toy, options.seeds), folder, until, out)
    if any(row["left"] for row in report["sweeps"]):
        _pack(folder, out / "stores.tar", [row["sweep"] for row in report["sweeps"] if row["left"]])
    report["seconds"] = time.time() - started
    (out / "report.json").write_text(json.dumps(report, indent=1))
    made = sorted(path for path in out.iterdir() if path.is_file())
    for path in made:
        say(f"  {path.name} {path.stat().st_size / 2**20:.1f} MiB")
    return 0 if len(made) <= FILES and not any(row["failed"] for row in report["sweeps"]) else 1


def _pack(folder: Path, target: Path, names: list[str]) -> None:
    """Stores of unfinished sweeps in one file, as many as it may hold; those of most worth first."""
    size = 0
    with tarfile.open(target, "w") as archive:
        for name in names:
            for store in folder.glob(f"{name}-*"):
                own = sum(path.stat().st_size + 1024 for path in store.iterdir())
                if size + own > BYTES - 20_000:
                    say(f"  {store.name} does not fit into {target.name} and stays in {folder}")
                    continue
                archive.add(store, store.name)
                size += own


if __name__ == "__main__":
    sys.exit(main())
