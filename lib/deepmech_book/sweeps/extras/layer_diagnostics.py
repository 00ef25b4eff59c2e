"""What is measured of one fully connected network of the zoo: its layers taken apart, forward and backward.

In evaluation mode BatchNorm is an affine map, so a network is

.. math:: a_0 = g_0 x + s_0, \\quad h_\\ell = W_\\ell a_{\\ell-1}, \\quad z_\\ell = g_\\ell h_\\ell + s_\\ell, \\quad
   a_\\ell = c\\,\\sigma(z_\\ell), \\quad f = W_L a_{L-1} + s_L

with gains g and shifts s that hold its running averages; without BatchNorm the gains are one and the shifts biases.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from deepmech.core.random import Stream
from deepmech.metrics.separation import data_separation
from deepmech.trainers.engines.compiled.mlp import EPSILON, CompiledMLP

SPLITS = ("train", "validation", "test")
MEASURED = SPLITS[:2]
"""Whose load curves are taken."""
RANDOM, WORST, DRAWS = 0.1, 0.5, 2
"""Relative size of a random change of every weight, and of a step uphill; random changes that are drawn."""


class LayerDiagnostics:
    """Measures the network that ``engine`` trains, as often as asked; the first time is when it is made.

    ``deepest`` is the most Linear layers that a network has: all arrays are padded to it with nan.
    """

    DIMS: ClassVar[dict[str, tuple[str, ...]]] = {
        "load_curve": ("split", "layer"),
        "load_linear": ("layer",),
        "load_norm": ("layer",),
        "load_curve_hat": ("layer",),
        "accuracy": ("split",),
        "loss": ("split",),
        **dict.fromkeys(("margin", "path_norm", "sharpness_random", "sharpness_worst"), ()),
        **dict.fromkeys(
            ("frobenius", "spectral", "distance", "overlap", "gradient", "noise_weights", "noise_bias"), ("map",)
        ),
    }
    """
    - ``load_curve`` (split, layer): D_ℓ of a_ℓ, debiased, not of the test split; ``load_curve_hat`` (layer): D̂_ℓ of
      training samples;
    - ``load_linear``, ``load_norm`` (layer): D of h_ℓ and of z_ℓ, debiased, of training samples;
    - ``accuracy``, ``loss`` (split): cross-entropy;
    - ``margin``: a tenth of the training samples have a smaller one, f of the true class less that of the best other;
    - ``path_norm``: square root of the sum over paths of squared products of weights;
    - ``sharpness_random``, ``sharpness_worst``: rise of the training loss when each weight changes by a tenth of itself
      at random, mean of two draws; and after a step uphill, by half in all, relative to the weights;
    - ``frobenius``, ``spectral`` (map): norms of g_ℓ W_ℓ, with the input's gains in the first and c in the others;
    - ``distance`` (map): of W_ℓ from its start, over the norm of that; ``overlap``: share of its weights that moved
      less than a tenth of their initial spread;
    - ``gradient`` (map): squared norm of the loss's gradient in W_ℓ; ``noise_weights``, ``noise_bias``: trace of its
      covariance over samples, in W_ℓ and in its shift.
    """
    COORDS: ClassVar[dict[str, Any]] = {"split": list(SPLITS), "layer": np.arange(8), "map": np.arange(1, 9)}

    def __init__(self, engine: CompiledMLP, images: Any, n_validation: int, deepest: int) -> None:
        self.engine, self.deepest = engine, deepest
        self.samples = split(images, n_validation)
        self.start = [w.copy() for w in self._weights()]

    def missing(self) -> dict[str, np.ndarray]:
        """What is measured of no network: nan."""
        size = {"split": len(SPLITS), "layer": self.deepest, "map": self.deepest}
        return {name: np.full([size[d] for d in dims], np.nan) for name, dims in self.DIMS.items()}

    def training_loss(self) -> float:
        """Cross-entropy of the training samples, without any noise."""
        x, y = self.samples["train"]
        return float(np.mean(cross_entropy(self.engine.features(x)[1], y)))

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def measure(self, untrained: bool = False) -> dict[str, np.ndarray]:
        """All of :data:`DIMS`, of the network as it is now; nan throughout if it is not finite.

        Of an ``untrained`` network only what training samples say.
        """
        output, net = self.missing(), self._affine()
        for s, (x, y) in enumerate(self.samples.values()):
            if s and untrained:
                break
            linear, bent, activations, out = self._forward(x, *net)
            if not all(np.isfinite(a).all() for a in (*activations, out)):
                return self.missing()
            output["accuracy"][s] = np.mean(out.argmax(1) == y)
            output["loss"][s] = np.mean(cross_entropy(out, y))
            classes = out.shape[1]
            if s < len(MEASURED):
                output["load_curve"][s, : len(activations)] = [_separation(a, y, classes) for a in activations]
            if s == 0:
                place = slice(1, len(activations))
                output["load_linear"][place] = [_separation(h, y, classes) for h in linear]
                output["load_norm"][place] = [_separation(z, y, classes) for z in bent]
                output["load_curve_hat"][: len(activations)] = [
                    data_separation(a, y, metric="D_hat", n_classes=classes) for a in activations
                ]
                self._of_training(output, bent, activations, out, y, net)
        return output

    def _of_training(self, output: Any, bent: Any, activations: Any, out: np.ndarray, y: np.ndarray, net: Any) -> None:
        gains, shifts = net
        depth, n, weights = len(self.start), len(y), self._weights()
        others = out.copy()
        others[np.arange(n), y] = -np.inf
        output["margin"][...] = np.quantile(out[np.arange(n), y] - others.max(1), 0.1)
        folded = [weights[0] * gains[0], *(w * np.float32(self.engine.member.scale) for w in weights[1:])]
        folded = [w * gains[i][:, None] if i < depth else w for i, w in enumerate(folded, start=1)]
        squares = [np.square(w.astype(np.float64)) for w in folded]
        paths = np.ones(folded[0].shape[1])
        for square in squares:
            paths = square @ paths
        output["path_norm"][...] = np.sqrt(paths.sum())
        slopes = self._backward(bent, out, y, gains, weights)
        means: list[np.ndarray] = []
        for i, (w, first, a, d) in enumerate(zip(weights, self.start, activations, slopes, strict=True)):
            output["frobenius"][i] = np.sqrt(squares[i].sum())
            output["spectral"][i] = np.linalg.norm(folded[i], 2)
            output["distance"][i] = np.linalg.norm(w - first) / np.linalg.norm(first)
            output["overlap"][i] = np.mean(np.abs(w - first) < first.std() / 10)
            mean, length = d.T @ a / n, np.square(d).sum(1)
            output["gradient"][i] = np.square(mean).sum()
            output["noise_weights"][i] = np.mean(length * np.square(a).sum(1)) - np.square(mean).sum()
            output["noise_bias"][i] = np.mean(length) - np.square(d.mean(0)).sum()
            means.append(mean)
        loss, x = float(output["loss"][0]), self.samples["train"][0]

        def rise(changed: list[np.ndarray]) -> float:
            out = self._forward(x, gains, shifts, changed)[3]
            return float(np.mean(cross_entropy(out, y))) - loss

        shaken = []
        for draw in range(DRAWS):
            noise = [Stream.of("sharpness").normal(f"weight {i}", draw, w.shape) for i, w in enumerate(weights)]
            shaken.append(rise([w * (1 + RANDOM * e.astype(np.float32)) for w, e in zip(weights, noise, strict=True)]))
        output["sharpness_random"][...] = np.mean(shaken)
        # Relative to the weights, a step uphill is along w ∂loss/∂w.
        length = np.sqrt(sum(np.square(w * g).sum() for w, g in zip(weights, means, strict=True)))
        far = np.float32(WORST / max(float(length), 1e-30))
        output["sharpness_worst"][...] = rise([w + far * w * w * g for w, g in zip(weights, means, strict=True)])

    def _weights(self) -> list[np.ndarray]:
        e = self.engine
        return [e.part(e.net, e.net.p, "weight", i) for i in range(1, len(e.sizes))]

    def _affine(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Gains and shifts of all layers, the input first."""
        e, gains, shifts = self.engine, [], []
        for i, units in enumerate(e.sizes):
            gain, shift = np.ones(units, np.float32), e.part(e.net, e.net.p, "shift", i)
            if e.normed and i < len(e.sizes) - 1:
                spread = np.sqrt(e.net.running_var[i, :units] + EPSILON)
                wide = e.part(e.net, e.net.p, "gain", i) / spread
                shift = (shift - (e.net.running_mean[i, :units] - e.net.unlearnt[i, :units]) * wide).astype(np.float32)
                gain = wide.astype(np.float32)
            gains.append(gain)
            shifts.append(shift if i or e.normed else np.zeros(units, np.float32))
        return gains, shifts

    def _forward(
        self, x: np.ndarray, gains: list[np.ndarray], shifts: list[np.ndarray], weights: list[np.ndarray] | None = None
    ) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray], np.ndarray]:
        """h and z of hidden layers, a of the input and of hidden layers, f."""
        weights = self._weights() if weights is None else weights
        slope, scale = np.float32(self.engine.spec.slope), np.float32(self.engine.member.scale)
        linear, bent, activations = [], [], [x * gains[0] + shifts[0]]
        for i, w in enumerate(weights[:-1], start=1):
            linear.append(activations[-1] @ w.T)
            bent.append(linear[-1] * gains[i] + shifts[i])
            activations.append(scale * np.maximum(bent[-1], slope * bent[-1]))
        return linear, bent, activations, activations[-1] @ weights[-1].T + shifts[-1]

    def _backward(
        self, bent: list[np.ndarray], out: np.ndarray, y: np.ndarray, gains: list[np.ndarray], weights: list[np.ndarray]
    ) -> list[np.ndarray]:
        """Derivative of each sample's loss in what W_1 … W_L return, each (n, units)."""
        scale = self.engine.member.scale
        d = np.exp(out - out.max(1, keepdims=True))
        d /= d.sum(1, keepdims=True)
        d[np.arange(len(y)), y] -= 1
        slopes = [d]
        for i in range(len(weights) - 1, 0, -1):
            back = np.where(bent[i - 1] > 0, np.float32(scale), np.float32(scale * self.engine.spec.slope)) * gains[i]
            slopes.append(slopes[-1] @ weights[i] * back)
        return slopes[::-1]


def split(images: Any, n_validation: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Samples and labels by :data:`SPLITS`; the first ``n_validation`` test images are the validation split."""
    x, y = images.x_test, images.y_test
    held = {"validation": (x[:n_validation], y[:n_validation]), "test": (x[n_validation:], y[n_validation:])}
    return {"train": (images.x_train, images.y_train), **held}


def _separation(features: np.ndarray, y: np.ndarray, classes: int) -> float:
    return float(data_separation(features, y, n_classes=classes, debias=True))


def cross_entropy(out: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of each sample, float64."""
    out = out - out.max(1, keepdims=True)
    own = out[np.arange(len(y)), y].astype(np.float64)
    return np.asarray(np.log(np.exp(out).sum(1, dtype=np.float64)) - own)
