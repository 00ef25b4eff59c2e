"""The locally elastic SDE: K classes whose features pull on one another, more within a class than between classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from deepmech.core import specs
from deepmech.core.labels import Number, ParameterGrid, align
from deepmech.core.specs import Spec

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
PANELS = 8
"""Gauss–Legendre panels (of 12 points) between two times for which an integral is wanted."""
#: What results hold, and in what units: pure numbers, as features and effects are.
ATTRS = {
    "feature_value": ("feature of a sample", "1"),
    "mean": ("mean feature of a class", "1"),
    "drawn": ("class that was drawn", "1"),
    "run": ("run", "1"),
    "time": ("time", "1"),
    "step": ("step", "1"),
    "class": ("class", "1"),
    "sample": ("sample", "1"),
    "feature": ("feature", "1"),
}


@dataclass(frozen=True, eq=False)
class PowerLaw(Spec):
    """The effect scale/(1 + t)^exponent + offset (paper B, Eq. D.17).

    Parameters
    ----------
    scale, exponent, offset : number or DataArray
        Scale and offset per unit of time; the exponent is a pure number.

    Examples
    --------
    >>> round(float(PowerLaw(scale=2.0, exponent=1.0).flat(scale=2.0, exponent=1.0, offset=0.0)[1](np.e - 1)), 6)
    2.0
    """

    CHECKS: ClassVar = {"scale": specs.between(), "exponent": specs.between(), "offset": specs.between()}

    scale: Number
    exponent: Number
    offset: Number = 0.0

    @staticmethod
    def flat(scale: Any, exponent: Any, offset: Any) -> tuple[Rate, Rate]:
        """The effect and its integral from 0, as functions of time that broadcast against the parameters."""

        def value(t: Any) -> Any:
            return scale * (1 + t) ** -exponent + offset

        def integral(t: Any) -> Any:
            log = np.log1p(t)
            # (e^{q log} − 1)/q without loss near q = 0, where it is the logarithm itself
            q = (1 - exponent) * log
            safe = np.where(q == 0, 1.0, q)
            return scale * log * np.where(q == 0, 1.0, np.expm1(safe) / safe) + offset * t

        return value, integral


Rate = Callable[[Any], Any]
Effect = Number | PowerLaw
"""A number, a labelled array (linear in between if it has a dimension ``time``), or a power law."""


def is_table(effect: Any) -> bool:
    return isinstance(effect, xr.DataArray) and "time" in effect.dims


def grid_fields(name: str, effect: Any) -> dict[str, Any]:
    """What of an effect takes part in broadcasting: its numbers, or the rows of its table."""
    if isinstance(effect, PowerLaw):
        return {f"{name}_{k}": getattr(effect, k) for k in ("scale", "exponent", "offset")}
    if is_table(effect):
        rows = effect.isel(time=0, drop=True)
        return {f"{name}_row": rows.copy(data=np.arange(rows.size).reshape(rows.shape))}
    return {name: effect}


def rate(name: str, effect: Any, flat: Any) -> tuple[Rate, Rate]:
    """An effect and its integral as functions of times (T,), for all members at once: (n, T) or (1, T)."""
    if isinstance(effect, PowerLaw):
        return PowerLaw.flat(
            *(np.asarray(flat[f"{name}_{k}"], float)[:, None] for k in ("scale", "exponent", "offset"))
        )
    if is_table(effect):
        return _table(effect, flat[f"{name}_row"])
    constant = np.asarray(flat[name], float)[:, None]
    return (lambda t: constant + 0 * np.asarray(t)), (lambda t: constant * np.asarray(t))


def _table(effect: xr.DataArray, rows: np.ndarray) -> tuple[Rate, Rate]:
    knots = np.asarray(effect["time"], float)
    values = effect.transpose(..., "time").values.reshape(-1, len(knots)).astype(float)[rows]
    steps = np.diff(knots)
    areas = np.concatenate([np.zeros((len(rows), 1)), np.cumsum((values[:, 1:] + values[:, :-1]) / 2 * steps, 1)], 1)

    def place(t: Any) -> tuple[np.ndarray, np.ndarray]:
        t = np.atleast_1d(np.asarray(t, float))
        if t.min() < knots[0] - 1e-9 or t.max() > knots[-1] + 1e-9:
            raise ValueError(
                f"an effect is tabulated from t = {knots[0]:g} to {knots[-1]:g} and was asked for at "
                f"{t.min() if t.min() < knots[0] else t.max():g}; extend the table or shorten the run"
            )
        i = np.clip(np.searchsorted(knots, t, "right") - 1, 0, len(knots) - 2)
        return i, t - knots[i]

    def value(t: Any) -> np.ndarray:
        i, rest = place(t)
        return values[:, i] + (values[:, i + 1] - values[:, i]) * rest / steps[i]

    def integral(t: Any) -> np.ndarray:
        i, rest = place(t)
        return areas[:, i] + (values[:, i] + value(t)) / 2 * rest

    return value, integral


def panels(ends: np.ndarray, number: int = PANELS) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, each (len(ends) − 1, ``number`` · 12), that integrate from each of ``ends`` to the next.

    Panels are even in log(1 + t), so that power laws over many decades are integrated as well as slow changes.
    """
    logs = np.log1p(ends)
    cuts = np.expm1(logs[:-1, None] + np.diff(logs)[:, None] * np.linspace(0, 1, number + 1))
    half = np.diff(cuts, axis=1)[..., None] / 2
    nodes = (cuts[:, :-1, None] + cuts[:, 1:, None]) / 2 + half * _NODES
    shape = (len(half), number * len(_NODES))
    return nodes.reshape(shape), (half * _WEIGHTS).reshape(shape)


STRUCTURES = ("isotropic", "logits")


@dataclass(frozen=True, eq=False)
class ElasticSDE(Spec):
    r"""Features of K classes under locally elastic training (paper B, Eqs. 1–6 and App. E).

    A sample of class c, drawn with probability p_c and labelled l with probability P_cl, pulls every feature of class
    k by E_kl(t) H_kl times its own feature. In the limit of small steps

    .. math::

        d\tilde X^k = \sum_c M_{kc}(t)\,\bar X^c\,dt + \sigma\,dW^k, \qquad
        M_{kc} = p_c \sum_l P_{cl}\,E_{kl}(t)\,H_{kl},

    with E_kk = α(t), E_kl = β(t). Balanced classes (p = 1/K) and true labels (P = 1) are the paper's Eq. 5.

    Parameters
    ----------
    intra, inter : number, DataArray or PowerLaw
        α(t) and β(t), per unit of time: a number, a labelled array, a labelled array with a dimension
        ``time`` (linear in between), or a :class:`PowerLaw`.
    n_classes, n_features : int
        K ≥ 2 and p ≥ 1. By default p = K for ``"logits"``, 1 for ``"isotropic"``, and what an array
        says.
    structure : str or array_like
        H: ``"isotropic"`` (H_kl = 1, the I-model), ``"logits"`` (H_kl = d_l d_lᵀ/|d_l|² with d_l = e_l − 1/K,
        Eq. 8, the L-model, p = K), or an array (K, K, p, p) of blocks.
    noise : number or DataArray
        σ ≥ 0: feature × time^−½.
    class_weights : array_like, optional
        p_c, K positive numbers that add up to 1; None for balanced classes.
    label_mixing : number or DataArray
        p_err, the fraction of each class whose labels are spread evenly over the other classes, which makes P.

    Examples
    --------
    >>> from deepmech import over
    >>> model = ElasticSDE(intra=over("intra", [0.5, 1.0, 2.0]), inter=1.0, n_classes=3)
    >>> model.gap(0.0).values.tolist()
    [-0.5, 0.0, 1.0]
    """

    CHECKS: ClassVar = {
        "n_classes": specs.whole(2),
        "n_features": specs.whole(1),
        "noise": specs.not_negative(),
        "label_mixing": specs.between(0, np.nextafter(1, 2), "between 0 and 1 (a fraction of labels)"),
    }

    SINGLE: ClassVar = ("n_classes", "n_features")

    intra: Effect = 1.0
    inter: Effect = 0.0
    n_classes: int = 2
    n_features: int | None = None
    structure: Any = "isotropic"
    noise: Number = 1.0
    class_weights: Any = None
    label_mixing: Number = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.structure, str):
            self.check("structure", self.structure in STRUCTURES, f"one of {STRUCTURES} or an array")
        else:
            self._check_table("structure", None, f"one of {STRUCTURES} or an array of blocks", lambda h: h.ndim == 4)
        if self.n_features is None:
            object.__setattr__(self, "n_features", self._features_of_structure())
        k, p = self.n_classes, self.n_features
        if self._named("logits"):
            self.check("n_features", p == k, f"n_classes = {k} in the logits structure (one logit per class)")
        if not isinstance(self.structure, str):
            shape = np.shape(self.structure)
            words = f"one of {STRUCTURES}, or blocks of shape {(k, k, p, p)}, not {shape}"
            self.check("structure", shape == (k, k, p, p), words)
        for field in ("intra", "inter"):
            value = getattr(self, field)
            if isinstance(value, dict) and value.get("spec") == "PowerLaw":  # as JSON has it
                object.__setattr__(self, field, PowerLaw.from_json(value))
            elif not isinstance(value, PowerLaw):
                specs.check_each(f"ElasticSDE.{field}", value, specs.between())
            if is_table(value):
                t = np.asarray(value["time"], float)
                rises = len(t) > 1 and bool(np.all(np.diff(t) > 0))
                self.check(field, rises, "tabulated at two or more rising times")
        if self.class_weights is not None:
            allowed = f"{k} positive numbers that add up to 1"
            self._check_table("class_weights", (k,), allowed, lambda w: (w > 0).all() and abs(w.sum() - 1) < 1e-9)
        self.grid()

    def _check_table(
        self, field: str, shape: tuple[int, ...] | None, allowed: str, rule: Callable[[np.ndarray], Any] = np.shape
    ) -> None:
        """A ValueError unless a field holds finite numbers of this shape (None: any) that obey a rule."""
        values = specs.check_array(f"ElasticSDE.{field}", getattr(self, field), allowed)
        good = np.isfinite(values).all() and shape in (None, values.shape) and rule(values)
        self.check(field, bool(good), allowed)

    def _named(self, name: str) -> bool:
        return isinstance(self.structure, str) and self.structure == name

    def _features_of_structure(self) -> int:
        if isinstance(self.structure, str):
            return self.n_classes if self._named("logits") else 1
        return max(1, np.shape(self.structure)[-1])

    @property
    def isotropic(self) -> bool:
        """Whether H_kl = 1, so that features do not mix."""
        return self._named("isotropic")

    @property
    def symmetric(self) -> bool:
        """Whether all classes are alike: balanced, as true and evenly mixed labels are."""
        return self.class_weights is None

    def grid(self, **more: Number) -> ParameterGrid:
        """All numbers of the model (and of ``more``) broadcast to one flat grid."""
        fields = {**grid_fields("intra", self.intra), **grid_fields("inter", self.inter)}
        return align("ElasticSDE", ATTRS, **fields, noise=self.noise, label_mixing=self.label_mixing, **more)

    def rates(self, grid: ParameterGrid | None = None) -> tuple[tuple[Rate, Rate], tuple[Rate, Rate]]:
        """(α, A) and (β, B) as functions of an array of times, for all members at once."""
        flat = (grid or self.grid()).flat
        return rate("intra", self.intra, flat), rate("inter", self.inter, flat)

    def gap(self, t: Any) -> xr.DataArray:
        """α(t) − β(t), what decides whether differences between classes grow; over the model's dimensions and time."""
        grid = self.grid()
        (alpha, _), (beta, _) = self.rates(grid)
        times = np.atleast_1d(specs.check_array("ElasticSDE.gap: t", t))
        specs.check("ElasticSDE.gap: t", t, times.ndim == 1, "a time, or a list of times")
        values = np.broadcast_to(alpha(times) - beta(times), (grid.n, len(times)))
        dims, data = grid.unflatten(values, "time")
        out = xr.DataArray(data, dims=dims, coords={**grid.coords, "time": times})
        return out if np.ndim(t) else out.isel(time=0, drop=True)

    def check_memory(self) -> None:
        """A ValueError if matrices over all classes, and features where they mix, are larger than the memory."""
        size = 1.0 * self.n_classes * (1 if self.isotropic else int(self.n_features or 1))
        specs.check_memory("ElasticSDE.n_classes", self.n_classes, 4 * self.grid().n * size**2)

    def blocks(self) -> np.ndarray:
        """H as an array (K, K, p, p) of blocks H_kl."""
        k, p = self.n_classes, self.n_features
        assert p is not None
        if self._named("isotropic"):
            return np.broadcast_to(np.eye(p), (k, k, p, p)).copy()
        if self._named("logits"):
            return mixed_logits(k, 1.0)
        return np.asarray(self.structure, float)

    def mixing(self, grid: ParameterGrid) -> np.ndarray:
        """P of every member, (n, K, K)."""
        k = self.n_classes
        wrong = np.asarray(grid.flat["label_mixing"], float)[:, None, None]
        return (1 - wrong) * np.eye(k) + wrong / (k - 1) * (1 - np.eye(k))

    def weights(self) -> np.ndarray:
        """p_c, K numbers."""
        k = self.n_classes
        return np.full(k, 1 / k) if self.class_weights is None else np.asarray(self.class_weights, float)

    def drift_parts(self, grid: ParameterGrid) -> tuple[np.ndarray, np.ndarray]:
        """M = α(t) M_α + β(t) M_β: the two parts, (n, d, d) each.

        d = K where H is isotropic (features do not mix) and Kp otherwise.
        """
        k = self.n_classes
        blocks = None if self.isotropic else self.blocks()
        weights, mixing = self.weights(), self.mixing(grid)
        intra, inter = (drift_matrix(e, blocks, weights, mixing) for e in (np.eye(k), 1 - np.eye(k)))
        return intra, inter


def drift_matrix(effects: np.ndarray, blocks: np.ndarray | None, weights: Any, mixing: np.ndarray) -> np.ndarray:
    """M with the blocks M_kc = p_c Σ_l P_cl E_kl H_kl, for numbers E (K, K) and any number of mixings P (n, K, K).

    Parameters
    ----------
    effects : array_like, (K, K)
        E, per unit of time.
    blocks : array_like, (K, K, p, p), or None
        H; None is H_kl = 1.
    weights : array_like, (K,)
        p_c.
    mixing : array_like, (n, K, K)
        P.

    Returns
    -------
    ndarray
        (n, K, K) without ``blocks``, (n, Kp, Kp) with them.

    Raises
    ------
    ValueError
        If these are not real numbers, or of shapes that do not fit.

    Examples
    --------
    >>> drift_matrix(np.array([[2.0, 1.0], [1.0, 2.0]]), None, [0.75, 0.25], np.eye(2)[None])[0].tolist()
    [[1.5, 0.25], [0.75, 0.5]]
    """
    effects, mixing, weights = (
        specs.check_array(f"drift_matrix: {name}", value)
        for name, value in (("effects", effects), ("mixing", mixing), ("weights", weights))
    )
    blocks = None if blocks is None else specs.check_array("drift_matrix: blocks", blocks)
    k = len(weights) if weights.ndim == 1 else 0
    if (
        effects.shape != (k, k)
        or mixing.shape[1:] != (k, k)
        or (blocks is not None and (blocks.ndim != 4 or blocks.shape[:2] != (k, k)))
    ):
        raise ValueError(
            f"drift_matrix: effects {effects.shape}, weights {weights.shape}, mixing {mixing.shape}, blocks "
            f"{None if blocks is None else blocks.shape}: give (K, K), (K,), (n, K, K), and (K, K, p, p) or None"
        )
    labelled = weights[:, None] * mixing
    if blocks is None:
        return np.einsum("ncl,kl->nkc", labelled, effects)
    m = np.einsum("ncl,kl,klij->nkicj", labelled, effects, blocks, optimize=["einsum_path", (1, 2), (0, 1)])
    return m.reshape(len(m), m.shape[1] * m.shape[2], -1)


def mixed_logits(n_classes: int, own: Any) -> np.ndarray:
    """H of Eq. E.1: every class pulls along its own direction d_j and, less, along those of the others.

    Parameters
    ----------
    n_classes : int
        K ≥ 2.
    own : float or array_like
        p_j^j, the same for all classes, with the rest spread evenly over the other directions; or all shares p_l^j
        as an array (K, K), one row per pulling class j, with rows that add up to 1.

    Returns
    -------
    ndarray
        Blocks (K, K, K, K): H_ij = Σ_l p_l^j d_l d_lᵀ/|d_l|², the same for all i. With ``own = 1`` the L-model.

    Raises
    ------
    ValueError
        For less than two classes, or shares that do not add up to 1.

    Examples
    --------
    >>> mixed_logits(3, 1.0)[0, 2].round(3).tolist()
    [[0.167, 0.167, -0.333], [0.167, 0.167, -0.333], [-0.333, -0.333, 0.667]]
    """
    k, share = specs.check_int("mixed_logits: n_classes", n_classes, 2), specs.check_array("mixed_logits: own", own)
    specs.check_memory("mixed_logits: n_classes", k, k**4)
    if share.ndim == 0:
        if not 0 <= share <= 1:
            raise ValueError(f"mixed_logits: own = {own!r}: must be a share between 0 and 1, or an array of shares")
        share = np.where(np.eye(k, dtype=bool), share, (1 - share) / (k - 1))
    if share.shape != (k, k) or not np.isfinite(share).all() or np.any(abs(share.sum(1) - 1) > 1e-9):
        raise ValueError(
            f"mixed_logits: own of shape {share.shape}: must be a share, or ({k}, {k}) shares in rows that add up to 1"
        )
    d = np.eye(k) - 1 / k
    one = np.einsum("li,lj->lij", d, d) / (1 - 1 / k)
    return np.broadcast_to(np.einsum("jl,lab->jab", share, one), (k, k, k, k)).copy()
