"""Pictures of the pages on paper B: general ones with the words of this chapter. Each takes finished arrays.

Where a picture is no more than a general one with arguments given, it takes an array, or an estimate with its interval,
and after it the array of the dashed curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from deepmech.core.estimates import Estimate
from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "class_numbers",
    "class_path",
    "distances_of_models",
    "effect_rates",
    "final_accuracy",
    "final_loss",
    "indices_by_model",
    "indices_by_source",
    "integrated_by_share",
    "integrated_effects",
    "margins_of_rare_classes",
    "paths_by_class",
    "paths_by_data",
    "paths_of_i_model",
    "rates_by_share",
    "rates_in_logits",
    "recovered_effects",
    "relative_differences",
    "sample_sizes",
    "smoothing_windows",
    "tail_indices",
    "validation_curves",
]


# --- effects ----------------------------------------------------------------------------------------------------------

INTEGRATED = {"A": r"$\hat A$", "B": r"$\hat B$"}
RATES = {"intra": r"$\hat\alpha$", "inter": r"$\hat\beta$"}
INDICES = {"intra": r"$\hat r_\alpha$", "inter": r"$\hat r_\beta$"}
MODELS = {"I": "I-model", "L-program": "L-model"}

_effects = partial(
    figures.curve_panels, x="time", by="effect", columns=4, level=0.0, legend=False, x_label="iteration",
    y_label="integrated effect",
)  # fmt: skip
"""Both effects over time, by model, window or number of classes."""
_rates = partial(_effects, y_label="per 1,000 iterations")


def _pair(run: xr.Dataset, names: Mapping[str, str]) -> xr.DataArray:
    """The variables ``names`` over ``effect``: integrals as means over hundredths of the time, rates at 500 times."""
    if "time" in run.dims:
        run = run[list(names)]
        run = _hundredths(run) if {*names} <= {*INTEGRATED, "A_true", "B_true"} else _some_times(run, 500)
    return xr.concat([run[name] for name in names], xr.Variable("effect", list(names.values())))


def _hundredths(curves: Any) -> Any:
    return curves.coarsen(time=max(1, curves.sizes["time"] // 100), boundary="trim").mean()


def _some_times(curves: Any, n: int) -> Any:
    return curves.isel(time=slice(0, None, max(1, curves.sizes["time"] // n)))


def _inner(rates: xr.DataArray) -> xr.DataArray:
    """Rates without the first and the last thirtieth of their times, where the filter extrapolates."""
    n = rates.sizes["time"] // 30
    return rates.isel(time=slice(n, rates.sizes["time"] - n))


def _by_share(curves: Any) -> Any:
    """Curves over the share of training in place of the iteration."""
    n = curves.sizes["time"]
    return curves.reset_coords(drop=True).assign_coords(time=(np.arange(n) + 0.5) / n)


def _joined(parts: Mapping[str, Any], dim: str = "panel") -> Any:
    """Arrays by name along a new dimension."""
    return xr.concat(parts.values(), xr.Variable(dim, list(parts)), join="outer")


def _side_by_side(curves: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Both models and data sets as panels, over the share of training."""
    shares = {data: _by_share(one) for data, one in curves.items()}
    joined: xr.DataArray = _joined(
        {
            f"{data}, {title}": one.sel(model=model, drop=True)
            for data, one in shares.items()
            for model, title in MODELS.items()
        }
    )
    return joined


def integrated_effects(
    shapes: xr.Dataset, photos: xr.Dataset, printed: xr.Dataset, bands: Sequence[tuple[xr.Dataset, xr.Dataset]]
) -> Picture:
    """Figure 3: A and B of two data sets by both models, over the share of training.

    ``printed`` has A and B over ``time`` by the formula that is printed for the L-model, on shapes; ``bands`` are lower
    and upper ends of A and B, of each data set.
    """
    formula = _pair(printed, INTEGRATED)
    dashed = xr.concat([np.nan * formula, formula], xr.Variable("model", list(MODELS)))

    def panels(*both: xr.Dataset) -> xr.DataArray:
        return _side_by_side(dict(zip(("shapes", "CIFAR"), (_pair(one, INTEGRATED) for one in both), strict=True)))

    low, high = (panels(*ends) for ends in zip(*bands, strict=True))
    return _effects(
        panels(shapes, photos),
        _side_by_side({"shapes": dashed, "CIFAR": np.nan * dashed}),
        panel="panel",
        interval=(low, high),
        theory_label="as printed",
        shared=False,
        x_label="share of training",
        figure="B.3",
        alt="Four panels of two curves with bands: A rises and levels off, and B stays far below it, on both data sets "
        "and by both models; bands of the L-model are wide. Dashed, for the L-model on shapes only: both end above "
        "zero.",
    )


def effect_rates(shapes: xr.Dataset, photos: xr.Dataset) -> Picture:
    """Figure 3, derivatives: α and β of two data sets by both models, over the share of training."""
    return _rates(
        1000 * _side_by_side({"shapes": _pair(shapes, RATES), "CIFAR": _pair(photos, RATES)}),
        panel="panel",
        shared=False,
        x_label="share of training",
        alt="Four panels. One effect has an early maximum; the other stays below it.",
    )


def smoothing_windows(estimated: xr.Dataset) -> Picture:
    """Figure D.1: α and β over ``time`` by one model, a panel for each ``window``."""
    return _rates(
        1000 * _pair(estimated, RATES),
        panel="window",
        title="window {}",
        shared=False,
        figure="B.D1",
        alt="Four panels: noise alone with the smallest window, a hump above the noise with the largest.",
    )


def sample_sizes(shapes: xr.Dataset, photos: xr.Dataset, rates: bool = False) -> Picture:
    """Figure D.3: A and B over the share of training, by ``model``, a curve for each number of samples, ``per_class``.

    With ``rates`` α and β in their place, without the ends of training, where the filter extrapolates.
    """
    names, scale = (RATES, 1000) if rates else (INTEGRATED, 1)
    rows: dict[str, xr.DataArray] = {}
    for name, label in names.items():
        both = _side_by_side({data: scale * one[name] for data, one in (("shapes", shapes), ("CIFAR", photos))})
        # Formulas are not broken into lines, but here they are.
        breaks = {title: f"{label}, {title.replace(', ', chr(10))}" for title in both["panel"].values}
        rows |= {lines: both.sel(panel=title, drop=True) for title, lines in breaks.items()}
    some = _some_times(_inner(_joined(rows)), 300) if rates else _hundredths(_joined(rows))
    draw = _rates if rates else partial(_effects, figure="B.D3")
    return draw(
        some,
        by="per_class",
        panel="panel",
        level=None,
        legend=True,
        shared=False,
        label="n = {}",
        x_label="share of training",
        alt="Eight panels of four curves. Those of the effect within classes have an early hump that all numbers of "
        "samples share, by the I-model; by the L-model all are noisy."
        if rates
        else "Eight panels of four curves, one for each number of samples, that lie close to one another; on CIFAR-10 "
        "that of 80 samples per class rises further within classes.",
    )


def class_numbers(text: xr.Dataset, program: xr.Dataset, rates: bool = False) -> Picture:
    """Figure D.4: A and B over ``time``, a panel for each number of ``classes``; dashed: as in the program.

    With ``rates`` α and β in their place, without the ends of training and without the program's.
    """
    if rates:
        return _rates(
            1000 * _inner(_pair(text, RATES)),
            panel="classes",
            columns=2,
            alt="Two panels in which the effect within classes has a hump and that between them lies below it, the "
            "hump higher with three classes.",
        )
    return _effects(
        _pair(text, INTEGRATED),
        _pair(program, INTEGRATED),
        panel="classes",
        columns=2,
        theory_label="as in the program",
        figure="B.D4",
        alt="Two panels in which A rises and B falls, on both kinds of images; A rises further with three classes.",
    )


def recovered_effects(recovered: xr.Dataset) -> Picture:
    """A and B read off a known model over ``time``, a curve for each estimator (``model``), beside the truth."""
    some = recovered.isel(time=slice(0, None, 8))
    truth = _pair(some, {f"{name}_true": word for name, word in INTEGRATED.items()})
    return _effects(
        _pair(some, INTEGRATED),
        truth.expand_dims(model=some["model"].values),
        by="model",
        panel="effect",
        columns=2,
        legend=True,
        theory_label="truth",
        level=None,
        shared=False,
        alt="Two panels of three curves. Left two of them lie near the dashed truth, the printed formula off it. Right "
        "the L-model's, as in the program, follows the truth, the I-model's lies somewhat below it and the printed "
        "formula far away.",
    )


tail_indices = partial(
    figures.lines,
    x="r",
    by="strength",
    label=r"$\alpha_0$ = {}",
    theory_label="local slope",
    level=1.0,
    x_label="true exponent $r$",
    y_label=r"tail index $\hat r$",
    alt="Two curves of the tail index rise much more slowly than the true exponent and differ by the strength of the "
    "effect.",
)
"""Tail index of known effects over their exponent ``r``, a curve for each ``strength``, and the local slope."""

# --- corruption -------------------------------------------------------------------------------------------------------

WRONG = r"share of wrong labels $p_\mathrm{err}$"

validation_curves = partial(
    figures.curve_panels,
    x="at_iteration",
    by="label_error",
    panel="of",
    x_label="iteration",
    y_label="mean over trials",
    shared=False,
    legend=False,
    height=3.0,
    figure="B.4",
    alt="Two panels of ten curves over iterations. With few wrong labels loss falls and accuracy rises, the later the "
    "more labels are wrong; with two thirds both stay; with four fifths accuracy falls.",
)
"""Figure 4(a, b): validation loss and accuracy (``of``) over ``at_iteration``, a curve for each ``label_error``."""


def final_loss(loss: Estimate) -> Picture:
    """Validation loss at the end over ``label_error``, beside that of one that knows the share of wrong labels."""
    return figures.lines(
        loss,
        -np.log(1 - loss.value["label_error"]),
        x="label_error",
        x_label=WRONG,
        y_label="validation loss",
        level=float(np.log(3)),
        level_label="ln 3",
        theory_label=r"$-\ln(1 - p_\mathrm{err})$",
        alt="Validation loss rises with the share of wrong labels along the dashed curve and levels off near ln 3.",
    )


final_accuracy = partial(
    figures.lines,
    x="label_error",
    by="set",
    x_label=WRONG,
    y_label="validation accuracy (%)",
    legend=True,
    level=100 / 3,
    level_label="guessing",
    alt="Three curves of accuracy that fall to a third at two thirds of wrong labels and below beyond; that of the "
    "harder images falls sooner, that of long training later.",
)
"""Validation accuracy at the end, in per cent, over ``label_error``, a curve for each ``set``."""

_indices = partial(
    figures.curve_panels, x="label_error", by="effect", level=1.0, legend=False, x_label=WRONG, y_label="tail index"
)


def indices_by_source(of_integrals: xr.Dataset, of_rates: xr.Dataset) -> Picture:
    """Figure 4(c): tail indices ``intra`` and ``inter`` over ``label_error``, from integrals and from rates."""
    sources = {r"from $\hat A$, $\hat B$": of_integrals, r"from $\hat\alpha$, $\hat\beta$": of_rates}
    return _indices(
        _joined({words: _pair(one, INDICES) for words, one in sources.items()}, "source"),
        panel="source",
        alt="Two panels of two curves: tail indices from integrated effects on the left, from the effects themselves "
        "on the right.",
    )


def indices_by_model(indices: xr.Dataset, low: xr.Dataset, high: xr.Dataset) -> Picture:
    """Figure D.2: tail indices over ``label_error``, a panel for each ``model``, with their bands."""
    value, *ends = (
        _pair(one.sel(model=list(MODELS)), INDICES).assign_coords(model=list(MODELS.values()))
        for one in (indices, low, high)
    )
    return _indices(
        value,
        panel="model",
        interval=tuple(ends),
        figure="B.D2",
        alt="Two panels of two curves of tail indices with bands over groups of trials.",
    )


def _by_model_and_share(run: xr.Dataset, names: Mapping[str, str], draw: Any, **how: Any) -> Picture:
    """Both effects by model (rows) and share of wrong labels (columns); rates without the ends of training."""
    curves = _pair(run, names) if names is INTEGRATED else _inner(_pair(run, names))
    curves = curves.stack(panel=["model", "label_error"])
    titles = [f"{model}, $p$ = {share:.2g}" for model, share in curves["panel"].values]
    curves = curves.drop_vars(["panel", "model", "label_error"]).assign_coords(panel=titles)
    picture: Picture = draw(curves, panel="panel", shared="row", **how)
    return picture


def integrated_by_share(integrated: xr.Dataset) -> Picture:
    """Figure D.5: A and B over ``time``, by ``model`` and ``label_error``."""
    return _by_model_and_share(
        integrated,
        INTEGRATED,
        _effects,
        figure="B.D5",
        alt="Two rows of four panels of two curves that part without wrong labels and lie nearer to one another with "
        "many.",
    )


def rates_by_share(rates: xr.Dataset) -> Picture:
    """Figure D.5, derivatives: α and β per 1,000 iterations over ``time``, by ``model`` and ``label_error``."""
    return _by_model_and_share(
        rates,
        RATES,
        _rates,
        alt="Two rows of four panels of two curves: a hump of the intra-class effect without wrong labels, noise about "
        "zero with many.",
    )


def rates_in_logits(rates: xr.Dataset) -> Picture:
    """Figure D.6: α and β times the mean norm of class means, over ``time``, by ``model`` and ``label_error``."""
    return _by_model_and_share(
        rates,
        {"intra": r"$\hat\alpha\,|\bar X|$", "inter": r"$\hat\beta\,|\bar X|$"},
        _effects,
        y_label="logits per 1,000 iterations",
        figure="B.D6",
        alt="Two rows of four panels of two curves that shrink towards zero as more labels are wrong; below, noise "
        "even without.",
    )


# --- imitation --------------------------------------------------------------------------------------------------------


def class_path(paths: xr.Dataset, k: int, structure: str, estimator: str) -> xr.Dataset:
    """The logits of one class in networks and in simulation, over the share of training.

    ``paths`` has ``genuine``, ``median``, ``low`` and ``high`` over ``structure``, ``estimator``, ``time``, ``class``
    and ``logit``.
    """
    one = paths.sel(structure=structure, estimator=estimator, drop=True).isel({"class": k}, drop=True)
    path: xr.Dataset = _by_share(one[["genuine", "median", "low", "high"]])
    return path.assign_coords(logit=["1", "2", "3"])


def _paths(panels: Mapping[str, xr.Dataset], **how: Any) -> Picture:
    """Networks' logits (solid) with simulated ones (dashed, band of 16 to 84 %), by panel."""
    paths = _joined(panels)
    return figures.curve_panels(
        paths["genuine"],
        paths["median"],
        interval=(paths["low"], paths["high"]),
        band_of_theory=True,
        theory_label="simulated, median",
        x="time",
        by="logit",
        panel="panel",
        label="logit {}",
        y_label="mean logit",
        x_label="time (share)",
        legend=False,
        **how,
    )


def paths_by_data(panels: Mapping[str, xr.Dataset]) -> Picture:
    """Figure 5: :func:`class_path` of two data sets and two estimators."""
    return _paths(
        panels,
        columns=4,
        shared=False,
        figure="B.5",
        alt="Four panels of three logits. In all the own logit rises above the others; the simulated other two lie "
        "between the networks'.",
    )


def paths_by_class(panels: Mapping[str, xr.Dataset]) -> Picture:
    """Figure D.8: :func:`class_path` of each class, data set and estimator."""
    return _paths(
        panels,
        columns=4,
        height=1.6,
        shared=False,
        figure="B.D8",
        alt="Twelve panels of three logits, a row for each class: in each the logit of the own class ends highest, in "
        "networks and in simulation.",
    )


def paths_of_i_model(panels: Mapping[str, xr.Dataset]) -> Picture:
    """Figure D.7: :func:`class_path` of one class of each data set, simulated under the I-model."""
    return _paths(
        panels,
        columns=4,
        shared=False,
        figure="B.D7",
        alt="Four panels: the simulated logits of the other classes spread widely about zero and miss the networks'.",
    )


_differences = partial(
    figures.curve_panels, x="time", panel="panel", columns=4, x_label="time (share)", y_label="relative difference"
)


def _by_norm(distances: Mapping[str, xr.DataArray], names: Mapping[str, str]) -> xr.DataArray:
    """Relative differences of each data set in each norm, under its name, as panels."""
    panels = {
        f"{name},\n{words}": one.sel(norm=norm, drop=True)
        for name, one in distances.items()
        for norm, words in names.items()
    }
    joined: xr.DataArray = _joined(panels)
    return joined


def relative_differences(shapes: xr.DataArray, photos: xr.DataArray) -> Picture:
    """Figure D.9: relative differences over the share of training, a panel for each ``norm`` and data set.

    Each is over ``time``, ``norm`` ("I", "L") and ``structure``, a curve each.
    """
    both = {"shapes": _by_share(shapes), "photographs": _by_share(photos)}
    return _differences(
        _by_norm(both, {"I": "all coordinates", "L": "along $d_k$"}).assign_coords(structure=["I-model", "L-model"]),
        by="structure",
        figure="B.D9",
        alt="Four panels of two curves. The L-model's falls, further along the own direction; the I-model's falls "
        "early and stays where it is.",
    )


# --- extensions -------------------------------------------------------------------------------------------------------


def margins_of_rare_classes(margin: Estimate, prior: xr.DataArray) -> Picture:
    """Margins over ``time``, a panel for each ``ratio``, a curve for each ``role``; dashed: log p (``prior``)."""
    return figures.curve_panels(
        margin,
        prior.expand_dims(time=margin.value["time"].values[[0, -1]]),
        x="time",
        by="role",
        panel="ratio",
        title="1 : {}",
        columns=3,
        theory_label=r"$\log p$",
        level=0.0,
        x_label="iteration",
        y_label="own-class margin",
        alt="Three panels, one per ratio. The rare class's margin soon falls almost to the dashed level, deeper for "
        "larger ratios, and rises later.",
    )


def distances_of_models(distances: Mapping[str, xr.DataArray], names: Mapping[str, str]) -> Picture:
    """Relative differences of fitted models over the share of training, a panel for each data set and norm.

    ``distances`` are over ``split``, ``model``, ``norm`` and ``time``; ``names`` say which models are drawn, and how
    they are called.
    """
    curves = {}
    for name, one in distances.items():
        some = one.median("split").isel(time=slice(1, None)).sel(model=list(names))
        some = some.assign_coords(time=some["time"] / float(some["time"][-1]), model=list(names.values()))
        curves[name] = some.interp(time=np.linspace(0, 1, 101))
    return _differences(
        _by_norm(curves, {"I": "all", "L": "along $d_k$"}),
        by="model",
        log="y",
        alt="Four panels of curves. On photographs the I-model's ends highest; own first and all shares are nearer to "
        "the networks, and other trials are lowest.",
    )
