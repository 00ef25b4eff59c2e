"""Moments of classes dealt into folds: data separation, and what it is without each fold, from one pass.

Samples are dealt to folds (:class:`FoldAssigner`). For each fold and class there are a count, a sum of features
and a sum of squares, all measured from one sample of the class, so that neither a large offset nor collapsed classes
cost digits. D without a fold follows from these sums, and from all of these its interval, by the jackknife. Memory
does not grow with the number of samples. Features beyond 1e±100 are kept times a power of two, on which D does not
depend.

Where several samples show one object, those of an object, a group, are all in one fold; folds are then what is
independent, and the sampling noise of class means is estimated from how far sums of folds scatter, as cluster-robust
variances are (Bell and McCaffrey, Survey Methodology 28, 169 (2002)). Sums of squares of each feature tell how much of
the variance one feature has.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch

from deepmech.core import specs
from deepmech.core.compiled import KERNEL, Floats, Ints, njit
from deepmech.metrics.separation import debiased, require_finite

FOLDS = 20
"""Folds that samples are dealt into by default."""
_LARGEST = 2**28  # bytes of one layer's sums; with more there are fewer folds
_AT_ONCE = 2**18  # numbers that are shifted at a time
_SINGLE = 1e-12, 1e15  # squares of smaller and of larger features are no numbers of single precision
_STRETCH = 512  # squares that are added in the features' own precision
_WIDE = 2048  # features from which on samples of a fold are added one after another, while its sums are at hand


class FoldAssigner:
    """Deals samples to folds by a hash of their running number: at random, whatever their class and order.

    Where classes were drawn with the samples, their shares scatter, and folds have to scatter alike for an interval to
    tell. Who measures the same samples in the same order gets the same folds, whatever the batches.

    Parameters
    ----------
    n_folds : int

    Attributes
    ----------
    seen : tensor (K,), samples of each class so far; where groups were given, groups.
    fold_of : dict, the fold of each group so far.

    Examples
    --------
    >>> FoldAssigner(3)(torch.tensor([0, 0, 0, 1, 1])).tolist()
    [1, 0, 1, 1, 1]
    >>> FoldAssigner(3)(torch.tensor([0, 0, 0, 1, 1]), np.array(list("aabcc"))).tolist()
    [1, 1, 0, 1, 1]
    """

    def __init__(self, n_folds: int = FOLDS) -> None:
        self.n_folds = n_folds
        self.seen = torch.zeros(0, dtype=torch.int64)
        self.fold_of: dict[Any, int] = {}
        self._classes_of_groups: set[tuple[Any, int]] = set()

    def __call__(self, labels: torch.Tensor, groups: np.ndarray | None = None) -> torch.Tensor:
        """The fold of each sample of a batch, from its class number.

        With ``groups``, the names of the objects that samples show, objects are dealt, by their first samples.
        """
        if groups is None:
            fold = self._deal(int(self.seen.sum()), len(labels))
            self._count(labels)
            return fold
        names, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        new = [i for i in first.argsort() if names[i].item() not in self.fold_of]
        pairs = set(zip(groups.tolist(), labels.tolist(), strict=True)) - self._classes_of_groups
        self._classes_of_groups |= pairs
        self._count(torch.tensor([label for _, label in pairs], dtype=torch.int64))
        dealt = self._deal(len(self.fold_of), len(new))
        self.fold_of |= zip(names[new].tolist(), dealt.tolist(), strict=True)
        return torch.tensor([self.fold_of[name] for name in names.tolist()], dtype=torch.int64)[inverse]

    def _deal(self, begin: int, n: int) -> torch.Tensor:
        """Folds of ``n`` running numbers from ``begin`` on."""
        number = begin + np.arange(n, dtype=np.uint64)
        return torch.from_numpy((_hash(number) % np.uint64(self.n_folds)).astype(np.int64))

    def _count(self, classes: torch.Tensor) -> None:
        count = torch.bincount(classes, minlength=len(self.seen))
        self.seen = torch.nn.functional.pad(self.seen, (0, len(count) - len(self.seen))) + count


def _hash(number: np.ndarray) -> np.ndarray:
    """64 random bits of each whole number: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class FoldMoments:
    """Sums of features by fold and class, of one layer; ``n_folds`` is a number that :class:`FoldAssigner` had.

    With one fold there is D without an interval. Where sums take more than 256 MiB, folds are joined, to a number
    that divides theirs.

    Parameters
    ----------
    n_classes, n_folds : int
    grouped : bool
        Whether several samples may show one object, all of them in one fold. Debiased D then takes what means scatter
        by from sums of folds, which have to be two or more.

    Examples
    --------
    >>> x, y = torch.arange(40.0)[:, None] ** 2, torch.arange(40) // 20
    >>> moments = FoldMoments(2, 4).update(x, y, FoldAssigner(4)(y))
    >>> round(moments.separation(debias=False), 3), moments.leave_one_out().shape
    (-0.854, (4,))
    """

    def __init__(self, n_classes: int, n_folds: int = FOLDS, grouped: bool = False) -> None:
        specs.check_memory("n_folds", n_folds, 2.0 * n_folds * n_classes)
        self.n_classes, self.n_folds, self.grouped = n_classes, n_folds, grouped
        self.count = torch.zeros(n_folds, n_classes, dtype=torch.float64)
        self.square = torch.zeros(n_folds, n_classes, dtype=torch.float64)
        self.anchor = torch.zeros(n_classes, 0)  # (K, d), a sample of each class
        self.sum = torch.zeros(n_folds, n_classes, 0)  # (G, K, d), of features less their anchors
        self.feature_square = torch.zeros(n_folds, 0)  # (G, d), of squares of the same
        self.scale = 1.0  # of features in all sums

    def update(self, features: torch.Tensor, labels: torch.Tensor, folds: torch.Tensor) -> Self:
        """Add a batch (n, d) with the class and the fold of each sample, (n,).

        Features of single precision or less are summed in single precision, within their fold, all else in double.
        """
        if features.is_complex():
            raise ValueError(f"features have type {features.dtype}: must be real; take the real part, or the modulus")
        x = features.detach()
        x = x.cpu() if x.device.type == "mps" else x  # Apple's GPUs have no double precision
        x = x.float() if x.is_floating_point() and x.dtype != torch.float64 else x.double()
        # Both ends in one pass, which takes a tenth of the time of torch's largest norm.
        largest = max(map(abs, torch.stack(x.aminmax()).tolist())) if x.numel() else 0.0
        if not largest < np.inf:  # before anything is added
            require_finite(x)
        self._begin(x)
        x = self._in_range(x, largest)
        y, cell = labels.to(x.device), (folds % self.n_folds * self.n_classes + labels).to(x.device)
        fresh = self.count.sum(0) == 0
        if bool(fresh.any()):
            first = torch.full((self.n_classes,), len(x), device=x.device)
            first.scatter_reduce_(0, y, torch.arange(len(x), device=x.device), "amin")
            new = ((first < len(x)) & fresh).nonzero()[:, 0]
            self.anchor[new] = x[first[new]]
        add = self._add if x.device.type == "cpu" else self._add_on_device
        square = add(x, y, cell)
        self.square.view(-1).index_add_(0, cell, square)
        self.count.view(-1).index_add_(0, cell, torch.ones_like(square))
        return self

    def _add(self, x: torch.Tensor, y: torch.Tensor, cell: torch.Tensor) -> torch.Tensor:
        """Add samples to the sums of their cells; returns their squared distances from the anchors of their classes."""
        square, total = torch.zeros(len(x), dtype=torch.float64), self.sum.view(-1, x.shape[1])
        order = (cell // self.n_classes).argsort(stable=True) if x.shape[1] > _WIDE else torch.arange(len(x))
        _add_rows(
            x.contiguous().numpy(), self.anchor.numpy(), y.numpy(), cell.numpy(), total.numpy(),
            self.feature_square.numpy(), square.numpy(), order.numpy(), _STRETCH,
        )  # fmt: skip
        return square

    def _add_on_device(self, x: torch.Tensor, y: torch.Tensor, cell: torch.Tensor) -> torch.Tensor:
        """The same by torch's functions."""
        squares, step = [], max(1, _AT_ONCE // x.shape[1])  # fresh memory is what large features cost most
        for some, k, at in zip(*(torch.split(t, step) for t in (x, y, cell)), strict=True):
            shifted = self.anchor.index_select(0, k)
            torch.sub(some, shifted, out=shifted)
            self.sum.view(-1, x.shape[1]).index_add_(0, at, shifted)
            self.feature_square.index_add_(0, at // self.n_classes, shifted.square_())
            squares.append(shifted.sum(1).double())
        return torch.cat(squares)

    def _begin(self, x: torch.Tensor) -> None:
        """Sums for features of this length, precision and device."""
        length = self.anchor.shape[1]
        if x.shape[1] == 0 or length not in (0, x.shape[1]):
            before = f", earlier batches had {length}" if length else ": they have no separation"
            raise ValueError(f"features have {x.shape[1]} columns{before}")
        if not length:
            self.count, self.square = self.count.to(x.device), self.square.to(x.device)
            self._check_memory(x.shape[1])
            self.anchor = x.new_zeros(self.n_classes, x.shape[1])
            self.coarsen()
            self.sum = x.new_zeros(self.n_folds, *self.anchor.shape)
            self.feature_square = x.new_zeros(self.n_folds, x.shape[1])

    def _check_memory(self, length: int) -> None:
        needed = 40.0 * self.n_classes * length  # of anchors, sums and means
        if needed > specs.total_memory():
            raise ValueError(
                f"sums of {self.n_classes} classes of {length} features take {needed / 2**30:.3g} GiB, more than this "
                "machine has: average over positions, pool=mean_pool"
            )

    def _in_range(self, x: torch.Tensor, largest: float) -> torch.Tensor:
        """Features, and all sums so far, in a precision and on a scale in which their squares are numbers."""
        empty = not (bool(self.square.any()) or bool(self.anchor.any()))
        single = x.dtype == self.anchor.dtype == torch.float32 and largest < _SINGLE[1]
        if not single or (empty and 0 < largest < _SINGLE[0]):
            x, self.anchor, self.sum = x.double(), self.anchor.double(), self.sum.double()
            self.feature_square = self.feature_square.double()
            wanted = float(specs.unit_scale(largest).item())
            new = wanted if empty else min(wanted, self.scale)  # small features beside large ones add nothing
            if (factor := new / self.scale) != 1:
                self.scale, self.anchor, self.sum = new, self.anchor * factor, self.sum * factor
                self.square, self.feature_square = (t * factor * factor for t in (self.square, self.feature_square))
            x = x * self.scale if self.scale != 1 else x
        return x

    def grow(self, n_classes: int) -> None:
        """Room for so many classes."""
        more = n_classes - self.n_classes
        if more > 0:
            self.n_classes = n_classes
            self._check_memory(self.anchor.shape[1])
            self.count, self.square = (torch.nn.functional.pad(t, (0, more)) for t in (self.count, self.square))
            self.anchor = torch.nn.functional.pad(self.anchor, (0, 0, 0, more))
            self.coarsen()
            self.sum = torch.nn.functional.pad(self.sum, (0, 0, 0, more))

    def coarsen(self, n_folds: int | None = None) -> None:
        """Join folds, to so many or to as many as there is room for."""
        if n_folds is None:
            limit = max(2, _LARGEST // max(1, self.anchor.nbytes))
            n_folds = self.n_folds
            while n_folds > limit:  # by its smallest factor, so that numbers of two layers divide one another
                n_folds //= next(f for f in range(2, n_folds + 1) if n_folds % f == 0)
            n_folds = n_folds if n_folds > 2 or self.grouped else 1
        if n_folds < self.n_folds:
            parts, self.n_folds = self.n_folds // n_folds, n_folds
            sums = (self.count, self.square, self.sum, self.feature_square)
            joined = (t.reshape(parts, n_folds, *t.shape[1:]).sum(0) for t in sums)
            self.count, self.square, self.sum, self.feature_square = joined

    def separation(self, debias: bool = True) -> float:
        """D of all samples."""
        if self.grouped and debias:
            return self._of_groups(None)
        count, scatter, spread = self._whole()[:3]
        return float(self._d(count, scatter, spread, debias))

    def leave_one_out(self, debias: bool = True) -> np.ndarray:
        """D without each fold that has samples."""
        if self.grouped and debias:
            return np.array([self._of_groups(int(g)) for g in self.count.any(1).nonzero()[:, 0]])
        count, _, spread, mean, offset = self._whole()
        # A mean without a fold lies -lever (fold's mean - mean) off; products with sums are taken in their precision.
        n = self.count[self.count.any(1)]
        some, rest = n.clamp(min=1), count - n
        lever, share = n / rest.clamp(min=1), rest / rest.sum(1, keepdim=True)
        dot, rows = torch.linalg.vecdot, self.sum[self.count.any(1)] if len(n) < self.n_folds else self.sum
        to, along, mix = offset.to(rows), mean.to(rows), (share * lever / some).to(rows)
        products = torch.stack([torch.stack([dot(s, s), dot(s, to), dot(s, along)]) for s in rows]).double()
        size, cross, slope = (products / torch.stack([some**2, some, some], 1)).unbind(1)
        gap = (size - 2 * cross + offset.square().sum(1)).clamp(min=0)
        slope = slope - (mean * offset).sum(1)
        centre = share @ mean + (share * lever) @ offset - torch.stack([m @ s for m, s in zip(mix, rows, strict=True)])
        between = (share * (mean.square().sum(1) - 2 * lever * slope + lever**2 * gap)).sum(1) - centre.square().sum(1)
        within = (self.square[self.count.any(1)] - n * size).clamp(min=0)
        width = (spread - within - count * lever * gap).clamp(min=0) * (rest > 1)
        return self._d(rest, between, width, debias).cpu().numpy()

    def _whole(self) -> tuple[torch.Tensor, ...]:
        """Count, Tr Σ_b and spread of all; means of classes, from their common mean and from their anchors."""
        count = self.count.sum(0)
        offset = self.sum.sum(0).double() / count.clamp(min=1)[:, None]
        spread = (self.square.sum(0) - count * offset.square().sum(1)).clamp(min=0)
        mean = self._centred(count, offset)
        return count, count / count.sum() @ mean.square().sum(1), spread, mean, offset

    def _centred(self, count: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        """Means of classes (K, d), from their common mean."""
        mean = self.anchor - self.anchor[0].double() + offset
        mean = mean - mean[0]  # equal means then differ by exactly zero
        return mean - count / count.sum() @ mean

    def _variances(self, without: int | None = None) -> tuple[torch.Tensor, ...]:
        """Of all samples, or all but one fold: counts (G, K), offsets (K, d), and of each feature its sums of squares
        within and between classes, (d,)."""
        count, total, square = self.count.clone(), self.sum.sum(0).double(), self.feature_square.sum(0).double()
        if without is not None:
            count[without] = 0
            total, square = total - self.sum[without], square - self.feature_square[without]
        in_class = count.sum(0)
        offset = total / in_class.clamp(min=1)[:, None]
        within = (square - in_class @ offset.square()).clamp(min=0)
        return count, offset, within, in_class @ self._centred(in_class, offset).square()

    def largest_share(self) -> float:
        """The part of the variance of all samples that the feature with the largest has; nan without samples."""
        if not self.anchor.shape[1]:
            return float("nan")
        _, _, within, between = self._variances()
        return float((within + between).max() / (within + between).sum())

    def _of_groups(self, without: int | None) -> float:
        """Debiased D of samples in groups, without a fold (None: of all).

        A fold has a part h of the N samples of a class; let S be the sum of these, each less the mean of the class.
        |S|²/(1 − h) is right on average for what they add to the variance of N times that mean. Sums over classes see
        also that one object may have samples of several classes.
        """
        count, offset, within, between = self._variances(without)
        in_class, n = count.sum(0), count.sum()
        part = count / in_class.clamp(min=1)
        factor = torch.where((part > 0) & (part < 1), (1 - part).rsqrt(), 0.0)[..., None]
        each, total = torch.zeros_like(in_class), torch.zeros((), dtype=torch.float64, device=count.device)
        step = max(1, _AT_ONCE // count.numel())
        for some, origin in zip(torch.split(self.sum, step, 2), torch.split(offset, step, 1), strict=True):
            rest = (some - count[..., None] * origin) * factor
            each, total = each + rest.square().sum((0, 2)), total + rest.sum(1).square().sum()
        # A class that is all in one fold scatters as the others do.
        lone = (part.max(0).values == 1) & (in_class > 0)
        lost = in_class * lone * (each[~lone].sum() / in_class[~lone].sum())
        noise = ((each + lost) / in_class.clamp(min=1)).sum() / n
        every = torch.ones_like(within)  # a product adds in the order in which these numbers were first kept
        inside = every @ within / n + noise
        outside = every @ between / n - noise + (total + lost.sum()) / n**2
        return float(inside.log() - outside.log()) if outside > 0 else float("nan")

    @staticmethod
    def _d(count: torch.Tensor, between: torch.Tensor, spread: torch.Tensor, debias: bool = True) -> torch.Tensor:
        if debias:
            return debiased(count, between, spread)
        return (spread.sum(-1) / count.sum(-1)).log() - between.log()


@njit(cache=True, fastmath={"reassoc"}, **KERNEL)
def _add_rows(
    x: Floats, anchor: Floats, label: Ints, cell: Ints, total: Floats, feature_square: Floats, square: Floats,
    order: Ints, stretch: int,
) -> None:  # fmt: skip
    """Add each sample less the anchor of its class to the sum of its cell, and the square of each of its features to
    that of its fold; its squared length goes to ``square``. Samples are taken in an ``order`` that is theirs in each
    fold.

    One pass over the features, where torch's functions take eight. Only squares are added in any order.
    """
    length = x.shape[1]
    for i in order:
        for begin in range(0, length, stretch):
            end = min(begin + stretch, length)
            row, origin = x[i, begin:end], anchor[label[i], begin:end]
            into, wide = total[cell[i], begin:end], feature_square[cell[i] // anchor.shape[0], begin:end]
            part = x[0, 0] * 0
            for j in range(end - begin):
                shifted = row[j] - origin[j]
                into[j] += shifted
                wide[j] += shifted * shifted
                part += shifted * shifted
            square[i] += part
