"""Curves, alone and in panels, and loads over time: what they refuse, and that what they draw is there."""

import numpy as np
import pytest
import xarray as xr

from deepmech_book import figures

say = {"alt": "Some curves in panels."}
T = np.linspace(0, 1, 5)
DATA = xr.DataArray(np.arange(30.0).reshape(3, 2, 5), {"p": list("abc"), "c": ["one", "two"], "t": T}, ("p", "c", "t"))
ONE = DATA.isel(p=0, drop=True)


def lines(data, **how):
    return figures.lines(data, **{"x": "t", "by": "c"} | how, **say).render()


def panels(data=DATA, **how):
    return figures.curve_panels(data, x="t", by="c", **{"panel": "p"} | how, **say).render()


def trajectories(load, **how):
    return figures.trajectories(load, **how, **say).render()


def names(ax):
    return [text.get_text() for text in ax.texts]


def falling(rates, t):
    """Loads over time that fall by these exponents."""
    return xr.DataArray(np.exp(-np.outer(rates, t)), {"time": t}, ("block", "time"))


def test_every_panel_shows_its_own_curves():
    fig = panels(columns=3, interval=(DATA - 1, DATA + 1), theory=DATA + 0.5, level=0.0)
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["a", "b", "c"]
    for ax, one in zip(fig.axes, DATA.values, strict=True):
        drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 5]
        assert all(any(np.array_equal(y, curve) for y in drawn) for curve in (*one, *(one + 0.5)))
        assert len(ax.collections) == 2


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
@pytest.mark.parametrize(
    "draw",
    [
        lambda one: lines(one, level=3.0, level_label="three", interval=(one - 1, one + 1)),
        lambda one: trajectories(one, time="t", layer="c", force=one.isel(c=0, drop=True)),
    ],
)
def test_curves_are_named_at_their_right_ends_whatever_the_order_of_their_points(order, draw):
    """Of points that are handed over in any order the picture is that of the sorted ones, names and all."""

    def drawn(one):
        ax = draw(one).axes[0]
        places = [(t.get_text(), *np.round(t.get_position(), 9)) for t in ax.texts]
        return places, [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]

    assert drawn(ONE.isel(t=order)) == drawn(ONE)
    assert names(draw(ONE.isel(t=order)).axes[0])[:2] == ["one", "two"]


def test_curves_that_end_together_are_named_in_the_height_of_another_point():
    meeting = xr.DataArray([[1.0, 0.2, 0.0], [1.0, 0.8, 0.0]], {"c": ["low", "high"], "t": [0, 1, 2]}, ("c", "t"))
    ax = lines(meeting, named_at=1).axes[0]
    heights = {text.get_text(): text.xy[1] for text in ax.texts}
    shown = ax.transLimits.transform([[0, 0.2], [0, 0.8]])[:, 1]
    np.testing.assert_allclose([heights["low"], heights["high"]], shown, atol=1e-9)


def test_the_last_panel_of_each_row_names_its_curves_in_place_of_a_legend():
    fig = panels(legend=False)
    assert [names(ax) for ax in fig.axes] == [[], ["one", "two"], ["one", "two"], []]
    assert not fig.legends and panels().legends


def test_names_longer_than_a_panel_stand_once_below_all():
    long = "a name of the abscissa that no panel is wide enough for"
    for words, once in ((long, long), ("t", "")):
        fig = panels(columns=3, x_label=words)
        assert fig.get_supxlabel() == once and {ax.get_xlabel() for ax in fig.axes} == {"" if once else words}


def test_panels_of_a_row_share_their_scale_and_rows_do_not():
    curve = ONE[0, :2].drop_vars("c")
    four = {"a": curve, "b": 3 * curve, "c": 9 * curve, "d": curve}
    limits = [ax.get_ylim() for ax in lines(four, by=None, columns=2, shared="row").axes]
    assert limits[0] == limits[1] and limits[2] == limits[3] and limits[0] != limits[2]


def test_lines_put_theory_on_the_curves_it_belongs_to():
    ax = lines(ONE, theory=ONE.isel(c=[1]) + 5).axes[0]
    (dashed,) = (a for a in ax.lines if a.is_dashed() and len(a.get_xdata()))
    (second,) = (a for a in ax.lines if np.array_equal(a.get_ydata(), ONE[1]))
    assert np.allclose(dashed.get_ydata(), ONE[1] + 5) and dashed.get_color() == second.get_color()
    assert names(ax) == ["one", "two"]


@pytest.mark.filterwarnings("error")
def test_a_curve_that_a_logarithmic_axis_cannot_show_has_no_name():
    """Its name would stand at minus infinity, and the layout makes room for every name."""
    curves = xr.DataArray([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0]], {"t": [1.0, 2.0], "c": [1, 2, 3]}, ("c", "t"))
    named = {log: names(lines(curves, label="c = {}", log=log).axes[0]) for log in ("", "y")}
    assert named == {"": ["c = 1", "c = 2", "c = 3"], "y": ["c = 1", "c = 2"]}


def test_trajectories_number_every_block_and_have_the_force_below():
    load = falling(np.arange(6) / 9, np.linspace(0, 9, 30))
    both = xr.concat([load, 2 * load], xr.Variable("regime", ["low", "high"]))
    fig = trajectories(both, panel="regime", force=50 * both.isel(block=3))
    assert [a.get_title(loc="left") for a in fig.axes] == ["low", "high", "force $F$", ""]
    assert names(fig.axes[0]) == [str(i) for i in range(6)]
    assert np.allclose(fig.axes[3].lines[0].get_ydata(), 100 * load.isel(block=3))
    low, high, *below = (ax.get_position() for ax in fig.axes)
    assert low.x1 < high.x0 and low.y0 == high.y0 and all(box.y1 < low.y0 for box in below)


def test_panels_of_trajectories_share_a_scale_and_their_names_stand_at_their_ends():
    load = xr.DataArray(np.ones(5), {"time": T}, "time") * xr.DataArray([1.0, 0.9, 0.0], dims="block")
    both = xr.concat([load, -3 * load], xr.Variable("p", ["a", "b"]))
    axes = trajectories(both, panel="p").axes
    assert axes[0].get_ylim() == axes[1].get_ylim()
    for ax, one in zip(axes, both, strict=True):
        first = next(text for text in ax.texts if text.get_text() == "0").xy[1]
        ends = ax.transLimits.transform([[0, float(one.isel(block=0, time=-1))]])[0, 1]
        assert abs(first - ends) < 0.1


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_a_loss_axis_begins_at_zero_and_only_a_negative_force_goes_below(least):
    load = np.log(falling(1 + np.arange(6), np.linspace(0, 9, 30)))
    loss = (2 - load.time).clip(min=least)
    loads, losses = trajectories(load, layer="block", force=loss, force_label="loss").axes
    assert loads.get_ylim()[0] < 0 and (losses.get_ylim()[0] == 0 if least == 0 else losses.get_ylim()[0] < -1)


def test_names_of_lines_that_end_together_keep_off_the_numbers_below():
    ax = trajectories(falling((1 + np.arange(6)) / 20, np.linspace(0, 100, 30))).axes[0]
    assert min(name.get_window_extent().y0 for name in ax.texts) > ax.bbox.y0 - 1


BAND = {"interval": (DATA - 1, DATA.isel(t=slice(4)))}


@pytest.mark.parametrize(
    ("words", "draw"),
    {
        "lines data: dimensions": lambda: panels(panel="q"),
        r"lines theory: \['three'\] along 'c'": lambda: panels(theory=DATA.assign_coords(c=["one", "three"])),
        "lines interval: labels along 't' differ": lambda: panels(**BAND),
        "lines band_of_theory = True: needs interval": lambda: panels(band_of_theory=True, theory=DATA),
        "lines band_of_theory = True: needs theory": lambda: panels(band_of_theory=True, **BAND),
        "lines log = 'z'": lambda: lines(ONE, log="z"),
        "trajectories force: dimensions": lambda: trajectories(ONE, time="t", layer="c", force=DATA),
        "load_curves load is a ndarray": lambda: figures.load_curves(ONE.values, **say),
        "load_curves theory: labels along 'c' differ": lambda: figures.load_curves(
            ONE, layer="t", by="c", theory=ONE[:1], **say
        ),
    }.items(),
)
def test_what_does_not_fit_is_refused(words, draw):
    with pytest.raises(ValueError, match=words):
        draw()
