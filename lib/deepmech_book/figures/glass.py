"""Pictures of the pages on paper C: general ones with the words of this chapter. Each takes finished arrays.

Most are :func:`~.curves.lines`, :func:`~.curves.curve_panels` or :func:`~.planes.slices` with arguments given, of which
every one can be given anew: the text alternative ``alt``, what the picture shows in a sentence, and ``figure``, the
registry id of the figure that it reproduces. They take the array, and that of the dashed curves after it.
"""

from __future__ import annotations

from functools import partial

import xarray as xr

from deepmech_book import figures
from deepmech_book.figures import Picture
from deepmech_book.figures.picture import beside

__all__ = [
    "before_and_after",
    "beside_free_walks",
    "both_transitions",
    "curvatures",
    "descents",
    "displacement_nulls",
    "displacement_powers",
    "displacements",
    "displacements_by_batch",
    "foretold_overlaps",
    "kicks",
    "last_overlaps",
    "loss_of_protocol",
    "losses_by_decay",
    "losses_by_size",
    "losses_of_plane",
    "motilities",
    "non_gaussian",
    "overlap_forever",
    "overlap_panels",
    "overlaps",
    "overlaps_in_wells",
    "paths",
    "planes",
    "planes_of_one_scale",
    "susceptibilities",
    "times_after_waits",
    "times_by_temperature",
    "times_by_training",
    "times_by_waiting",
]

TAU = r"decorrelation time $\tau_{90}$ (steps)"
SINCE = "time $t$ since $t_w$ (steps)"
LOSS = "final data loss"

_phases = partial(
    figures.curve_panels,
    x="time",
    by="temperature",
    panel="phase",
    label="$T$ = {}",
    columns=3,
    log="x",
    x_label="$t$ (steps)",
)
"""Curves of each temperature over time, a panel for each phase."""
_by_temperature = partial(
    figures.lines, x="temperature", log="xy", legend=True, x_label="temperature $T$ (of the paper)"
)
_displacements = partial(
    figures.lines, x="time", log="xy", points=False, x_label=SINCE, y_label="mean squared displacement"
)
_by_decay = partial(figures.lines, x="regularisation", legend=True, x_label=r"weight decay $\lambda$", y_label=LOSS)
_planes = partial(
    figures.slices, x="u", y="v", panel="system", columns=2, x_label="along the walk", y_label="across it"
)


# --- relaxation, ageing, superposition, forecast ----------------------------------------------------------------------


def overlaps(
    curves: xr.DataArray,
    free: xr.DataArray,
    *,
    alt: str = "",
    figure: str | None = None,
    points: bool = True,
    x_label: str = SINCE,
) -> Picture:
    """Overlaps over time, one for each temperature, beside free walks.

    Parameters
    ----------
    curves, free : DataArray
        (temperature, time), Q of networks and of free walks, time in steps.
    alt : str
        By default it names the temperatures.
    points : bool
        Whether recorded times are marked.
    """
    listed = ", ".join(f"{float(t):g}" for t in curves.temperature)
    return figures.lines(
        curves,
        free,
        x="time",
        by="temperature",
        label="$T$ = {}",
        theory_label="free walk",
        log="x",
        points=points,
        x_label=x_label,
        y_label="overlap $Q(t)$",
        alt=alt or f"Overlaps falling with time at the temperatures {listed}, beside the dashed curves of free walks.",
        figure=figure,
    )


overlap_panels = partial(
    _phases,
    y_label="overlap $Q(t)$",
    alt="Overlaps falling with time, a panel for each phase, one curve for each temperature.",
)
"""Overlaps over ``time`` in steps, a panel for each ``phase``."""


def times_by_temperature(
    table: xr.Dataset,
    by: str,
    *,
    alt: str = "",
    label: str = "{}",
    figure: str | None = None,
    bars: bool = False,
    x_label: str = "temperature $T$ (of the paper, at $P_D$ = 60,000)",
    y_label: str = TAU,
) -> Picture:
    """Times in which the overlap falls over temperature, one curve for each phase, window, wait or size.

    Parameters
    ----------
    table : Dataset
        ``tau`` and ``free``, and with ``bars`` ``low`` and ``high``, over ``temperature`` (> 0) and ``by``, in
        steps, as of :func:`deepmech_book.analysis.glass.phases.beside`.
    alt : str
        By default it says what the curves are.
    """
    return _by_temperature(
        table.tau,
        table.free,
        by=by,
        label=label,
        theory_label="free walks",
        x_label=x_label,
        y_label=y_label,
        alt=alt or f"Times over temperature, one curve for each {by}, beside the dashed straight lines of free walks.",
        figure=figure,
        interval=(table.low, table.high) if bars else None,
    )


def times_by_training(table: xr.Dataset) -> Picture:
    """τ₉₀ at T = 0 over the length of training, one curve for each window and each wait before the clock starts.

    Parameters
    ----------
    table : Dataset
        ``tau``, ``low`` and ``high`` over ``length`` and ``kind``, in steps.
    """
    return figures.lines(
        table.tau,
        x="length",
        by="kind",
        interval=(table.low, table.high),
        log="xy",
        legend=True,
        x_label=r"length of training $\mu t$",
        y_label=r"$\tau_{90}$ at $T = 0$ (steps)",
        alt="Decorrelation times at zero temperature over the length of training for three windows and two waits: "
        "level until networks have learnt, then rising, but for the finest window without a wait.",
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
        table.alone,
        x="waiting",
        by="phase",
        interval=(table.low, table.high),
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
    return _by_temperature(
        table.tau,
        table.free,
        by="waiting",
        label="$t_w$ = {}",
        theory_label="free walk",
        y_label=r"$\tau_{90}$ (steps)",
        alt=f"Decorrelation times of {phase} networks over temperature, one curve for each waiting time.",
        figure=figure,
    )


loss_of_protocol = partial(
    figures.lines,
    x="step",
    points=False,
    y_label="data loss",
    alt="The training loss of one network over the steps of the protocol: a drop, then a plateau.",
    figure="C.A2",
)
"""The data loss of one network over ``step``, through preparation and walk."""

before_and_after = partial(
    _phases,
    panel="kind",
    theory_label="free walks",
    columns=2,
    x_label="time",
    y_label="overlap $Q$",
    figure="C.4",
    alt="Left, overlaps of several temperatures fall one after the other. Right, over time in units of each one's "
    "decorrelation time, they lie on one dashed curve, that of a free walk.",
)
"""Overlaps, and those of free walks, over time in steps and over t/τ₉₀: over ``kind``, ``temperature``, ``time``."""

beside_free_walks = partial(
    _phases,
    theory_label="free walk",
    log="xy",
    x_label=r"$t/\tau_{90}$",
    y_label="overlap $Q$",
    alt="Overlaps over rescaled time in three phases lie on one curve, the dashed free walk, until late in their fall "
    "they leave it upwards; in the overparameterised phase none does.",
    figure="C.A6",
)
"""Overlaps, and those of free walks, over t/τ₉₀: over ``phase`` (a panel each), ``temperature`` and ``time``."""

last_overlaps = partial(
    _by_temperature,
    by="kind",
    y_label="last overlap",
    alt="The last overlap over temperature: networks, free walks and weights in a well.",
)
"""The last recorded overlap over ``temperature``, one curve for each ``kind``."""

overlaps_in_wells = partial(
    figures.lines,
    x="time",
    by="stiffness",
    label="$k$ = {}",
    theory_label="Eq. F6",
    log="x",
    x_label="time",
    y_label="overlap $Q(t)$",
    alt="Overlaps falling with time: early in the steep well, late in the shallow one, points on the dashed closed "
    "form.",
    figure="C.A5",
)
"""Simulated overlaps in harmonic wells beside Eq. F6, over ``time``, one curve for each ``stiffness``."""

overlap_forever = partial(
    _by_temperature,
    points=False,
    legend=False,
    y_label=r"$Q_\infty$",
    alt="The overlap after infinite time over temperature: a straight line of slope minus one half when hot.",
    figure="C.A7",
)
"""The overlap after infinite time in the well of weight decay, over ``temperature``."""

foretold_overlaps = partial(
    figures.lines,
    x="time",
    by="temperature",
    label="$T$ = {}",
    theory_label="foretold",
    columns=2,
    log="x",
    x_label="$t$ (steps)",
    y_label="overlap $Q(t)$",
    alt="Two panels of overlaps that fall over time, hot ones first. Dashed curves, foretold from one look before "
    "the walks began, lie on them at every temperature.",
)
"""Overlaps over ``time`` by ``temperature``, in a mapping from phases, a panel each, and what was foretold of them."""

# --- heterogeneity ----------------------------------------------------------------------------------------------------

non_gaussian = partial(
    _phases, by="kind", label="{}", theory_label="Gaussian layers", shared=False, y_label=r"$\alpha_2$"
)
"""α₂ over time, and that of Gaussian layers: over ``phase`` (a panel each), ``kind`` and ``time``."""

motilities = partial(
    _phases,
    x="bin",
    log="",
    theory_label="Gaussian layers",
    x_label=r"$\log_{10}|\Delta w|$",
    y_label="share of weights",
)
"""Histograms of log₁₀|Δw|, and those of Gaussian layers: over ``phase``, ``temperature`` and ``bin``."""

susceptibilities = partial(
    _phases,
    by="kind",
    panel="temperature",
    label="{}",
    title="$T$ = {}",
    theory_label="independent weights",
    shared=False,
    height=1.7,
    y_label=r"$\chi_4$",
    alt="The dynamic susceptibility over time, a panel for each temperature, beside that of independent weights.",
)
"""χ₄ over time, a panel for each ``temperature``, of networks and of independent weights, over ``kind``."""

# --- transitions ------------------------------------------------------------------------------------------------------


def losses_by_size(loss: xr.DataArray, typical: xr.DataArray, figure: str | None = None) -> Picture:
    """Final losses over weights per sample: ``loss`` over ``labels``, ``seed``, ``ratio``, and the ``typical`` one."""
    return figures.lines(
        typical,
        x="ratio",
        by="labels",
        interval=(loss.min("seed"), loss.max("seed")),
        log="y",
        legend=True,
        x_label="weights per sample $N/P_D$",
        y_label=LOSS,
        alt="Final loss over weights per sample: it falls by many decades as networks grow, with a large scatter.",
        figure=figure,
    )


losses_by_decay = partial(
    _by_decay,
    by="kind",
    main="mean",
    others="single networks",
    points=False,
    alt="Final loss over weight decay: single networks rise and then jump to one half at different places, their mean "
    "rises more slowly.",
)
"""Final losses over ``regularisation``, of single networks and their mean, along ``kind``."""


def both_transitions(loss: xr.DataArray, typical: xr.DataArray, decays: xr.DataArray) -> Picture:
    """Fig. A3: :func:`losses_by_size` beside :func:`losses_by_decay`."""
    parts = {"(a)": losses_by_size(loss, typical), "(b)": losses_by_decay(decays, log="x")}
    return beside(parts, figure="C.A3")


losses_of_plane = partial(
    _by_decay,
    by="ratio",
    label="$N/P_D$ = {}",
    log="y",
    alt="Final loss over weight decay, one curve for each size: small for large networks at zero, and one half at "
    "strong decay.",
    figure="C.1",
)
"""Typical final losses over ``regularisation``, one curve for each ``ratio`` of weights to samples."""

# --- displacement -----------------------------------------------------------------------------------------------------

displacements = partial(
    _phases,
    theory_label="free walks",
    log="xy",
    y_label="squared displacement",
    alt="Three panels of displacements over time: hot ones on the dashed free walks, cold ones above them and steeper; "
    "none has a plateau.",
    figure="C.5",
)
"""Squared displacements over ``time``, a panel for each ``phase``, of networks and free walks, by temperature."""

displacement_powers = partial(
    _displacements,
    by="temperature",
    label="$T$ = {}",
    log="x",
    level=1.0,
    x_label="time $t$ (steps)",
    y_label="local power of the displacement",
    alt="Local powers over time: one when hot, two when cold, falling at late times.",
)
"""Local powers of displacements over ``time``, one curve for each ``temperature``."""

displacement_nulls = partial(
    _displacements,
    by="kind",
    legend=True,
    alt="Displacements of hot regularised networks over time beside free walks and weights held by weight decay alone.",
)
"""Displacements over ``time``, one curve for each ``kind``: networks, and what they are compared with."""

displacements_by_batch = partial(
    _displacements,
    by="batch_size",
    label="batch {}",
    alt="Displacements over time for several batch sizes: the smaller the batch, the larger the displacement.",
)
"""Displacements over ``time`` under stochastic gradient descent, one curve for each ``batch_size``."""

# --- landscape --------------------------------------------------------------------------------------------------------

planes = partial(
    _planes,
    limits=(1, 1e4),
    label="energy above the lowest point ($T$)",
    alt="Four shaded planes. The glass has separate low basins at three numbered places, surrounded by high walls; in "
    "the networks the three places lie on a slope or a floor without walls between them.",
    figure="C.6",
)
"""Energy over planes through three ``marks``, over ``u`` and ``v`` in units of ``scale``, one for each system."""

planes_of_one_scale = partial(
    _planes,
    limits=(1e-5, 10),
    label="energy above the lowest point (share of what was gained)",
    alt="Four shaded planes on one scale. The glass has small wells and is otherwise at the top of the shading; the "
    "networks have nested contours around one point, wider by each factor of ten.",
)
"""Energy, as a share of what was gained, over planes of one ``scale``, over ``u`` and ``v``, by system."""

kicks = partial(
    figures.lines,
    x="kick",
    by="system",
    theory_label="bowls",
    log="xy",
    x_label=r"length of the kick ($\sigma_{AA}$, or $\sigma$ of weights)",
    y_label="share left after the quench",
    alt="The share left after a quench over the length of the kick. In the glass it is near zero and jumps to one at a "
    "definite length; in three kinds of networks it is of the order of one at every length, as in bowls of the same "
    "curvatures.",
)
"""The share of a ``kick`` that is left after a quench, by system, beside that in bowls."""

curvatures = partial(
    figures.lines,
    x="probability",
    by="system",
    log="y",
    points=False,
    x_label="share of directions",
    y_label="curvature / largest",
    alt="Curvatures in rising order on a logarithmic scale. Those of the glass span two decades or three; those of "
    "networks span many decades, and many directions of networks without weight decay have none.",
)
"""Curvatures, of the largest, over the share of directions (``probability``), by system."""

paths = partial(
    figures.curve_panels,
    x="place",
    by="path",
    panel="system",
    columns=3,
    level=0.0,
    x_label="place on the path",
    y_label="loss (share of gained)",
    alt="Loss along paths between two networks in three phases: straight paths rise above the untrained network's "
    "loss; relaxed ones rise less.",
)
"""Loss, as a share of what was gained, along ``place`` of each ``path``, a panel for each system."""

descents = partial(
    figures.lines,
    x="calls",
    by="system",
    log="xy",
    x_label="evaluations of energy and gradient",
    y_label=r"distance gone ($\sigma_{AA}$, or $\sigma$ of weights)",
    alt="Distance gone over evaluations: the glass stops after a hundred or so; regularised and underparameterised "
    "networks go on; the overparameterised network does not move.",
)
"""Distance gone in a descent over the ``calls`` of energy and gradient, by system."""
