"""Dots, points and clouds stand at the values of what they show."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from deepmech.plots import style
from deepmech_book import figures

say = {"alt": "Made-up points for tests."}


def table(values, rows=("one", "two", "three"), series=("a", "b")):
    return xr.DataArray(values, dims=("row", "kind"), coords={"row": list(rows), "kind": list(series)})


def dots(data, **more):
    return figures.dots(data, row="row", by="kind", **say, **more)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6), st.booleans())
def test_every_dot_lies_in_its_row_at_its_value(values, turned):
    data = table(np.reshape(values, (3, 2)))
    ax = dots(data.T if turned else data).render().axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["one", "two", "three"]
    for i, line in enumerate(ax.lines):
        assert np.array_equal(line.get_xdata(), data[:, i])
        assert np.array_equal(np.round(line.get_ydata()), [0, 1, 2])
        assert line.get_label() == "ab"[i]
    assert ax.yaxis_inverted()


def test_bars_reach_from_low_to_high():
    data = table(np.arange(6.0).reshape(3, 2))
    ax = dots(data, interval=(data - 1, data + 2)).render().axes[0]
    for i, bars in enumerate(ax.collections):
        ends = np.array(bars.get_segments())[:, :, 0]
        assert np.array_equal(ends, np.column_stack([data[:, i] - 1, data[:, i] + 2]))


def test_dots_keep_most_of_a_picture_that_a_phone_shows_whole():
    names = ["1(b) learning rate, other images", "product of Frobenius norms", "short"]
    picture = dots(table(np.arange(6.0).reshape(3, 2), names))
    assert 'class="deepmech-picture dm-narrow"' in picture._repr_mimebundle_()["text/html"]
    fig = picture.render()
    assert fig.axes[0].get_position().width > 0.6
    # 342 pixels are the column of a phone of 390; words are then higher than 9 pixels.
    assert 11 / 72 * 342 / fig.get_figwidth() > 9


def test_kinds_of_points_are_named_once_each():
    x = xr.DataArray(np.arange(6.0).reshape(3, 2), dims=("panel", "cell"), coords={"panel": ["c", "a", "b"]})
    fig = figures.scatter(x, x, colour=x["panel"].broadcast_like(x), colour_label="panel", **say).render()
    (named,) = fig.legends
    assert sorted(t.get_text() for t in named.get_texts()) == ["a", "b", "c"]
    assert named.get_title().get_text() == "panel" and not fig.axes[0].get_legend() and len(fig.axes) == 1


POINTS = xr.DataArray(np.arange(24.0).reshape(2, 6, 2), {"m": [0, 10]}, ("m", "point", "axis"))
GROUP = xr.DataArray(np.tile([0, 1, 2], 4).reshape(2, 6), {"m": [0, 10]}, ("m", "point"))


def clouds(points=POINTS, group=GROUP, names="abc", **more):
    return figures.clouds(points, group, axes="axis", panel="m", names=list(names), **say, **more)


def test_every_point_is_drawn_with_its_group():
    axes = clouds(title="iteration {}").render().axes
    assert [ax.get_title(loc="left") for ax in axes] == ["iteration 0", "iteration 10"]
    for i, ax in enumerate(axes):
        (drawn,), colours = ax.collections, style.categories(3)
        assert np.array_equal(drawn.get_offsets(), POINTS.values[i])
        shown = [to_hex(colour) for colour in drawn.get_facecolors()]
        assert shown == [colours[k] for k in GROUP.values[i]]


def test_clouds_are_named_by_the_labels_of_their_coordinates():
    fig = clouds(POINTS.assign_coords(axis=["left", "right"])).render()
    assert {ax.get_xlabel() for ax in fig.axes} | {fig.get_supxlabel()} >= {"left"}


ZEROS, MANY = table(np.zeros((3, 2))), xr.DataArray(np.arange(9.0), dims="cell")


@pytest.mark.parametrize(
    ("words", "draw"),
    {
        "dots interval: labels along 'kind' differ": lambda: dots(
            ZEROS, interval=(ZEROS, ZEROS.assign_coords(kind=["a", "c"]))
        ),
        "dots: 8 series along 'kind': at most 7": lambda: dots(table(np.zeros((3, 8)), series=range(8))),
        "9 kinds of points": lambda: figures.scatter(MANY, MANY, colour=MANY.astype(str), **say),
        "scatter y: dimensions": lambda: figures.scatter(ZEROS, ZEROS[0], **say),
        "a plane has two": lambda: clouds(POINTS.isel(axis=[0])),
        "clouds names: 8 groups: at most 7 can be told apart": lambda: clouds(names="abcdefgh"),
        r"clouds group: \[2\] among the groups: must be 0 to 1": lambda: clouds(names="ab"),
        "clouds group: dimensions": lambda: clouds(group=GROUP.rename(m="n")),
    }.items(),
)
def test_what_does_not_fit_is_refused(words, draw):
    with pytest.raises(ValueError, match=words):
        draw()


def test_a_bar_that_goes_beyond_the_axis_says_where_it_ends():
    data = table(np.arange(6.0).reshape(3, 2))
    ax = dots(data, interval=(data - 1, data + 2), limits=(-0.5, 6.5)).render().axes[0]
    assert ax.get_xlim() == (-0.5, 6.5) and sorted(t.get_text() for t in ax.texts) == ["7.0", "−1.0"]
