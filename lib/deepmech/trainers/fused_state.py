"""What the compiled engine's steps work on: one network, buffers, the training set, an epoch's constants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Net(NamedTuple):
    """Parameters of one network, and where they lie; layer 0 is the input, the last one the output.

    ``p`` and ``g`` (parameters and gradient) hold for each layer gain, shift and, from layer 1, the weight with shape
    (units below, padded units). With BatchNorm gain and shift are γ and β, without it the shift is the bias.
    """

    units: np.ndarray
    padded: np.ndarray
    weight: np.ndarray
    gain: np.ndarray
    shift: np.ndarray
    p: np.ndarray
    g: np.ndarray
    moments: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    running_mean: np.ndarray
    running_var: np.ndarray
    still: np.ndarray
    normed: bool
    bias: bool
    slope: float
    scale: float


class Work(NamedTuple):
    """Buffers for batches of up to a given number of samples."""

    x: np.ndarray
    h: np.ndarray
    d: np.ndarray
    out: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    keep: np.ndarray
    folded: np.ndarray
    turned: np.ndarray
    coefficients: np.ndarray
    partial: np.ndarray
    sums: np.ndarray
    labels: np.ndarray
    words: np.ndarray
    normals: np.ndarray


class Data(NamedTuple):
    """The training set, padded; of ``y`` and ``targets`` the one that the loss does not need is empty."""

    x: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    n_classes: int
    squared: bool


class Now(NamedTuple):
    """What holds during one epoch. Thresholds are probabilities in units of 2⁻¹⁶."""

    key: np.uint64
    purposes: np.ndarray
    drop: int
    factor: float
    noise: float
    relabel: int
    adam: bool
    rate: float
    momentum: float
