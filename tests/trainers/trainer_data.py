"""Small data sets made here, so that trainer tests need no files."""

from types import SimpleNamespace

import numpy as np

from deepmech.core.random import Stream


def clusters(n: int, n_inputs: int, n_classes: int, seed: int = 0, width: float = 1.0) -> SimpleNamespace:
    """Gaussian clouds around random centres, every class present in both splits."""
    stream = Stream.of("tests", seed)
    centres = stream.normal("centres", 0, (n_classes, n_inputs))
    sets = {}
    for s, split in enumerate(("train", "test")):
        y = np.arange(n) % n_classes
        noise = stream.normal("clouds", s, (n, n_inputs))
        sets |= {f"x_{split}": (centres[y] + width * noise).astype(np.float32), f"y_{split}": y}
    return SimpleNamespace(**sets, n_classes=n_classes, fingerprint=f"clusters {n} {n_inputs} {n_classes} {seed}")
