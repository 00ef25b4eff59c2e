"""Pictures of the glass paper's chapter: overlaps over time, times over temperature, displacements.

Each draws finished arrays by a function of :mod:`deepmech_book.figures`, and takes ``alt``, what the picture shows in a
sentence, and ``figure``, the registry id of the figure that it reproduces.
"""

from __future__ import annotations

import xarray as xr

from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "before_and_after",
    "beside_free_walks",
    "last_overlaps",
    "loss_of_protocol",
    "overlap_forever",
    "overlap_panels",
    "overlaps",
    "overlaps_in_wells",
    "times_after_waits",
    "times_by_temperature",
    "times_by_training",
    "times_by_waiting",
]

T = "temperature $T$ (of the paper, at $P_D$ = 60,000)"
TAU = r"decorrelation time $\tau_{90}$ (steps)"


def overlaps(
    curves: xr.DataArray, free: xr.DataArray, *, alt: str, figure: str | None = None, points: bool = True
) -> Picture:
    """Overlaps over time, one for each temperature, beside free walks.

    Parameters
    ----------
    curves, free : DataArray
        (temperature, time), Q of networks and of free walks, time in steps.
    points : bool
        Whether recorded times are marked.
    """
    return figures.lines(
        curves,
        x="time",
        by="temperature",
        label="$T$ = {}",
        theory=free,
        theory_label="free walk",
        log="x",
        points=points,
        x_label="time $t$ since $t_w$ (steps)",
        y_label="overlap $Q(t)$",
        alt=alt,
        figure=figure,
    )


def overlap_panels(
    curves: xr.DataArray, *, alt: str, figure: str | None = None, by: str = "temperature", label: str = "$T$ = {}"
) -> Picture:
    """Overlaps over time, a panel for each phase.

    Parameters
    ----------
    curves : DataArray
        Over ``phase``, ``time`` in steps, and ``by``.
    """
    return figures.curve_panels(
        curves,
        x="time",
        by=by,
        panel="phase",
        label=label,
        columns=3,
        log="x",
        x_label="$t$ (steps)",
        y_label="overlap $Q(t)$",
        alt=alt,
        figure=figure,
    )


def times_by_temperature(
    table: xr.Dataset,
    by: str,
    *,
    alt: str,
    label: str = "{}",
    figure: str | None = None,
    bars: bool = False,
    y_label: str = TAU,
) -> Picture:
    """Times in which the overlap falls over temperature, one curve for each phase, window, wait or size.

    Parameters
    ----------
    table : Dataset
        ``tau`` and ``free``, and with ``bars`` ``low`` and ``high``, over ``temperature`` (> 0) and ``by``, in
        steps, as of :func:`deepmech_book.analysis.glass.phases.beside`.
    """
    return figures.lines(
        table.tau,
        x="temperature",
        by=by,
        label=label,
        theory=table.free,
        theory_label="free walks",
        log="xy",
        legend=True,
        x_label=T,
        y_label=y_label,
        alt=alt,
        figure=figure,
        interval=(table.low, table.high) if bars else None,
    )


def times_by_training(table: xr.Dataset, *, alt: str) -> Picture:
    """τ₉₀ at T = 0 over the length of training, one curve for each window.

    Parameters
    ----------
    table : Dataset
        ``tau``, ``low`` and ``high`` over ``length`` and ``chi``, in steps.
    """
    return figures.lines(
        table.tau,
        x="length",
        by="chi",
        label=r"$\chi$ = {}",
        interval=(table.low, table.high),
        log="xy",
        legend=True,
        x_label=r"length of training $\mu t$",
        y_label=r"$\tau_{90}$ at $T = 0$ (steps)",
        alt=alt,
    )


def times_by_waiting(table: xr.Dataset) -> Picture:
    """τ₉₀ over the wait, one curve for each phase, beside what weight decay alone would make of it.

    Parameters
    ----------
    table : Dataset
        ``tau``, ``low``, ``high`` and ``alone`` over ``phase`` and ``waiting``, in steps, as of
        :func:`deepmech_book.analysis.glass.ageing.times_and_decay`.
    """
    return figures.lines(
        table.tau,
        x="waiting",
        by="phase",
        interval=(table.low, table.high),
        theory=table.alone,
        theory_label="weight decay alone",
        log="y",
        legend=True,
        x_label="waiting time $t_w$ (steps)",
        y_label=TAU,
        alt="Decorrelation times over waiting time in two phases, beside what weight decay alone would do.",
    )


def times_after_waits(table: xr.Dataset, phase: str, figure: str) -> Picture:
    """τ₉₀ of one phase over temperature, one curve for each wait, beside free walks.

    Parameters
    ----------
    table : Dataset
        ``tau`` and ``free`` over ``temperature`` (> 0) and ``waiting``, in steps.
    phase : str
        In the words of the text alternative.
    """
    return figures.lines(
        table.tau,
        x="temperature",
        by="waiting",
        label="$t_w$ = {}",
        theory=table.free,
        theory_label="free walk",
        log="xy",
        legend=True,
        x_label="temperature $T$ (of the paper)",
        y_label=r"$\tau_{90}$ (steps)",
        alt=f"Decorrelation times of {phase} networks over temperature, one curve for each waiting time.",
        figure=figure,
    )


def loss_of_protocol(loss: xr.DataArray, *, alt: str, figure: str | None = None) -> Picture:
    """The data loss of one network over ``step``, through preparation and walk."""
    return figures.lines(loss, x="step", points=False, x_label="step", y_label="data loss", alt=alt, figure=figure)


def before_and_after(curves: xr.DataArray, free: xr.DataArray) -> Picture:
    """Overlaps over time in steps, and over t/τ₉₀: ``curves`` and ``free`` over ``kind``, ``temperature``, ``time``."""
    return figures.curve_panels(
        curves,
        x="time",
        by="temperature",
        panel="kind",
        label="$T$ = {}",
        theory=free,
        theory_label="free walks",
        log="x",
        x_label="time",
        y_label="overlap $Q$",
        figure="C.4",
        alt="Left, overlaps of several temperatures fall one after the other. Right, over time in units of each one's "
        "decorrelation time, they lie on one dashed curve, that of a free walk.",
    )


def beside_free_walks(curves: xr.DataArray, free: xr.DataArray) -> Picture:
    """Overlaps over t/τ₉₀: ``curves`` and ``free`` over ``phase`` (a panel each), ``temperature`` and ``time``."""
    return figures.curve_panels(
        curves,
        x="time",
        by="temperature",
        panel="phase",
        label="$T$ = {}",
        theory=free,
        theory_label="free walk",
        columns=3,
        log="xy",
        x_label=r"$t/\tau_{90}$",
        y_label="overlap $Q$",
        alt="Overlaps over rescaled time in three phases lie on one curve, the dashed free walk, until late in their "
        "fall they leave it upwards; in the overparameterised phase none does.",
        figure="C.A6",
    )


def last_overlaps(last: xr.Dataset) -> Picture:
    """The last recorded overlap over ``temperature``, one curve for each variable."""
    return figures.lines(
        last.to_dataarray("kind"),
        x="temperature",
        by="kind",
        log="xy",
        legend=True,
        x_label="temperature $T$ (of the paper)",
        y_label="last overlap",
        alt="The last overlap over temperature: networks, free walks and weights in a well.",
    )


def overlaps_in_wells(points: xr.DataArray, theory: xr.DataArray) -> Picture:
    """Simulated overlaps in harmonic wells beside Eq. F6, over ``time``, one curve for each ``stiffness``."""
    return figures.lines(
        points,
        x="time",
        by="stiffness",
        label="$k$ = {}",
        theory=theory,
        theory_label="Eq. F6",
        log="x",
        x_label="time",
        y_label="overlap $Q(t)$",
        alt="Overlaps falling with time: early in the steep well, late in the shallow one, points on the dashed closed "
        "form.",
        figure="C.A5",
    )


def overlap_forever(overlap: xr.DataArray) -> Picture:
    """The overlap after infinite time in the well of weight decay, over ``temperature``."""
    return figures.lines(
        overlap,
        x="temperature",
        log="xy",
        points=False,
        x_label="temperature $T$ (of the paper)",
        y_label=r"$Q_\infty$",
        alt="The overlap after infinite time over temperature: a straight line of slope minus one half when hot.",
        figure="C.A7",
    )
