"""Panels in rows: what is named where."""

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech.plots.style import legend, panels, rows_of
from deepmech_book import figures


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_axes_are_named_at_the_left_and_where_nothing_is_below(n, columns, shared):
    fig = Figure()
    axes = panels(fig, [f"no. {i}" for i in range(n)], columns, "across", "up", sharex=shared)
    assert rows_of(n, columns) == len({round(ax.get_position().y0, 6) for ax in axes})
    assert [ax.get_title(loc="left") or ax.get_title() for ax in axes] == [f"no. {i}" for i in range(n)]
    assert [ax for ax in fig.axes if ax.get_visible()] == axes
    boxes = [ax.get_position() for ax in axes]
    once = columns > 2 and rows_of(n, columns) > 1  # of many small panels the ordinate is named for all
    assert fig.get_supylabel() == ("up" if once else "")
    for ax, box in zip(axes, boxes, strict=True):
        first = not any(other.y0 == box.y0 and other.x0 < box.x0 for other in boxes)
        lowest = not any(other.x0 == box.x0 and other.y0 < box.y0 for other in boxes)
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("up" if first and not once else "", "across" if lowest else "")
        numbered = ax.xaxis.get_tick_params()["labelbottom"]
        assert numbered == (lowest or not shared)


@pytest.mark.parametrize("n", range(1, 8))
def test_a_legend_is_read_row_by_row(n):
    fig = Figure(figsize=(9, 4), layout="constrained")
    (ax,) = panels(fig, [""])
    for i in range(n):
        ax.plot([0, 1], [0, i], label=str(i))
    legend(fig, ax)
    fig.draw_without_rendering()
    words = fig.legends[0].get_texts()
    place = {t.get_text(): t.get_window_extent() for t in words}
    assert sorted(place, key=lambda name: (-round(place[name].y0), place[name].x0)) == [str(i) for i in range(n)]


def test_a_grid_needs_panels_and_columns():
    with pytest.raises(ValueError, match="0 panels in 2 columns"):
        rows_of(0, 2)
    with pytest.raises(ValueError, match="1 panels in 0 columns"):
        rows_of(1, 0)


def test_titles_of_panels_side_by_side_do_not_touch():
    fig = Figure(figsize=(style.WIDTH, 3), layout="constrained")
    with style.applied():
        axes = panels(fig, ["strong friction, little noise", "balanced", "weak friction, strong noise"], 3)
        fig.draw_without_rendering()
    boxes = [ax._left_title.get_window_extent() for ax in axes]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes)) and boxes[-1].x1 <= fig.bbox.x1


def test_ticks_between_two_layers_name_none():
    curve = xr.DataArray(np.arange(6.0), {"layer": np.arange(6)}, "layer")
    axes = figures.lines({"one": curve, "two": curve}, x="layer", y_label="y", alt="Two short curves.").render().axes
    assert all(tick == round(tick) for ax in axes for tick in ax.get_xticks())
