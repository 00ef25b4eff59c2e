"""What measuring a load curve costs, beside what people do instead, on the same networks and the same loader.

    python benchmarks/beside_others.py [--rounds 7] [--samples 2000] [--threads 1] [--memory 1000 8000]

A small residual network, a small vision transformer, and a residual network of the usual size (ResNet-18 for
pictures of 32×32), on random colour pictures of ten classes, batches of 100. All contenders take turns in every round,
so that another load on the machine meets them alike; medians of the ratios to the bare forward pass of the same round
are printed. Then the peak memory of processes that measure on few and on many samples. Contenders from the package
index, torch-cka and pytorch-cka, run if they are installed; they ask another question, how alike the layers of two
networks are, of every pair of layers.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import subprocess
import sys
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from deepmech.core.provenance import machine, versions
from deepmech.core.random import Stream
from deepmech.metrics.load_curve import load_curve

Contender = Callable[[nn.Module, DataLoader], object]


class BasicBlock(nn.Module):
    """Two 3×3 convolutions with BatchNorm, added to what goes in (where the size changes, to a 1×1 convolution of it);
    then ReLU."""

    def __init__(self, below: int, channels: int) -> None:
        super().__init__()
        stride = 1 if below == channels else 2
        self.conv1, self.norm1 = nn.Conv2d(below, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        fitted = [nn.Conv2d(below, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)] if stride > 1 else []
        self.relu, self.shortcut = nn.ReLU(), nn.Sequential(*fitted)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        return self.relu(self.shortcut(x) + branch)


def resnet() -> nn.Sequential:
    """Two blocks each of 16, 32 and 64 channels at 16, 8 and 4 pixels across, after a convolution with stride 2."""
    parts: list[tuple[str, nn.Module]] = [
        ("image", nn.Unflatten(1, (3, 32, 32))),
        ("input_norm", nn.BatchNorm2d(3)),
        ("stem", nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())),
    ]
    channels = [16, 16, 16, 32, 32, 64, 64]
    parts += [(f"block{i}", BasicBlock(*channels[i - 1 : i + 1])) for i in range(1, 7)]
    parts += [("mean", nn.AdaptiveAvgPool2d(1)), ("flat", nn.Flatten()), ("logits", nn.Linear(64, 10))]
    return nn.Sequential(OrderedDict(parts))


class TransformerBlock(nn.Module):
    """Attention and a two-layer network, each added to the tokens that go through (normalised first)."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.dropout(self.attention(h, h, h, need_weights=False)[0])
        return x + self.dropout(self.mlp(self.norm2(x)))


class TokenMean(nn.Module):
    """Mean over tokens."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


class Mean(nn.Module):
    """Mean over tokens."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(1)


class Patches(nn.Module):
    """Patches of 8×8 pixels as tokens, each with a learnt position added."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, 8, 8)
        self.position = nn.Parameter(0.02 * torch.randn(16, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).flatten(2).mT + self.position


def vit() -> nn.Sequential:
    """Six blocks of attention over 16 patches, with the mean over tokens at the end."""
    width = 64
    image, norm = nn.Unflatten(1, (3, 32, 32)), nn.BatchNorm2d(3)
    parts: list[tuple[str, nn.Module]] = [("image", image), ("input_norm", norm), ("patches", Patches(width))]
    parts += [(f"block{i}", TransformerBlock(width, 4, 0.0)) for i in range(1, 7)]
    parts += [("norm", nn.LayerNorm(width)), ("mean", Mean()), ("logits", nn.Linear(width, 10))]
    return nn.Sequential(OrderedDict(parts))


def resnet18() -> nn.Sequential:
    channels = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    stem = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    parts = [("image", nn.Unflatten(1, (3, 32, 32))), ("stem", stem)]
    parts += [(f"block{i}", BasicBlock(*channels[i - 1 : i + 1])) for i in range(1, 9)]
    parts += [("mean", nn.AdaptiveAvgPool2d(1)), ("flat", nn.Flatten()), ("logits", nn.Linear(512, 10))]
    return nn.Sequential(OrderedDict(parts))


NETWORKS = {"small ResNet": resnet, "small ViT": vit, "ResNet-18": resnet18}


def blocks(model: nn.Module) -> list[str]:
    return [name for name, _ in model.named_children() if name.startswith("block")]


def pictures(n: int) -> DataLoader:
    stream, y = Stream.of("benchmark beside others", 0), np.arange(n) % 10
    x = stream.normal("x", 0, (n, 3072)) + stream.normal("means", 0, (10, 3072))[y]
    return DataLoader(TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y)), batch_size=100)


@torch.no_grad()
def forward(model: nn.Module, loader: DataLoader) -> None:
    for x, _ in loader:
        model(x)


def ours(model: nn.Module, loader: DataLoader, **how) -> object:
    return load_curve(model, loader, layers="blocks", **how)


@contextlib.contextmanager
def hooked(model: nn.Module, take: Callable[[str, torch.Tensor], None]):
    """Hooks as they are written by hand."""
    handles = [
        model.get_submodule(name).register_forward_hook(lambda m, args, out, name=name: take(name, out.flatten(1)))
        for name in blocks(model)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def keep_all(model: nn.Module, loader: DataLoader) -> list[float]:
    """All features are kept, and the ratio of scatters is taken at the end."""
    kept: dict[str, list[torch.Tensor]] = {name: [] for name in blocks(model)}
    with hooked(model, lambda name, out: kept[name].append(out)):
        forward(model, loader)
    y, found = loader.dataset.tensors[1], []
    for parts in kept.values():
        x = torch.cat(parts)
        means = torch.stack([x[y == k].mean(0) for k in range(10)])
        within, between = (x - means[y]).square().sum(), (means[y] - x.mean(0)).square().sum()
        found.append(float(torch.log(within / between)))
    return found


def two_passes(model: nn.Module, loader: DataLoader) -> list[float]:
    """Class means in one pass, spreads about them in another: the way of accumulators for neural collapse."""
    sums: dict[str, torch.Tensor] = {}
    spread = dict.fromkeys(blocks(model), 0.0)
    count, labels = torch.zeros(10), torch.zeros(0)

    def add(name: str, out: torch.Tensor) -> None:
        member = nn.functional.one_hot(labels, 10).to(out.dtype)
        sums[name] = sums.get(name, 0) + member.T @ out

    def scatter(name: str, out: torch.Tensor) -> None:
        spread[name] += float((out - means[name][labels]).square().sum())

    with hooked(model, add), torch.no_grad():
        for x, labels in loader:
            count = count + torch.bincount(labels, minlength=10)
            model(x)
    means = {name: total / count[:, None] for name, total in sums.items()}
    with hooked(model, scatter), torch.no_grad():
        for batch in loader:
            x, labels = batch
            model(x)
    share = count / count.sum()
    between = {n: float((share @ (m - share @ m).square()).sum()) for n, m in means.items()}
    return [float(np.log(spread[n] / float(count.sum()) / between[n])) for n in spread]


def torch_cka(model: nn.Module, loader: DataLoader) -> object:
    found = importlib.import_module("torch_cka").CKA(model, model, "a", "b", blocks(model), blocks(model))
    found.compare(loader, loader)
    for module in model.modules():  # it leaves its hooks behind
        module._forward_hooks.clear()
    return found.hsic_matrix


def pytorch_cka(model: nn.Module, loader: DataLoader) -> object:
    return importlib.import_module("cka").compute_cka(
        model, model, loader, layers=blocks(model), device=torch.device("cpu")
    )


CONTENDERS: dict[str, Contender] = {
    "forward pass": forward,
    "load_curve": ours,
    "load_curve, no intervals": partial(ours, n_folds=1),
    "hooks, features kept": keep_all,
    "hooks, two passes": two_passes,
}
for module, found in {"torch_cka": torch_cka, "cka": pytorch_cka}.items():
    if importlib.util.find_spec(module):
        CONTENDERS[found.__name__.replace("_", "-")] = found


def run(contender: str, model: nn.Module, loader: DataLoader) -> object:
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CONTENDERS[contender](model, loader)


def network(name: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(Stream.of("benchmark", name).key >> 1)
        return NETWORKS[name]().eval()


MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
import beside_others as here
n = int(sys.argv[4])
x = torch.randn(100, 3072)
class Endless(torch.utils.data.Dataset):  # a set as long as one likes, which takes no memory
    tensors = None, torch.arange(n) % 10
    def __len__(self): return n
    def __getitem__(self, i): return x[i % 100], i % 10
here.run(sys.argv[3], here.network(sys.argv[2]), torch.utils.data.DataLoader(Endless(), 100))
# Not getrusage: its peak is handed down from the process that started this one.
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def peak_memory(model: str, contender: str, n: int) -> float:
    """MiB of a process that measures ``n`` samples, interpreter and libraries included."""
    command = [sys.executable, "-c", MEMORY, str(Path(__file__).parent), model, contender, str(n)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--contenders", nargs="*", default=list(CONTENDERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=int, nargs="*", default=[1000, 8000], help="samples of a process each")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    print(f"{machine()}; {a.threads} threads; torch {versions('torch')['torch']}; load {os.getloadavg()[0]:.1f}")
    loader = pictures(a.samples)
    for name in a.networks:
        model, taken = network(name), {contender: [] for contender in a.contenders}
        for turn in range(a.rounds + 1):
            for contender, times in taken.items():
                begin = time.perf_counter()
                run(contender, model, loader)
                if turn:  # the first round warms up
                    times.append(time.perf_counter() - begin)
        print(f"\n{name}, {a.samples} samples\n{'':24s}{'ms':>8s}{'of a forward pass':>20s}", end="")
        print("".join(f"{f'MiB, {n:,}':>14s}" for n in a.memory))
        for contender, times in taken.items():
            ratios = np.divide(times, taken["forward pass"])
            row = f"{contender:24s}{1e3 * np.median(times):8.0f}{np.median(ratios):13.2f}"
            row += f" ({ratios.min():.2f}–{ratios.max():.2f})".rjust(7)
            print(row + "".join(f"{peak_memory(name, contender, n):14.0f}" for n in a.memory), flush=True)


if __name__ == "__main__":
    main()
