"""Pictures of the pages on paper C: each takes finished arrays and knows its labels.

One that several pages draw takes ``alt``, what the picture shows in a sentence, and ``figure``, the registry id of the
figure that it reproduces; the others know these too.
"""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from deepmech_book import figures
from deepmech_book.figures import Picture

__all__ = [
    "before_and_after",
    "beside_free_walks",
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

T = "temperature $T$ (of the paper, at $P_D$ = 60,000)"
TAU = r"decorrelation time $\tau_{90}$ (steps)"
LOSS, DECAY = "final data loss", r"weight decay $\lambda$"


def overlaps(
    curves: xr.DataArray,
    free: xr.DataArray,
    *,
    alt: str = "",
    figure: str | None = None,
    points: bool = True,
    x_label: str = "time $t$ since $t_w$ (steps)",
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
        x="time",
        by="temperature",
        label="$T$ = {}",
        theory=free,
        theory_label="free walk",
        log="x",
        points=points,
        x_label=x_label,
        y_label="overlap $Q(t)$",
        alt=alt or f"Overlaps falling with time at the temperatures {listed}, beside the dashed curves of free walks.",
        figure=figure,
    )


def overlap_panels(
    curves: xr.DataArray, *, alt: str = "", figure: str | None = None, by: str = "temperature", label: str = "$T$ = {}"
) -> Picture:
    """Overlaps over time, a panel for each phase.

    Parameters
    ----------
    curves : DataArray
        Over ``phase``, ``time`` in steps, and ``by``.
    alt : str
        By default it says what the panels and curves are.
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
        alt=alt or f"Overlaps falling with time, a panel for each phase, one curve for each {by}.",
        figure=figure,
    )


def times_by_temperature(
    table: xr.Dataset,
    by: str,
    *,
    alt: str = "",
    label: str = "{}",
    figure: str | None = None,
    bars: bool = False,
    x_label: str = T,
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
    return figures.lines(
        table.tau,
        x="temperature",
        by=by,
        label=label,
        theory=table.free,
        theory_label="free walks",
        log="xy",
        legend=True,
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


def loss_of_protocol(loss: xr.DataArray) -> Picture:
    """The data loss of one network over ``step``, through preparation and walk."""
    return figures.lines(
        loss,
        x="step",
        points=False,
        x_label="step",
        y_label="data loss",
        alt="The training loss of one network over the steps of the protocol: a drop, then a plateau.",
        figure="C.A2",
    )


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


def non_gaussian(
    alpha: xr.DataArray, null: xr.DataArray, *, alt: str, figure: str, height: float | None = None
) -> Picture:
    """α₂ over time: ``alpha`` and ``null``, of Gaussian layers, over ``phase`` (a panel each), ``kind``, ``time``."""
    return figures.curve_panels(
        alpha,
        x="time",
        by="kind",
        panel="phase",
        theory=null,
        theory_label="Gaussian layers",
        columns=3,
        shared=False,
        log="x",
        x_label="$t$ (steps)",
        y_label=r"$\alpha_2$",
        alt=alt,
        figure=figure,
        height=height,
    )


def motilities(share: xr.DataArray, null: xr.DataArray, *, alt: str) -> Picture:
    """Histograms of log₁₀|Δw|: ``share`` and ``null``, of Gaussian layers, over ``phase``, ``temperature``, ``bin``."""
    return figures.curve_panels(
        share,
        x="bin",
        by="temperature",
        panel="phase",
        label="$T$ = {}",
        theory=null,
        theory_label="Gaussian layers",
        columns=3,
        x_label=r"$\log_{10}|\Delta w|$",
        y_label="share of weights",
        alt=alt,
    )


def susceptibilities(chi: xr.DataArray, independent: xr.DataArray) -> Picture:
    """χ₄ over time, a panel for each ``temperature``, of networks and of independent weights, over ``kind``."""
    return figures.curve_panels(
        chi,
        x="time",
        by="kind",
        panel="temperature",
        title="$T$ = {}",
        theory=independent,
        theory_label="independent weights",
        columns=3,
        shared=False,
        log="x",
        height=1.7,
        x_label="$t$ (steps)",
        y_label=r"$\chi_4$",
        alt="The dynamic susceptibility over time, a panel for each temperature, beside that of independent weights.",
    )


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


def losses_by_decay(loss: xr.DataArray, log: str = "") -> Picture:
    """Final losses over ``regularisation``, of single networks and their mean, along ``kind``."""
    return figures.lines(
        loss,
        x="regularisation",
        by="kind",
        points=False,
        legend=True,
        log=log,
        x_label=DECAY,
        y_label=LOSS,
        alt="Final loss over weight decay: single networks rise and then jump to one half at different places, their "
        "mean rises more slowly.",
    )


def losses_of_plane(loss: xr.DataArray) -> Picture:
    """Typical final losses over ``regularisation``, one curve for each ``ratio`` of weights to samples."""
    return figures.lines(
        loss,
        x="regularisation",
        by="ratio",
        label="$N/P_D$ = {}",
        log="y",
        legend=True,
        x_label=DECAY,
        y_label=LOSS,
        alt="Final loss over weight decay, one curve for each size: small for large networks at zero, and one half at "
        "strong decay.",
        figure="C.1",
    )


def displacements(moved: xr.DataArray, free: xr.DataArray) -> Picture:
    """Squared displacements over ``time``, a panel for each ``phase``, of networks and free walks, by temperature."""
    return figures.curve_panels(
        moved,
        x="time",
        by="temperature",
        panel="phase",
        label="$T$ = {}",
        theory=free,
        theory_label="free walks",
        columns=3,
        log="xy",
        x_label="$t$ (steps)",
        y_label="squared displacement",
        alt="Three panels of displacements over time: hot ones on the dashed free walks, cold ones above them and "
        "steeper; none has a plateau.",
        figure="C.5",
    )


def foretold_overlaps(walked: Mapping[str, xr.DataArray], foretold: Mapping[str, xr.DataArray]) -> Picture:
    """Overlaps over ``time`` by ``temperature``, a panel for each phase, and dashed what was foretold of them."""
    return figures.lines(
        walked,
        x="time",
        by="temperature",
        label="$T$ = {}",
        theory=foretold,
        theory_label="foretold",
        columns=2,
        log="x",
        x_label="$t$ (steps)",
        y_label="overlap $Q(t)$",
        alt="Two panels of overlaps that fall over time, hot ones first. Dashed curves, foretold from one look before "
        "the walks began, lie on them at every temperature.",
    )


def displacement_powers(powers: xr.DataArray) -> Picture:
    """Local powers of displacements over ``time``, one curve for each ``temperature``."""
    return figures.lines(
        powers,
        x="time",
        by="temperature",
        label="$T$ = {}",
        log="x",
        points=False,
        level=1.0,
        x_label="time $t$ (steps)",
        y_label="local power of the displacement",
        alt="Local powers over time: one when hot, two when cold, falling at late times.",
    )


def displacement_nulls(kinds: xr.Dataset) -> Picture:
    """Displacements over ``time``, one curve for each variable: networks, and what they are compared with."""
    return figures.lines(
        kinds.to_dataarray("kind"),
        x="time",
        by="kind",
        log="xy",
        points=False,
        legend=True,
        x_label="time $t$ since $t_w$ (steps)",
        y_label="mean squared displacement",
        alt="Displacements of hot regularised networks over time beside free walks and weights held by weight decay "
        "alone.",
    )


def displacements_by_batch(moved: xr.DataArray) -> Picture:
    """Displacements over ``time`` under stochastic gradient descent, one curve for each ``batch_size``."""
    return figures.lines(
        moved,
        x="time",
        by="batch_size",
        label="batch {}",
        log="xy",
        points=False,
        x_label="time $t$ since $t_w$ (steps)",
        y_label="mean squared displacement",
        alt="Displacements over time for several batch sizes: the smaller the batch, the larger the displacement.",
    )


def planes(energy: xr.DataArray, scale: xr.DataArray, marks: xr.DataArray) -> Picture:
    """Energy over planes through three ``marks``, over ``u`` and ``v`` in units of ``scale``, one for each system."""
    return figures.slices(
        energy,
        x="u",
        y="v",
        panel="system",
        columns=2,
        scale=scale,
        marks=marks,
        limits=(1, 1e4),
        label="energy above the lowest point ($T$)",
        x_label="along the walk",
        y_label="across it",
        alt="Four shaded planes. The glass has separate low basins at three numbered places, surrounded by high walls; "
        "in the networks the three places lie on a slope or a floor without walls between them.",
        figure="C.6",
    )


def planes_of_one_scale(energy: xr.DataArray, scale: float) -> Picture:
    """Energy, as a share of what was gained, over planes of one ``scale``, over ``u`` and ``v``, by system."""
    return figures.slices(
        energy,
        x="u",
        y="v",
        panel="system",
        columns=2,
        scale=scale,
        limits=(1e-5, 10),
        label="energy above the lowest point (share of what was gained)",
        x_label="along the walk",
        y_label="across it",
        alt="Four shaded planes on one scale. The glass has small wells and is otherwise at the top of the shading; "
        "the networks have nested contours around one point, wider by each factor of ten.",
    )


def kicks(left: xr.DataArray, bowls: xr.DataArray) -> Picture:
    """The share of a ``kick`` that is left after a quench, by system, beside that in ``bowls``."""
    return figures.lines(
        left,
        x="kick",
        by="system",
        theory=bowls,
        theory_label="bowls",
        log="xy",
        x_label=r"length of the kick ($\sigma_{AA}$, or $\sigma$ of weights)",
        y_label="share left after the quench",
        alt="The share left after a quench over the length of the kick. In the glass it is near zero and jumps to one "
        "at a definite length; in three kinds of networks it is of the order of one at every length, as in bowls of "
        "the same curvatures.",
    )


def curvatures(curvature: xr.DataArray) -> Picture:
    """Curvatures, of the largest, over the share of directions (``probability``), by system."""
    return figures.lines(
        curvature,
        x="probability",
        by="system",
        log="y",
        points=False,
        x_label="share of directions",
        y_label="curvature / largest",
        alt="Curvatures in rising order on a logarithmic scale. Those of the glass span two decades or three; those of "
        "networks span many decades, and many directions of networks without weight decay have none.",
    )


def paths(loss: xr.DataArray) -> Picture:
    """Loss, as a share of what was gained, along ``place`` of each ``path``, a panel for each system."""
    return figures.curve_panels(
        loss,
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


def descents(distance: xr.DataArray) -> Picture:
    """Distance gone in a descent over the ``calls`` of energy and gradient, by system."""
    return figures.lines(
        distance,
        x="calls",
        by="system",
        log="xy",
        x_label="evaluations of energy and gradient",
        y_label=r"distance gone ($\sigma_{AA}$, or $\sigma$ of weights)",
        alt="Distance gone over evaluations: the glass stops after a hundred or so; regularised and underparameterised "
        "networks go on; the overparameterised network does not move.",
    )
