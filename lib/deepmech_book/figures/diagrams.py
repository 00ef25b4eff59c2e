"""Load curves of chains and networks: the library's pictures, with the words that stand for them and in both themes."""

from __future__ import annotations

from typing import Any

import xarray as xr

from deepmech import plots
from deepmech.plots.arrays import arranged
from deepmech.plots.phase import height
from deepmech_book.figures import drawn
from deepmech_book.figures.picture import Picture
from deepmech_book.figures.plots import scatter

#: Kind of noise -> (axis label, whether larger values are noisier).
NOISES = {
    "data_noise": ("data noise $p$", True),
    "learning_rate": ("learning rate", True),
    "dropout": ("dropout probability", True),
    "batch_size": ("batch size", False),
}


@drawn.takes
def load_curves(load: xr.DataArray, *, alt: str, figure: str | None = None, **how: Any) -> Picture:
    """:func:`deepmech.plots.load_curves` (which explains the arguments) as a picture."""
    return Picture(
        lambda fig, theme: plots.load_curves(load, ax=fig.subplots(), theme=theme, **how),
        alt=alt, height=3.9, figure=figure,
    )  # fmt: skip


@drawn.takes
def phase_diagram(
    load: xr.DataArray, *, x: str, y: str, alt: str, layer: str = "block", figure: str | None = None, **how: Any
) -> Picture:
    """:func:`deepmech.plots.phase_diagram` (which explains the arguments) as a picture."""
    load = arranged("phase_diagram load", load, x, y, layer)
    return Picture(
        lambda fig, theme: plots.phase_diagram(load, x=x, y=y, layer=layer, fig=fig, theme=theme, **how),
        alt=alt, height=height(load, x, y, 2 if how.get("curvature") is not None else 1), figure=figure,
    )  # fmt: skip


def network_diagram(means: xr.Dataset, *, alt: str, figure: str | None = None) -> Picture:
    """Load curves over negative slope and one kind of noise: strongest noise on the left, ReLU on top.

    Parameters
    ----------
    means : Dataset, dims (slope, noise, layer)
        With ``load_curve``, ``accuracy`` (a fraction, shades the upper panel) and ``curvature`` (the lower one); the
        dimension of the noise is a key of :data:`NOISES`.

    Raises
    ------
    ValueError
        If no dimension is a kind of noise, or ``alt`` is missing.
    """
    noise = _noise(means)
    label, rising = NOISES[noise]
    means = means.sortby(noise)
    return phase_diagram(
        means["load_curve"],
        layer="layer",
        x=noise,
        y="slope",
        shade=100 * means["accuracy"],
        shade_label="test accuracy (%)",
        curvature=means["curvature"],
        x_label=label,
        y_label=r"negative slope $\alpha$",
        reverse_x=rising,
        reverse_y=True,
        alt=alt,
        figure=figure,
    )


def accuracy_by_bend(means: xr.Dataset, rank: tuple[float, float, float], *, alt: str) -> Picture:
    """Test accuracy against the size of the curvature, a point per cell of :func:`network_diagram`, coloured by noise.

    ``rank`` is their rank correlation with the ends of its interval.
    """
    noise = _noise(means)
    bend = means["curvature"]
    shade = means[noise].broadcast_like(bend).transpose(*bend.dims)
    return scatter(
        abs(bend),
        100 * means["accuracy"].transpose(*bend.dims),
        colour=shade,
        colour_label=NOISES[noise][0],
        rank=rank,
        x_label="size of the signed curvature",
        y_label="test accuracy (%)",
        alt=alt,
    )


def _noise(means: xr.Dataset) -> str:
    found = [name for name in NOISES if name in means.dims]
    if len(found) != 1:
        raise ValueError(f"network diagram: dims {tuple(means.dims)}: exactly one must be of {', '.join(NOISES)}")
    return found[0]
