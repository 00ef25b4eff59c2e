r"""The second and third prediction on generalisation (``book/laws``: ``fresh_networks``, ``more_networks``), as frozen.

Pairs are the first network of a star and each of the ten that differ from it in one setting. A measure is wrong about a
pair when it puts the network with the larger test error (or test loss) below the other. In setting s, with weights w of
pairs,

.. math:: \mathrm{err}_s = \frac{\sum w\,\tfrac12\,[1 - \operatorname{sign}(\Delta C)\operatorname{sign}(\Delta E)]}
   {\sum w},

and the *sign error* of the measure is its mean over settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech.core.random import Stream
from deepmech_book.bench import judge
from deepmech_book.bench.measures import HELD_OUT, MEASURES
from deepmech_book.sweeps.extras.zoo import IMAGES, LEVELS, SIZE, VALIDATION

__all__ = [
    "BEND",
    "DRAWS",
    "N_TEST",
    "Pairs",
    "Part",
    "SignError",
    "Truth",
    "beside_null",
    "coin",
    "drawn_stars",
    "less_median",
    "mean_error",
    "noise_floor",
    "oracle",
    "pairs_of",
    "sign_error",
    "sign_errors",
    "truth_of",
    "without_test",
    "wrong_weights",
]

Part = Literal["equal loss", "fit"]
Truth = Literal["error", "loss"]

N_TEST = IMAGES["n_test"] - VALIDATION
TOLERANCE, FITTED = 0.02, 0.99
"""Largest difference of two training losses at equal loss; least training accuracy of a network that fits."""
LEAST, FEWEST = 3.0, 5
"""Least sum of weights of a setting, and where every pair weighs 1 the fewest pairs."""
DRAWS = 2000
"""Of stars, for intervals."""
BEND = "bend of the load curve"


@dataclass(frozen=True)
class Pairs:
    """Pairs of networks of one part, with what is true of them.

    ``first``, ``second``: places of the two networks in the record; ``star``, ``setting``: numbers from 0 on of the
    star and of the setting that differs; ``twin``: place of the first network's twin, −1 where it has none here;
    ``sign``: +1 where the second network is worse, −1 where the first is, 0 where both are alike; ``weight``: how much
    the pair counts. All (pair,).
    """

    first: np.ndarray
    second: np.ndarray
    star: np.ndarray
    setting: np.ndarray
    twin: np.ndarray
    sign: np.ndarray
    weight: np.ndarray
    n_networks: int
    n_stars: int
    least: float

    @cached_property
    def sums(self) -> xr.DataArray:
        """Sum of the weights of each setting, (setting,)."""
        return xr.DataArray(np.bincount(self.setting, self.weight, len(LEVELS)), {"setting": list(LEVELS)}, ["setting"])

    @cached_property
    def judged(self) -> np.ndarray:
        """Which settings weigh enough, their numbers."""
        return np.flatnonzero(self.sums.values >= self.least)

    @property
    def too_light(self) -> str:
        """Why no setting can be judged, where none weighs enough."""
        sums = f"in no setting do their weights sum to more than {float(self.sums.max()):.2g}"
        return f"{len(self.first)} pairs; {sums}, and {self.least:g} are asked for"


def truth_of(record: xr.Dataset, truth: Truth) -> np.ndarray:
    """Test error or test loss of each network, on the 2,500 test images that are no validation split; (number,)."""
    if truth == "error":
        return 1 - record.accuracy.sel(split="test").values.astype(float)
    return record["loss"].sel(split="test").values.astype(float)


def pairs_of(record: xr.Dataset, part: Part = "equal loss", truth: Truth = "error", equal: bool = False) -> Pairs:
    """The pairs of a record at one stop.

    Parameters
    ----------
    record : Dataset
        Over ``number``, at stop ``loss`` for part ``"equal loss"``, at ``epochs`` for part ``"fit"``.
    part : {"equal loss", "fit"}
        Training losses differ by at most :data:`TOLERANCE`; or both training accuracies are at least :data:`FITTED`.
    truth : {"error", "loss"}
        Whether the worse network is that of the larger test error or of the larger test loss.
    equal : bool
        Every pair weighs 1. Else a pair weighs more on the test error the surer its errors are apart
        (:func:`.judge.weight`); on the test loss all weigh 1 in any case.
    """
    number = record.number.values
    stars = np.unique(number // SIZE)
    found = judge.pairs_of(record)
    first, second, star = (found[name].to_numpy(int) for name in ("first", "second", "star"))
    setting, star = number[second] - number[first] - 1, np.searchsorted(stars, star)
    place = {n: i for i, n in enumerate(number)}
    twin = np.array([place.get(n + SIZE - 1, -1) for n in number[first]], int)
    loss, accuracy = (record[name].sel(split="train").values.astype(float) for name in ("loss", "accuracy"))
    true = truth_of(record, truth)
    apart = true[second] - true[first]
    kept = np.isfinite(apart)
    if part == "equal loss":
        kept &= np.abs(loss[second] - loss[first]) <= TOLERANCE
    else:
        kept &= np.minimum(accuracy[first], accuracy[second]) >= FITTED
    alike = equal or truth == "loss"
    weights = np.ones(len(apart)) if alike else judge.weight(np.nan_to_num(apart), N_TEST)
    first, second, star, setting, twin, sign, weights = (
        column[kept] for column in (first, second, star, setting, twin, np.sign(apart), weights)
    )
    least = FEWEST if equal else LEAST
    return Pairs(first, second, star, setting, twin, sign, weights, len(number), len(stars), least)


def wrong_weights(
    measure: np.ndarray, pairs: Pairs, of_first: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of wrong pairs and of all, each (star, setting), of a measure (number,); settings are those judged.

    ``of_first`` (pair,) are the measure's numbers of the first networks, where these are other ones. A ValueError if no
    setting can be judged.
    """
    if not pairs.judged.size:
        raise ValueError(f"sign error: no setting can be judged: {pairs.too_light}")
    one = measure[pairs.first] if of_first is None else of_first
    with np.errstate(invalid="ignore"):
        says = np.nan_to_num(np.sign(measure[pairs.second] - one))
    wrong, total = np.zeros((2, pairs.n_stars, len(LEVELS)))
    np.add.at(wrong, (pairs.star, pairs.setting), pairs.weight * (1 - says * pairs.sign) / 2)
    np.add.at(total, (pairs.star, pairs.setting), pairs.weight)
    return wrong[:, pairs.judged], total[:, pairs.judged]


def mean_error(wrong: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Mean over settings of the share of wrong weights, from sums over stars (…, setting).

    Settings that weigh nothing in a draw of stars are left out of it.
    """
    with np.errstate(invalid="ignore"):
        return np.nanmean(wrong / np.where(total > 0, total, np.nan), -1)


@cache
def drawn_stars(n: int) -> np.ndarray:
    """How often each of n stars is drawn, (draw, star)."""
    stream = Stream.of("fresh networks")
    picks = (stream.uniform("stars", 0, (DRAWS, n)) * n).astype(int)
    return np.stack([np.bincount(one, minlength=n) for one in picks])


@dataclass(frozen=True)
class SignError:
    """Of one measure: the mean sign error, and the same of each draw of stars (draw,)."""

    value: float
    draws: np.ndarray

    @property
    def interval(self) -> tuple[float, float]:
        low, high = np.quantile(self.draws, [0.025, 0.975])
        return float(low), float(high)


def sign_error(measure: np.ndarray, pairs: Pairs, of_first: np.ndarray | None = None) -> SignError:
    """The sign error of a measure, (number,)."""
    wrong, total = wrong_weights(measure, pairs, of_first)
    times = drawn_stars(pairs.n_stars)
    return SignError(float(mean_error(wrong.sum(0), total.sum(0))), mean_error(times @ wrong, times @ total))


def sign_errors(record: xr.Dataset, pairs: Pairs, names: Iterable[str] = ()) -> dict[str, SignError]:
    """Of measures of the book, those of these ``names`` or all, by name."""
    hidden = without_test(record)
    with np.errstate(divide="ignore"):  # the logarithm of a margin or a gradient that is 0
        values = {name: MEASURES[name](hidden).values.astype(float) for name in names or MEASURES}
    return {name: sign_error(one, pairs) for name, one in values.items()}


def without_test(record: xr.Dataset) -> xr.Dataset:
    """The record with nan in place of what was measured on test samples, so that no measure is told the truth."""
    copy = record.copy(deep=True)
    for name, variable in copy.data_vars.items():
        if "split" in variable.dims:
            copy[name] = variable.where(variable.split != "test")
    return copy


def beside_null(one: SignError, null: SignError, n_stars: int) -> Estimate:
    """A measure's sign error as an estimate with that of another as its null."""
    less = np.quantile(one.draws - null.draws, [0.025, 0.975])
    return Estimate(one.value, *one.interval, n_stars, "", null.value, (float(less[0]), float(less[1])))


def less_median(errors: Mapping[str, SignError], n_stars: int) -> Estimate:
    """The bend's sign error less the median over the other measures that see no validation split."""
    others = [name for name in errors if name != BEND and name not in HELD_OUT]
    value = errors[BEND].value - float(np.median([errors[name].value for name in others]))
    draws = errors[BEND].draws - np.median([errors[name].draws for name in others], 0)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(value, float(low), float(high), n_stars)


def coin(pairs: Pairs, n: int = 1000) -> tuple[float, float]:
    """The band in which 95 % of random measures lie."""
    stream = Stream.of("fresh networks")
    random = stream.normal("coin", 0, (n, pairs.n_networks))
    found = [float(mean_error(*(x.sum(0) for x in wrong_weights(one, pairs)))) for one in random]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def oracle(record: xr.Dataset, pairs: Pairs, n: int = 1000) -> float:
    """Mean sign error of the test error itself, if it were measured on as many other test images."""
    error = truth_of(record, "error")
    rng = np.random.Generator(np.random.Philox(0))
    again = rng.binomial(N_TEST, np.clip(np.nan_to_num(error), 0, 1), (n, len(error))) / N_TEST
    return float(np.mean([mean_error(*(x.sum(0) for x in wrong_weights(one, pairs))) for one in again]))


def noise_floor(record: xr.Dataset, pairs: Pairs, truth: Truth = "error") -> SignError:
    """The truth itself, in which the twin stands for the first network: nothing can know more of a seed than this."""
    true = truth_of(record, truth)
    return sign_error(true, pairs, np.where(pairs.twin >= 0, true[pairs.twin], np.nan))
