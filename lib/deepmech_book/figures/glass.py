"""Pictures of the pages on paper C. Each takes finished arrays, and draws what the words of this chapter are about.

Temperatures run from hot (orange) to cold (blue) on one scale in all pictures, and phases have one colour each. Free
walks, the rival of every page, are black and dashed. Curves are named where they lie, not in a legend. Every picture
takes ``alt``, what it shows in a sentence, and ``figure``, the registry id of the figure that it reproduces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from deepmech.plots import style
from deepmech.plots.style import LIGHT, SMALL, column, transpose_to
from deepmech_book.figures.axes import end_labels, logarithmic, spread_labels
from deepmech_book.figures.picture import pictured
from deepmech_book.figures.planes import slices

SINCE = "time $t$ since $t_w$ (steps)"
LOSS = "final data loss"
TEMPERATURE = "temperature $T$"

COLOURS = {
    **dict(zip(("regularised", "underparameterised", "overparameterised"), style.categories(3), strict=True)),
    "glass": LIGHT.text,
    "regularised, finer window": "#5aa9d6",
}
"""Of the three phases, and of the glass beside them, in every picture of the chapter."""
FREE: dict[str, Any] = {"color": LIGHT.text, "lw": 1.4, "linestyle": style.DASHES}
"""Free walks and other nulls."""
DOTS: dict[str, Any] = {"marker": "o", "ls": "", "mfc": LIGHT.background, "ms": 4.2, "mew": 1.1}
COLDEST = -7.0
"""log₁₀ of the temperature from which on all have the colour of T = 0."""
LEVELS = (0.62, 0.38)
"""Overlaps at which curves are named, by turns."""
GAP = 0.075
"""Names nearer than this part of a panel become one name."""


# --- what all pictures share ------------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    """A number as the text prints it: powers of ten below a hundredth and from a thousand on.

    Examples
    --------
    >>> [_number(value) for value in (0.0, 0.03, 1e-6, 300.0, 1000, 3e-5, "glass")]
    ['0', '0.03', '$10^{-6}$', '300', '$10^{3}$', '$3·10^{-5}$', 'glass']
    """
    if isinstance(value, str) or not value or 0.01 <= abs(value) < 1000:
        return style.format_number(value)
    power = int(np.floor(np.log10(abs(value)) + 1e-9))
    first = value / 10.0**power
    return f"$10^{{{power}}}$" if np.isclose(first, 1) else f"${first:.3g}·10^{{{power}}}$"


def _colours(values: Sequence[Any], by: str) -> list[str]:
    """Of curves along a dimension: temperatures and phases have theirs in the whole chapter."""
    if by == "temperature":
        heat = LinearSegmentedColormap.from_list("heat", style.COLD_TO_HOT)
        where = [max(COLDEST, np.log10(v)) if v > 0 else COLDEST for v in values]
        return [to_hex(heat(1 - at / COLDEST)) for at in where]
    if all(v in COLOURS for v in values):
        return [COLOURS[v] for v in values]
    return style.palette(values, dim=by)


def _row(fig: Figure, height: float) -> float:
    """Height of a panel among others below one another: on phones enough for its curves to be told apart."""
    return max(height, 1.9) if fig.get_figwidth() <= style.NARROW else height


def _finish(axes: Sequence[Axes], log: str) -> None:
    """Lines at the ordinate's numbers, scales, and numbers as the text prints them."""
    logarithmic("glass", axes, log)
    for ax in axes:
        ax.grid(axis="y")
        for which in log:
            axis = getattr(ax, f"{which}axis")
            axis.set_major_formatter(lambda v, _: _number(v))
            axis.set_tick_params(labelsize=style.TEXT)


def _say(ax: Axes, x: float, y: float, words: str, colour: str = LIGHT.text, **how: Any) -> None:
    """Words at a place of the data where nothing is drawn; on a curve, with a halo."""
    how = {"ha": "center", "va": "center", "fontsize": SMALL, "zorder": 6, **how}
    ax.text(x, y, _title(words), color=style.legible(colour, ratio=4.5), **how)


def _in_panels(axes: Mapping[Any, Axes], words: Sequence[tuple[int | str, float, float, str]]) -> None:
    """Words (panel, x, y, words) in those panels that are drawn."""
    for where, x, y, said in words:
        if where in axes:
            _say(axes[where], x, y, said)


def _title(words: str) -> str:
    """A panel's title with numbers as the text prints them.

    Examples
    --------
    >>> _title("$T$ = 1e−8")
    '$T$ = $10^{−8}$'
    """
    return re.sub(r"\b1e(−?\d+)", r"$10^{\1}$", words)


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} to {names[-1]}" if len(names) > 2 else " and ".join(names)


@dataclass
class _Name:
    """A name of one curve or of several that nearly touch."""

    curves: list[str]
    colour: str
    share: np.ndarray
    """Where its first curve is named, as shares of the axes."""
    places: list[tuple[float, float]]
    """Where it may stand, as data."""


def _together(names: Sequence[_Name], width: float, height: float) -> list[_Name]:
    """Names of which none is nearer to its neighbour than these shares of the axes."""
    kept: list[_Name] = []
    for name in names:
        if kept and all(np.abs(name.share - kept[-1].share) < (width, height)):
            kept[-1].curves += name.curves
            kept[-1].places += name.places
        else:
            kept.append(name)
    return kept


def _name_curves(
    ax: Axes, data: xr.DataArray, by: str, x: str, *, prefix: str = "$T$ = ", height: float,
    levels: Sequence[float] = (),
) -> None:  # fmt: skip
    """Name curves that fall where they cross one of two levels, by turns, and all others at their right ends.

    Limits and scales must be final. ``height`` is that of the axes, in inches.
    """
    data = transpose_to("glass", data, by, x).sortby(x)
    values = data[by].values.tolist()
    names = [f"{value:,}" if isinstance(value, int) else _number(value) for value in values]
    crossing: list[_Name] = []
    ends: list[_Name] = []
    for name, colour, curve in zip(names, _colours(values, by), data.values, strict=True):
        seen = np.isfinite(curve)
        if not seen.any():
            continue
        at, y = data[x].values[seen], curve[seen]
        falls = bool(levels) and y[0] > max(levels) and y.min() < min(levels)
        if falls:
            first = int(np.argmax(y < min(levels))) + 1
            last = slice(max(0, first - 12), first)  # before, a curve may go up and down at 1
            where = np.exp(np.interp([-one for one in levels], -y[last], np.log(at[last])))
            places = [(float(one), level) for one, level in zip(where, levels, strict=True)]
        else:
            places = [(float(at[-1]), float(y[-1]))]
        middle = np.mean(ax.transLimits.transform(ax.transScale.transform(np.array(places))), axis=0)
        (crossing if falls else ends).append(_Name([name], colour, middle, places))
    crossing = _together(crossing, 0.054, np.inf)
    for k, one in enumerate(crossing):
        words = prefix * (k == 0) + _listed(one.curves)
        half = len(re.sub(r"[${}_^]", "", words)) * 0.55 * SMALL / 72 / 2 / 3.3  # of axes 3.3 inches wide
        side = "left" if one.share[0] < max(0.14, half) else "center"
        _say(ax, *one.places[k % 2], words, one.colour, ha=side, path_effects=style.halo())
    few = len(crossing) + len(ends) <= 3  # then each name says what it is
    told = []
    for k, one in enumerate(_together(sorted(ends, key=lambda one: -float(one.share[1])), np.inf, GAP)):
        one.curves.sort(key=names.index)  # "a to b" names all between
        colour = one.colour if len(one.curves) < 3 else LIGHT.muted
        words = prefix * (few or one.curves[0] == "0" or (not crossing and k == 0)) + _listed(one.curves)
        told.append((one.places[0][0], float(np.mean([y for _, y in one.places])), words, colour))
    if told:
        end_labels(ax, told, height)


def _name_starts(ax: Axes, x: float, starts: Sequence[tuple[float, str, str]], gap: float) -> None:
    """Names (y, name, colour) left of where curves start, at least this share of the axes' height apart."""
    at = ax.transLimits.transform(ax.transScale.transform([(x, y) for y, *_ in starts]))[:, 1]
    how: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "xytext": (-9, 0)}
    how |= {"path_effects": style.halo()}
    for y, (_, name, colour) in zip(spread_labels(at.clip(min=0.04), gap), starts, strict=True):
        colour = style.legible(colour, ratio=4.5)
        ax.annotate(name, (x, y), ha="right", va="center", color=colour, fontsize=SMALL, annotation_clip=False, **how)


def _split(given: Any, panel: str | None) -> dict[str, xr.DataArray]:
    """Title -> what one panel shows."""
    if isinstance(given, Mapping):
        return dict(given)
    return {"": given} if panel is None else {str(v): given.sel({panel: v}, drop=True) for v in given[panel].values}


@pictured
def curves(
    data: Any,
    theory: Any = None,
    free: Any = None,
    *,
    by: str,
    x: str = "time",
    panel: str | None = None,
    prefix: str = "$T$ = ",
    levels: Sequence[float] = LEVELS,
    points: bool = False,
    alike: str = "",
    log: str = "x",
    x_label: str = "",
    y_label: str = "",
    level: float | None = None,
    words: Sequence[tuple[int | str, float, float, str]] = (),
    left: float | None = None,
    limits: tuple[float, float] | None = None,
    dotted: Sequence[Any] = (),
    height: float | None = None,
    fig: Figure,
) -> None:
    """Curves below one another on one scale, named where they lie; ``theory`` on top of them, ``free`` in grey below.

    Each is over ``by`` and ``x`` (and ``panel``), or a mapping from titles. Names stand at two heights by turns
    (``levels``), without these at the right ends. With ``points`` dots are drawn, on which ``theory`` lies as a line of
    their colour; else it is dashed and black; ``alike`` says that it is one curve for all, drawn once. ``dotted`` are
    values along ``by``, ``words`` (panel, x, y, words), a panel by its number or title; ``left`` and ``limits`` are
    those of the axes.
    """
    shown, told, rival = ({} if one is None else _split(one, panel) for one in (data, theory, free))
    n, first = len(shown), next(iter(shown.values()))
    x_label = x_label or style.axis_label(first[x], SINCE)
    y_label = y_label or style.axis_label(first, "overlap $Q(t)$")
    height = _row(fig, height or (2.8 if n == 1 else 2.0 if n == 2 else 1.55))
    fig.set_size_inches(column(fig), n * height + 0.6)
    axes = style.panels(fig, [_title(one) for one in shown], 1, "", y_label if n == 1 else "", sharex=True, sharey=True)
    if n > 1:
        fig.supylabel(y_label, fontsize=style.TEXT)
    axes[-1].set_xlabel(x_label)
    for ax, (title, one) in zip(axes, shown.items(), strict=True):
        one = transpose_to("glass", one, by, x).sortby(x)
        values = one[by].values.tolist()
        if title in rival:
            for curve in rival[title].transpose(by, x).values:
                ax.plot(rival[title][x], curve, color="#9aa3ae", lw=1.3, zorder=1)
        for value, colour, curve in zip(values, _colours(values, by), one, strict=True):
            look = (DOTS if points else {"lw": 1.8}) | ({"ls": (0, (1, 1.2))} if value in dotted else {})
            ax.plot(one[x], curve, color=colour, zorder=3, **look)
            if title in told and not alike and value in told[title][by].values:
                line = told[title].sel({by: value})
                how = {"color": colour, "lw": 2.2, "zorder": 4} if points else {**FREE, "zorder": 4}
                ax.plot(line[x], line, **how)
        if title in told and alike:
            line = told[title].transpose(by, x)
            ax.plot(line[x], line.max(by), **FREE, zorder=5)
        if level is not None:
            ax.axhline(level, **FREE, zorder=2)
    if left is not None:
        axes[0].set_xlim(left=left)
    if limits is not None:
        axes[0].set_ylim(*limits)
    _finish(axes, log)
    for ax, (title, one) in zip(axes, shown.items(), strict=True):
        visible = one if limits is None else one.where(one > limits[0])
        room = height - 0.25 * (1 + len(title.split("\n")) * (n > 1))
        _name_curves(ax, visible, by, x, prefix=prefix, height=room, levels=levels)
    _in_panels({**dict(enumerate(axes)), **dict(zip(shown, axes, strict=True))}, words)


@pictured
def plain(
    data: xr.DataArray,
    theory: xr.DataArray | None = None,
    *,
    x: str,
    by: str,
    interval: tuple[xr.DataArray, xr.DataArray] | None = None,
    log: str = "xy",
    x_label: str = "",
    y_label: str = "",
    points: bool = True,
    places: Mapping[Any, tuple[float, float]] | None = None,
    prefix: str = "",
    level: float | None = None,
    words: Sequence[tuple[float, float, str]] = (),
    guide: tuple[Sequence[float], Sequence[float]] | None = None,
    limits: tuple[float, float] | None = None,
    colours: Sequence[str] | None = None,
    key: bool = False,
    ax: Axes,
) -> None:
    """Curves in one panel, each named at its place (``places``), or at its right end; dashed ``theory`` in the curve's
    colour.

    ``guide`` (x, y) is a dotted line to compare slopes with; ``key``: names in a legend, for curves that nearly touch.
    """
    data = transpose_to("glass", data, by, x).sortby(x)
    values = data[by].values.tolist()
    shades = list(colours or _colours(values, by))
    for value, colour, curve in zip(values, shades, data, strict=True):
        known = curve[np.isfinite(curve)]  # a temperature that was not walked does not break a line
        ax.plot(known[x], known, "o-" if points else "-", color=colour, lw=1.7, ms=5, zorder=3)
        if interval is not None:
            low, high = (one.sel({by: value}).sortby(x).values for one in interval)
            ax.vlines(data[x], low, high, color=colour, lw=1.4, zorder=2)
        if theory is not None and value in theory[by].values:
            line = theory.sel({by: value})
            ax.plot(line[x], line, **{**FREE, "color": colour, "zorder": 1})
    if guide is not None:
        ax.plot(*guide, color=LIGHT.muted, lw=1.6, ls=":", zorder=1)
    if level is not None:
        ax.axhline(level, color=LIGHT.text, lw=1.1, zorder=1)
    ax.set(xlabel=x_label or style.axis_label(data[x]), ylabel=y_label or style.axis_label(data))
    if "x" not in log and float(data[x].max()) >= 1000:
        ax.xaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
    if limits:
        ax.set_ylim(*limits)
    _finish([ax], log)
    counts = by != "temperature"
    names = [prefix + (f"{v:,.0f}" if counts and not isinstance(v, str) and v >= 1000 else _number(v)) for v in values]
    if key:
        for name, colour in zip(names, shades, strict=True):
            ax.plot([], [], "o-", color=colour, lw=1.7, ms=5, label=name)
        figure: Any = ax.get_figure()
        figure.set_figheight(3.4 + 0.22 * style.rows_of(len(names), 3))
        style.legend(figure, ax, 3)
    elif places is None:
        last = [curve[np.isfinite(curve)][-1] for curve in data]
        ends = zip([float(at[x]) for at in last], map(float, last), names, shades, strict=True)
        ax.autoscale_view()
        end_labels(ax, list(ends), 2.6)
    for value, name, colour in zip(values, names, shades, strict=True):
        if places and value in places:
            _say(ax, *places[value], name, colour)
    for at, y, said in words:
        _say(ax, at, y, said)


# --- relaxation, superposition, forecast ------------------------------------------------------------------------------


@pictured
def loss_of_protocol(data: xr.DataArray, *, stages: Mapping[str, float], ax: Axes) -> None:
    """The data loss of one network over ``step``; stages: name -> the step at which it ends, in their order."""
    ax.plot(data.step, data, color=style.categories(1)[0], lw=2)
    start, last, (low, high) = 0.0, float(data.step[-1]), (float(data.min()), float(data.max()))
    for i, (name, end) in enumerate(stages.items()):
        at, middle = (start + end) / 2, low + 0.5 * (high - low)
        if i % 2:
            ax.axvspan(start, end, color=LIGHT.faint, alpha=0.6, lw=0)
        if end - start > 0.1 * last:
            _say(ax, at, high, name, va="bottom")
        else:
            line = {"arrowstyle": "-", "color": LIGHT.muted}
            at_line = at, low + 0.1 * (high - low)
            ax.annotate(name, at_line, (at - 0.15 * last, middle), ha="right", fontsize=SMALL, arrowprops=line)
        start = end
    ax.set(xlabel="step", ylabel="data loss", xlim=(0, last))
    ax.xaxis.set_major_locator(MultipleLocator(5000))
    ax.xaxis.set_major_formatter(lambda v, _: f"{v:,.0f}")
    ax.grid(axis="y")


# --- ageing -----------------------------------------------------------------------------------------------------------


@pictured
def growth_after_waits(data: Mapping[str, xr.Dataset], *, fig: Figure) -> None:
    """τ₉₀ after each wait over that after the first, a panel for each phase."""
    fig.set_size_inches(column(fig), 0.8 + _row(fig, 1.55) * len(data))
    axes = style.panels(fig, list(data), 1, TEMPERATURE, "", sharex=True, sharey=True)
    fig.supylabel(r"$\tau_{90}$ over that after the first wait", fontsize=style.TEXT)
    waits = sorted({int(wait) for table in data.values() for wait in table.waiting.values})
    shades = dict(zip(waits, style.sequential_colours(len(waits)), strict=True))
    for ax, table in zip(axes, data.values(), strict=True):
        grown = (table.tau / table.tau.isel(waiting=0)).dropna("temperature", how="all")
        later = table.waiting.values[1:].astype(int).tolist()
        ax.axhline(1, **FREE)
        for wait in later:
            one = grown.sel(waiting=wait).dropna("temperature")
            ax.plot(one.temperature, one, "o-", color=shades[wait], lw=1.7, ms=5)
        ax.set(xlim=(1e-10, 1), ylim=(0.6, 3.1))
        cold = grown.isel(temperature=0).dropna("waiting").sel(waiting=slice(later[0], None)).clip(min=1.22)
        names = [(float(cold.sel(waiting=w)), f"$t_w$ = {w:,}", shades[w]) for w in cold.waiting.values.astype(int)]
        _name_starts(ax, float(cold.temperature), names, 0.16)
    _say(axes[0], 0.8, 1.3, f"1: after {int(next(iter(data.values())).waiting[0]):,} steps", ha="right")
    _finish(axes, "x")
    axes[0].set_xticks([10.0**k for k in range(-8, 1, 2)])


# --- heterogeneity ----------------------------------------------------------------------------------------------------


@pictured
def non_gaussian(
    data: xr.DataArray, theory: xr.DataArray, *, words: Sequence[tuple[str, float, float, str]] = (), fig: Figure
) -> None:
    """α₂ of networks by temperature, the null dashed, and what it leaves of the coldest shaded; a panel a phase.

    ``words``: (phase, x, y, words).
    """
    phases = data.phase.values.tolist()
    fig.set_size_inches(column(fig), 0.8 + _row(fig, 1.6) * len(phases))
    axes = style.panels(fig, phases, 1, "$t$ (steps)", r"$\alpha_2$", sharex=True, sharey=True)
    both = [one.transpose("phase", "temperature", "time") for one in (data, theory)]
    for ax, *pair in zip(axes, *both, strict=True):
        found, null = (one.dropna("time", how="all") for one in pair)
        values = found.temperature.values.tolist()
        colours, cold = _colours(values, "temperature"), int(np.argmin(values))
        ax.fill_between(found.time, null[cold], found[cold], color=colours[cold], alpha=0.18, lw=0)
        for curve, gaussian, colour in zip(found, null, colours, strict=True):
            ax.plot(found.time, curve, color=colour, lw=1.8, zorder=3)
            ax.plot(found.time, gaussian, **{**FREE, "color": colour, "zorder": 2})
    axes[0].plot([], [], color=LIGHT.muted, lw=1.8, label="networks")
    axes[0].plot([], [], **{**FREE, "color": LIGHT.muted}, label="layers and silent units alone")
    style.legend(fig, axes[0], 2, "outside upper left")
    _finish(axes, "x")
    for ax, one in zip(axes, both[0], strict=True):
        ax.autoscale_view()
        _name_curves(ax, one.drop_vars("phase"), "temperature", "time", height=0.95)
    _in_panels(dict(zip(phases, axes, strict=True)), words)


@pictured
def motilities(
    data: xr.DataArray,
    theory: xr.DataArray,
    *,
    others: bool = False,
    words: Sequence[tuple[str, float, float, str]] = (),
    fig: Figure,
) -> None:
    """The histogram of log₁₀|Δw| at the lowest temperature of each phase, and that of Gaussian layers; a panel a phase.

    Both are over ``phase``, ``temperature`` and ``bin``; ``others``: other temperatures, too, as lines; ``words``:
    (phase, x, y, words).
    """
    shown = {}
    for phase in data.phase.values.tolist():
        rows = data.sel(phase=phase).dropna("temperature", how="all").sortby("temperature")
        cold = float(rows.temperature[0])
        null = theory.sel(phase=phase, temperature=cold).dropna("bin")
        shown[phase] = cold, rows, null
    fig.set_size_inches(column(fig), 0.9 + _row(fig, 1.3) * len(shown))
    titles = [f"{phase}, $T$ = {_number(cold)}" for phase, (cold, *_) in shown.items()]
    axes = style.panels(fig, titles, 1, r"$\log_{10}|\Delta w|$", "", sharex=True, sharey=True)
    fig.supylabel("share of the weights", fontsize=style.TEXT)
    for ax, (phase, (_, rows, null)) in zip(axes, shown.items(), strict=True):
        fill, *shades = _colours(rows.temperature.values.tolist(), "temperature")
        if not others:
            fill, shades = COLOURS.get(phase, fill), []
        for row, colour in zip(rows[1:], shades, strict=False):
            ax.plot(row.dropna("bin").bin, row.dropna("bin"), color=colour, lw=1.4)
        curve = rows[0].dropna("bin")
        ax.fill_between(curve.bin, 0, curve, color=fill, alpha=0.45, lw=0)
        ax.plot(null.bin, null, **FREE)
    seen = data.bin.values[(data > 1e-3).any(["phase", "temperature"]).values]
    axes[0].set(xlim=(float(seen[0]), float(seen[-1])), ylim=(0, None))
    axes[0].plot([], [], **FREE, label="layers and silent units alone")
    style.legend(fig, axes[0], 1, "outside upper left")
    _finish(axes, "")
    _in_panels(dict(zip(shown, axes, strict=True)), words)


# --- transitions ------------------------------------------------------------------------------------------------------


@pictured
def losses_by_size(data: xr.DataArray, theory: xr.DataArray | None = None, *, ax: Axes) -> None:
    """Networks as dots, the typical loss as a line, if there is one, named in the picture."""
    labels = data.labels.values.tolist()
    for name, colour in zip(labels, style.categories(len(labels)), strict=True):
        for one in data.sel(labels=name).transpose("seed", ...):
            ax.plot(data.ratio, one, "o", color=colour, mfc="none", mew=1.0, ms=4.5, alpha=0.75)
        if theory is not None:
            typical = theory.sel(labels=name).dropna("ratio")
            ax.plot(typical.ratio, typical, color=colour, lw=2.6, zorder=3)
            beside = float(typical.ratio[-2:].mean()) + 0.05, 8 * float(np.sqrt(typical[-2:].prod()))
            _say(ax, *beside, name, colour, ha="left")
    ax.set(xlabel="weights per sample $N/P_D$", ylabel=LOSS)
    _finish([ax], "y")
    if theory is not None:
        ax.plot([], [], "o", color=LIGHT.muted, mfc="none", ms=4.5, label="a network")
        ax.plot([], [], color=LIGHT.muted, lw=2.6, label="geometric mean")
        style.legend(ax.get_figure(), ax, 2)


@pictured
def losses_by_decay(data: xr.DataArray, *, log: str = "", paper: float | None = None, ax: Axes) -> None:
    """Final losses over ``regularisation`` along ``kind``: single networks thin and grey, their mean thick.

    ``paper`` marks the decay at which the paper has the transition.
    """
    for kind in data.kind.values:
        one = data.sel(kind=kind)
        colour, width = (style.categories(1)[0], 3.0) if kind == "mean" else ("#8b95a1", 1.2)
        ax.plot(one.regularisation, one, color=colour, lw=width, zorder=1 + width)
    ax.axhline(0.5, **FREE)
    ax.set(xlabel=r"weight decay $\lambda$", ylabel=LOSS, ylim=(None, 0.5 + 0.13 * float(0.5 - data.min())))
    _finish([ax], log)
    low = float(data.min())
    left = float(data.regularisation[1 if log else 0])
    _say(ax, left, 0.503, "the origin: ½", ha="left", va="bottom")
    if paper is not None:
        ax.axvline(paper, color=LIGHT.muted, lw=1.2, ls=":")
        _say(ax, paper * 1.04, low + 0.04 * (0.5 - low), r"the paper's $\lambda$", LIGHT.muted, ha="left")
    ax.plot([], [], color="#8b95a1", lw=1.2, label="single networks")
    ax.plot([], [], color=style.categories(1)[0], lw=3, label="mean of all")
    style.legend(ax.get_figure(), ax, 2)


@pictured
def losses_of_plane(data: xr.DataArray, *, limit: float | None = None, fig: Figure) -> None:
    """Typical final losses over ``regularisation``, one curve for each ``ratio`` of weights to samples, down to
    ``limit``."""
    fig.set_size_inches(column(fig), 3.4)
    ax = fig.subplots()
    data, colours = data.transpose("ratio", "regularisation"), style.sequential_colours(data.sizes["ratio"])
    for curve, colour in zip(data, colours, strict=True):
        ax.plot(data.regularisation, curve, "o-", color=colour, lw=1.7, ms=5)
    ax.axhline(0.5, **FREE)
    ax.set(xlabel=r"weight decay $\lambda$", ylabel=LOSS)
    ax.set(xlim=(-0.24 * float(data.regularisation.max()), None), ylim=(limit, 0.8))  # names stand left of the points
    _finish([ax], "y")
    ax.set_xticks([v for v in ax.get_xticks() if v >= 0])
    _say(ax, 0.0, 0.52, "the origin: ½", va="bottom", ha="left")
    _say(ax, -0.002, 0.27, "$N/P_D$:", va="bottom", ha="right")
    starts = [(float(one[0]), f"{float(one.ratio):.2g}", colour) for one, colour in zip(data, colours, strict=True)]
    _name_starts(ax, 0.0, starts, 0.085)


# --- landscape --------------------------------------------------------------------------------------------------------


@pictured
def planes(
    data: xr.DataArray,
    *,
    scale: xr.DataArray | float,
    marks: xr.DataArray | None = None,
    limits: tuple[float, float],
    says: Mapping[str, str] | None = None,
    fig: Figure,
) -> None:
    """:func:`~.planes.slices` over ``u`` and ``v`` by system, each with its unit and with what it ``says``."""
    how: dict[str, Any] = {"x": "u", "y": "v", "panel": "system", "columns": 4, "limits": limits}
    label = style.wrapped(style.axis_label(data), 1, column(fig))
    slices(data, scale=scale, marks=marks, label=label, fig=fig, **how)
    *drawn, bar = fig.axes
    for ax, system in zip(drawn, data.system.values.tolist(), strict=True):
        what = f"\n{says[system]}" if says and system in says else ""
        ax.set_title(f"{system}{what}", loc="left", fontsize=SMALL)
        unit = r"($\sigma_{AA}$)" if system == "glass" else r"($\sigma$)"
        ax.set_xlabel(f"{style.axis_label(data.u)} {unit}")
        own = isinstance(scale, xr.DataArray)  # else all share one axis
        ax.set_ylabel(style.axis_label(data.v) * (own or ax is drawn[0]) + f" {unit}" * own)
    bar.xaxis.set_major_formatter(lambda v, _: _number(v))


def _name_systems(ax: Axes, data: xr.DataArray, **places: tuple[float, float]) -> None:
    """Names of those systems that are there."""
    for system, place in places.items():
        if system in data.system.values:
            _say(ax, *place, system, COLOURS[system])


@pictured
def descents(data: xr.DataArray, *, floor: float, ax: Axes) -> None:
    """Distance gone in a descent over the ``calls`` of energy and gradient, by system; what is below ``floor`` points
    down from it."""
    for system in data.system.values.tolist():
        one, colour = data.sel(system=system).clip(min=floor), COLOURS[system]
        low = one == floor
        ax.plot(one.calls, one, "-", color=colour, lw=1.7)
        ax.plot(one.calls[~low], one[~low], "o", color=colour, ms=5)
        ax.plot(one.calls[low], one[low], "v", color=colour, mfc=LIGHT.background, ms=7)
    ax.set(xlabel="evaluations of energy and gradient", ylabel=r"distance ($\sigma_{AA}$, or $\sigma$ of weights)")
    _finish([ax], "xy")
    _name_systems(
        ax, data, glass=(60, 0.16), underparameterised=(900, 0.3), regularised=(1500, 0.0032),
        overparameterised=(550, 2.2e-4),
    )  # fmt: skip
