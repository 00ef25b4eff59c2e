"""Fig. 1: what all kinds of noise do to load curves and accuracy, and whether the straight load curve is the best.

``panels`` and ``diagrams`` are diagrams of networks by name, each over one kind of noise.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr

from deepmech.core.estimates import stack, two_decimals
from deepmech.core.labels import over
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.figures.spring_block import noise_of
from deepmech_book.spring_block import summaries
from deepmech_book.spring_block.experiments import FITS
from deepmech_book.spring_block.printed import printed
from deepmech_book.spring_block.summaries import STRAIGHT, NetworkDiagram, is_better, over_diagrams
from deepmech_book.spring_block.words import said
from deepmech_book.sweeps.spring_block.networks import PANELS

FORTY, MORE = range(100, 140), range(140, 232)
"""Seeds of networks that judge champions, of most diagrams and of Fig. 1(a) with the images of the print; MORE
and, of Fig. S9, FORTY were written down before these networks were trained; other networks of FORTY came with them."""


def fresh(sweep, diagram):
    """Networks of new seeds at the best bent and the best straight cells of a diagram, over ``place``."""
    slopes, values = zip(*diagram.champions(), strict=True)
    chosen = {name: np.array(of, sweep.cells[name].dtype) for name, of in (("slope", slopes), (diagram.noise, values))}
    cells = {name: xr.DataArray(of, {"place": range(len(of))}, "place") for name, of in chosen.items()}
    cells["seed"] = over("seed", MORE if sweep.fixed["data"].get("n_train") == FITS else FORTY)
    return replace(sweep, name=sweep.name.replace("figure-", "fresh-"), cells=cells)


# --- pictures and tables


def by_accuracy(made):
    """Diagrams by title, means over seeds, with accuracy in per cent."""
    means = {title: one.mean("seed", skipna=False) for title, one in made.items()}
    percent = {title: one.assign(accuracy=100 * one["accuracy"]) for title, one in means.items()}
    return {title: one.transpose(noise_of(one), "slope", ...) for title, one in percent.items()}


def plain(title, diagram):
    """A diagram by what it is of, without the letters of its figure."""
    words, noise = title.partition(" ")[2].replace("_", " "), diagram.noise.replace("_", " ")
    return words if noise in words else f"{words}, {noise}"


def gains(diagrams, fresh):
    """By how much the best bent cell of each diagram is ahead of its best straight one."""
    found = {plain(title, one): one.bent_gains_over_thresholds(fresh.get(title)) for title, one in diagrams.items()}
    return stack(found, "diagram").map(lambda a: said(a, "bent minus straight", "points"))


def by_winner(gains):
    """The same, told apart by which cell is better."""
    sides = {"straight wins": gains.high < 0, "bent wins": gains.low > 0, "open": ~((gains.high < 0) | (gains.low > 0))}
    better = xr.concat(sides.values(), xr.Variable("better", list(sides)))
    return gains.map(lambda a: said(a.where(better), "← straight better · bent better →", "points"))


def tops(diagrams):
    """Of each diagram, the curvature from which accuracy falls, and that of the most accurate cell."""
    named = {plain(title, one): one for title, one in diagrams.items()}
    numbers = {
        "top of the hump, $c_0$": stack({title: one.straightest for title, one in named.items()}, "diagram"),
        "of the best cell": stack({title: one.best_curvature for title, one in named.items()}, "diagram"),
    }
    return stack(numbers, "number").map(lambda a: said(a, "signed curvature"))


def by_samples(made):
    """Curvature of the most accurate cell of each diagram, by load curves of training and of test samples."""
    kinds = {"training": made, "test": {title: summaries.by_test_curves(one) for title, one in made.items()}}
    each = {kind: {t: NetworkDiagram(one).best_curvature for t, one in of.items()} for kind, of in kinds.items()}
    both = stack({kind: stack(of, "diagram") for kind, of in each.items()}, "samples")
    return both.map(lambda a: said(a, "signed curvature"))


RIVALS = {
    "training loss": lambda one: one.falls("loss"),
    "training loss, within rows": lambda one: one.falls("loss", in_rows=True),
    "training accuracy": lambda one: one.falls("accuracy_train"),
    "training accuracy, within rows": lambda one: one.falls("accuracy_train", in_rows=True),
    "best noise": lambda one: one.falls(),
    "best noise, within rows": lambda one: one.falls(in_rows=True),
}
SIGNS = {"yes": ("✓", "#0072b260"), "no": ("✗", "#c24e0060"), "?": ("?", "#88888830")}
"""Sign and ground of a cell by whether the bend is better than the rival; grounds shine through to the page's."""


def against_rivals(made):
    """Whether the bend tells accuracy better than each rival, "?" where the interval of the difference holds 0."""
    rows = {}
    for title, one in made.items():
        found = {kind: number(NetworkDiagram(one)) for kind, number in RIVALS.items()}
        rows[title.replace("_", " ")] = {kind: _cell(one) for kind, one in found.items()}
    table = pd.DataFrame(rows).T
    table.columns = pd.MultiIndex.from_product([dict.fromkeys(k.split(",")[0] for k in RIVALS), ["all", "rows"]])
    return table.rename_axis(columns=["is the bend better than", "over cells of"]).to_html(escape=False)


def _cell(found):
    sign, ground = SIGNS[is_better(found)]
    numbers = f"bend {two_decimals(found.value)}, rival {two_decimals(found.null)}"
    return f'<span title="{numbers}" style="display:block;text-align:center;background:{ground}">{sign}</span>'


def best_cells_in_print(panels):
    """Where accuracy is highest in panels of Fig. 1, in these networks and in printed ones."""
    rows = {}
    for title, here in panels.items():
        theirs = NetworkDiagram(printed(here.noise).expand_dims(seed=1))
        rows[title] = {
            "c₀, here": str(here.straightest), "c₀, in print": str(theirs.straightest),
            "best cell, here": str(here.best_curvature), "best cell, in print": str(theirs.best_curvature),
            "bent − straight, in print": str(theirs.bent_gains()),
        }  # fmt: skip
    return pd.DataFrame(rows).T


# --- claims


@measures("A.1.noise_bends")
def noise_bends(panels):
    """Rank correlation of curvature with noise in every row of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.bends()))


@measures("A.1.slope_bends")
def slope_bends(panels):
    """Rank correlation of curvature with negative slope in every column of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.bends("slope")))


@measures("A.1.lazy_corner")
def lazy_corner(panels):
    """Curvature of ReLU networks at the least noise of every diagram."""
    return Measurement(over_diagrams(panels, lambda one: one.lazy_corner))


@measures("A.1.convex_side")
def convex_side(panels, more):
    """Curvature at the strongest noise, in every row of every diagram; rows of which there are ``more`` networks, by
    the name of the diagram, are judged by these alone."""
    rest = {name: one.drop_sel(slope=more[name]["slope"]) if name in more else one for name, one in panels.items()}
    rest |= {f"{name}, new networks": one for name, one in more.items()}
    return Measurement(over_diagrams(rest, lambda one: one.noisiest))


@measures("A.1.accuracy_falls", *(f"A.1.{panel.letter}.accuracy_falls" for panel in PANELS.values()))
def accuracy_falls(panels):
    """Rank correlation of accuracy with the size of the curvature over the cells of every diagram."""
    return summaries.accuracy_falls(panels)


@measures("A.1.bend_tells_more")
def bend_tells_more(panels):
    """The same beside that with the accuracy on training samples."""
    return Measurement(over_diagrams(panels, lambda one: one.falls("accuracy_train")))


@measures("A.1.accuracy_in_rows")
def accuracy_in_rows(panels):
    """The same within rows, mean over rows."""
    return summaries.accuracy_falls(panels, in_rows=True)


@measures("A.text.same_fit")
def same_fit(panels, others):
    """The same over the cells whose networks all fit; ``panels`` with at least three of these. In words, ``others``."""
    each = [f"{NetworkDiagram(one).falls_among_fitted()} in {name}" for name, one in others.items()]
    words = f"In other panels few cells fit so; there rank correlations are {' and '.join(each)}."
    return Measurement(over_diagrams(panels, lambda one: one.falls_among_fitted()), detail=words)


@measures("A.text.test_curves")
def test_curves(panels):
    """How well test load curves have the curvature of training load curves, cell by cell."""
    return Measurement(over_diagrams(panels, lambda one: one.test_curves_agree))


@measures("A.1.best_is_straight", "A.SM.best_is_straight", "A.S9.bent_is_better")
def best_is_straight(diagrams, fresh):
    """By how much the best bent cell of every diagram is more accurate than its best straight one, over thresholds.

    Of diagrams of which there are ``fresh`` networks of these cells, the fresh ones judge.
    """
    gains = {name: NetworkDiagram(one).bent_gains_over_thresholds(fresh.get(name)) for name, one in diagrams.items()}
    return Measurement(summaries.in_a_row(gains))


def mean_curvatures(diagrams):
    """Of all cells, by diagram."""
    return np.array([float(one["curvature"].mean()) for one in diagrams.values()])


@measures("A.1.best_cell")
def best_cell(diagrams):
    """How far inside of straight the most accurate cell of every diagram is, beside the mean of its cells."""
    found = over_diagrams(diagrams, lambda one: summaries.inside_straight(one.best_curvature))
    return Measurement(found, null=STRAIGHT - abs(mean_curvatures(diagrams)))


@measures("A.1.best_by_test_curves")
def best_by_test_curves(diagrams):
    """The same by load curves of test samples."""
    return best_cell({title: summaries.by_test_curves(one) for title, one in diagrams.items()})


@measures("A.S9.best_is_concave")
def best_is_concave(diagrams):
    """Curvature of the most accurate cell of every diagram, beside the mean of its cells."""
    return Measurement(over_diagrams(diagrams, lambda one: one.best_curvature), null=mean_curvatures(diagrams))
