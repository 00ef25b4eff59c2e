"""Small data sets made here, so that trainer tests need no files."""

from types import SimpleNamespace

import numpy as np

from deepmech.core.random import Stream


def clusters(n: int, n_inputs: int, n_classes: int) -> SimpleNamespace:
    """Gaussian clouds around random centres, every class present in both splits."""
    stream = Stream.of("tests", 0)
    centres = stream.normal("centres", 0, (n_classes, n_inputs))
    sets = {}
    for s, split in enumerate(("train", "test")):
        y = np.arange(n) % n_classes
        noise = stream.normal("clouds", s, (n, n_inputs))
        sets |= {f"x_{split}": (centres[y] + noise).astype(np.float32), f"y_{split}": y}
    return SimpleNamespace(**sets, n_classes=n_classes, fingerprint=f"clusters {n} {n_inputs} {n_classes} 0")


def pictures(n: int = 40, side: int = 6, channels: int = 2) -> SimpleNamespace:
    """The same clouds, seen as square images."""
    data = clusters(n, channels * side * side, 3)
    data.shape = (channels, side, side)
    return data


def noise(n: int, n_channels: int, n_classes: int, seed: int = 0) -> SimpleNamespace:
    """Random images of 32×32: every pixel matters, so a tap or an edge in the wrong place shows."""
    s = Stream.of("test lenet", seed)
    x = s.uniform("x", 0, (n, n_channels * 1024)).astype(np.float32)
    y = (s.uniform("y", 0, n) * n_classes).astype(np.int64)
    return SimpleNamespace(
        x_train=x, y_train=y, x_test=x[: n // 2], y_test=y[: n // 2], n_classes=n_classes,
        shape=(n_channels, 32, 32), fingerprint=f"noise {seed}",
    )  # fmt: skip


def bent(n: int = 150, d: int = 4, seed: int = 0, name: str = "test langevin") -> SimpleNamespace:
    """Points with signs that no plane separates."""
    x = Stream.of(name, seed).normal("x", 0, (n, d))
    return SimpleNamespace(x=x, y=np.where(x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3, 1.0, -1.0), fingerprint="test")
