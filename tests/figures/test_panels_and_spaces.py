"""Panels of curves and clouds of points: what they refuse, and that what they draw is there."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deepmech.plots import style
from deepmech_book import figures
from deepmech_book.figures.curves import curve_panels, lines, trajectories
from deepmech_book.figures.points import clouds

WORDS = {"x_label": "x", "y_label": "y", "alt": "Some curves in panels."}
T = np.linspace(0, 1, 5)


def curves(n=3):
    data = np.arange(n * 2 * 5, dtype=float).reshape(n, 2, 5)
    return xr.DataArray(data, dims=("p", "c", "t"), coords={"p": list("abcdefg")[:n], "c": ["one", "two"], "t": T})


def test_every_panel_shows_its_own_curves():
    data = curves()
    drawing = curve_panels(
        data, x="t", by="c", panel="p", interval=(data - 1, data + 1), theory=data + 0.5, level=0.0, fig=Figure()
    )
    axes = [ax for ax in drawing.axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b", "c"]
    for i, ax in enumerate(axes):
        drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 5]
        for j in range(2):
            assert any(np.array_equal(y, data.values[i, j]) for y in drawn)
            assert any(np.array_equal(y, data.values[i, j] + 0.5) for y in drawn)
        assert len(ax.collections) == 2


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_curves_are_named_at_their_right_ends_whatever_the_order_of_their_points(order):
    """Of points that are handed over in any order the picture is that of the sorted ones, names and all."""
    data = curves(1).isel(p=0, drop=True)
    mixed = data.isel(t=order)

    def drawn(fig):
        ax = fig.axes[0]
        names = [(t.get_text(), *np.round(t.get_position(), 9)) for t in ax.texts]
        return names, [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]

    pictures = {
        "lines": lambda one: lines(
            one, x="t", by="c", level=3.0, level_label="three", interval=(one - 1, one + 1), fig=Figure()
        ),
        "trajectories": lambda one: trajectories(
            one, time="t", layer="c", force=one.isel(c=0, drop=True), fig=Figure()
        ),
    }
    for name, picture in pictures.items():
        assert drawn(picture(mixed)) == drawn(picture(data)), name
    names, _ = drawn(lines(mixed, x="t", by="c", fig=Figure()))
    assert [name for name, *_ in names] == ["one", "two"]


def test_curves_that_end_together_are_named_in_the_height_of_another_point():
    meeting = xr.DataArray([[1.0, 0.2, 0.0], [1.0, 0.8, 0.0]], {"kind": ["low", "high"], "x": [0, 1, 2]}, ("kind", "x"))
    ax = lines(meeting, x="x", by="kind", named_at=1, fig=Figure()).axes[0]
    heights = {text.get_text(): text.xy[1] for text in ax.texts}
    shown = ax.transLimits.transform([[0, 0.2], [0, 0.8]])[:, 1]
    np.testing.assert_allclose([heights["low"], heights["high"]], shown, atol=1e-9)


def test_the_last_panel_of_each_row_names_its_curves_in_place_of_a_legend():
    fig = curve_panels(curves(), x="t", by="c", panel="p", columns=2, legend=False, fig=Figure())
    assert [[t.get_text() for t in ax.texts] for ax in fig.axes] == [[], ["one", "two"], ["one", "two"], []]
    assert not fig.legends and curve_panels(curves(), x="t", by="c", panel="p", fig=Figure()).legends


def test_names_longer_than_a_panel_stand_once_below_all():
    long = "a name of the abscissa that no panel is wide enough for"
    for words, once in ((long, long), ("t", "")):
        fig = curve_panels(curves(), x="t", by="c", panel="p", columns=3, x_label=words, fig=Figure())
        assert fig.get_supxlabel() == once and {ax.get_xlabel() for ax in fig.axes} == {"" if once else words}


def test_panels_of_a_row_share_their_scale_and_rows_do_not():
    curve = xr.DataArray([1.0, 2.0], {"x": [0, 1]}, "x")
    four = {"a": curve, "b": 3 * curve, "c": 9 * curve, "d": curve}
    limits = [ax.get_ylim() for ax in lines(four, x="x", columns=2, shared="row", fig=Figure()).axes]
    assert limits[0] == limits[1] and limits[2] == limits[3] and limits[0] != limits[2]


def test_panels_refuse_what_does_not_fit():
    data = curves()
    with pytest.raises(ValueError, match="dimensions"):
        figures.curve_panels(data, x="t", by="c", panel="q", **WORDS)
    with pytest.raises(ValueError, match="lines theory: \\['three'\\] along 'c'"):
        figures.curve_panels(data, x="t", by="c", panel="p", theory=data.assign_coords(c=["one", "three"]), **WORDS)
    band = {"interval": (data - 1, data.isel(t=slice(4)))}
    with pytest.raises(ValueError, match="interval: labels along 't' differ"):
        figures.curve_panels(data, x="t", by="c", panel="p", **band, **WORDS)
    for given, missing in (({"theory": data}, "interval"), (band, "theory")):
        with pytest.raises(ValueError, match=f"band_of_theory = True: needs {missing}"):
            figures.curve_panels(data, x="t", by="c", panel="p", band_of_theory=True, **given, **WORDS)


def cloud():
    points = xr.DataArray(np.arange(24.0).reshape(2, 6, 2), dims=("m", "point", "axis"), coords={"m": [0, 10]})
    group = xr.DataArray(np.tile([0, 1, 2], 4).reshape(2, 6), dims=("m", "point"), coords={"m": [0, 10]})
    return points, group


def test_every_point_is_drawn_with_its_group():
    points, group = cloud()
    drawing = clouds(
        points, group, axes="axis", panel="m", names=["a", "b", "c"], title="iteration {}", fig=Figure(),
        x_label="x", y_label="y",
    )  # fmt: skip
    axes = drawing.axes
    assert [ax.get_title(loc="left") for ax in axes] == ["iteration 0", "iteration 10"]
    for i, ax in enumerate(axes):
        (dots,), colours = ax.collections, style.categories(3)
        assert np.array_equal(dots.get_offsets(), points.values[i])
        shown = [to_hex(colour) for colour in dots.get_facecolors()]
        assert shown == [colours[k] for k in group.values[i]]


def test_clouds_refuse_what_does_not_fit():
    points, group = cloud()
    options = {"axes": "axis", "panel": "m", **WORDS}
    with pytest.raises(ValueError, match="a plane has two"):
        figures.clouds(points.isel(axis=[0]), group, names=["a"], **options)
    with pytest.raises(ValueError, match="at most 7 can be told apart"):
        figures.clouds(points, group, names=list("abcdefgh"), **options)
    with pytest.raises(ValueError, match=r"clouds group: \[2\] among the groups: must be 0 to 1"):
        figures.clouds(points, group, names=["a", "b"], **options)
    with pytest.raises(ValueError, match="dimensions"):
        figures.clouds(points, group.rename(m="n"), names=["a"], **options)


def test_panels_of_trajectories_share_a_scale_and_their_names_stand_at_their_ends():
    t = np.linspace(0, 1, 5)
    load = xr.DataArray(np.outer([1.0, -3.0], np.ones(5)), dims=("p", "time"), coords={"p": ["a", "b"], "time": t})
    load = load * xr.DataArray([1.0, 0.9, 0.0], dims="block")
    axes = trajectories(load, panel="p", fig=Figure()).axes
    assert axes[0].get_ylim() == axes[1].get_ylim()
    for ax, one in zip(axes, load, strict=True):
        first = next(text for text in ax.texts if text.get_text() == "0").xy[1]
        ends = ax.transLimits.transform([[0, float(one.isel(block=0, time=-1))]])[0, 1]
        assert abs(first - ends) < 0.1
