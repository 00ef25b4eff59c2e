"""Data are drawn where they belong, and arrays that do not fit are refused in words."""

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from deepmech.plots import style
from deepmech.plots.style import position, transpose_to
from deepmech_book import figures

say = {"alt": "A made-up picture for tests."}
ell = np.arange(6)


def field(nx=7, ny=5, x=None, y=None):
    """A phase diagram whose curvature is known: c = y − x, so it changes sign on the diagonal x = y."""
    x = np.linspace(0, 1, nx) if x is None else x
    y = np.linspace(0, 1, ny) if y is None else y
    c = xr.DataArray(y, dims="mu", coords={"mu": y}) - xr.DataArray(x, dims="eps", coords={"eps": x})
    s = xr.DataArray(ell / 5, dims="block")
    return (1 - s) + c * s * (1 - s), c


def diagram(load, c, **more):
    more = {"x": "eps", "y": "mu", "shade": c**2, "shade_label": "energy", "x_label": "ε", "y_label": "μ→"} | more
    return figures.phase_diagram(load, curvature=c, **say, **more)


def artist(fig, name, panel=0):
    return next(a for a in fig.axes[panel].get_children() if a.get_gid() == name)


def pieces(fig, panel):
    """The cell, the points and the colour of each curve."""
    for curves in (a for a in fig.axes[panel].get_children() if a.get_gid() == "curves"):
        points = curves.get_xydata()
        for piece in points[np.isfinite(points).all(1)].reshape(-1, len(ell), 2):
            yield np.rint(piece.mean(0)).astype(int), piece, curves.get_color()


@pytest.mark.parametrize("x, y", [("eps", "mu"), ("noise", "slope"), ("dropout", "mu"), ("batch_size", "slope")])
def test_the_line_parts_cells_of_either_sign_and_noise_grows_to_the_right(x, y):
    load, c = field()
    names = {"eps": x, "mu": y}
    load, c = load.rename(names), (c + 1e-9).rename(names)
    fig = figures.phase_diagram(load, x=x, y=y, shade=c, curvature=c, **say).render()
    falls = [x == "batch_size", y == "slope"]
    assert fig.axes[0].get_xlim()[0] < 0 and fig.axes[1].get_xticklabels()[0].get_text() == "01"[falls[0]]
    assert fig.axes[0].get_yticklabels()[0].get_text() == "01"[falls[1]]
    for panel in (0, 1):
        pieces = artist(fig, "sign change", panel).get_xydata()
        pieces = pieces[np.isfinite(pieces).all(1)].reshape(-1, 2, 2)
        assert len(pieces) >= 7
        for (x0, y0), (x1, y1) in pieces:
            middle, across = np.array([x0 + x1, y0 + y1]) / 2, np.array([y1 - y0, x1 - x0]) / 2
            cells = np.rint([middle - across, middle + across]).astype(int)
            values = [c.isel({x: 6 - i if falls[0] else i, y: 4 - j if falls[1] else j}) for i, j in cells]
            assert values[0] * values[1] < 0


def test_no_line_where_nothing_changes_sign():
    load, c = field()
    fig = diagram(load, c + 2).render()
    with pytest.raises(StopIteration):
        artist(fig, "sign change")
    assert not fig.legends and diagram(load, c).render().legends


def test_phases_are_named_at_the_ends_of_the_scale_and_nothing_is_written_on_cells():
    load, c = field()
    one = xr.Dataset({"load_curve": load, "curvature": c}).transpose("eps", "mu", "block")
    for picture in (diagram(load, c), figures.phases({"one": one}, **say)):
        *planes, bar = picture.render().axes
        assert [bar.get_title(loc=side) for side in ("left", "center", "right")] == [
            "convex",
            "signed curvature",
            "concave",
        ]
        assert not any(ax.texts for ax in planes)


def test_diagrams_side_by_side_share_one_scale():
    load, c = field()
    one = xr.Dataset({"load_curve": load, "curvature": c}).transpose("eps", "mu", "block")
    fig = figures.phases({"weak": 0.5 * one, "strong": one}, **say).render()
    weak, strong = (next(iter(ax.collections)) for ax in fig.axes[:2])
    assert weak.norm.vmin == strong.norm.vmin == -1 and weak.norm.vmax == strong.norm.vmax == 1
    assert len(fig.axes) == 3 and fig.axes[1].get_ylabel() == ""
    accuracy = {title: one.assign(accuracy=c + more) for title, more in (("low", 10), ("high", 80))}
    fig = figures.phases(accuracy, shade="accuracy", **say).render()
    low, high = (next(iter(ax.collections)) for ax in fig.axes[:2])
    np.testing.assert_allclose(low.get_array(), high.get_array())
    assert low.get_array().max() == 0 and [ax.get_title(loc="left")[-6:] for ax in fig.axes[:2]] == ["11.0 %", "81.0 %"]


def test_boundary_at_its_data_coordinates_on_uneven_axes():
    noise = np.array([0.01, 0.02, 0.05, 0.1, 0.5])
    load, c = field(x=noise)
    middle = 0.5 * (noise[1] + noise[2])
    picture = diagram(load, c, boundary=([noise[0], middle, noise[4], 9.0], [0.0, 0.125, 1.0, 0.5]))
    x, y = artist(picture.render(), "boundary").get_data()
    assert np.allclose(x[:3], [0, 1.5, 4]) and np.isnan(x[3])
    assert np.allclose(y, [0, 0.5, 4, 2])


@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=8),
    st.booleans(),
    st.lists(st.floats(-5, 50), min_size=1, max_size=5),
)
def test_position_inverts_interpolation(steps, falling, values):
    axis = np.concatenate([[0.0], np.cumsum(steps)])
    axis = axis[::-1] if falling else axis
    at = position("here", axis, values)
    inside = (np.array(values) >= axis.min()) & (np.array(values) <= axis.max())
    assert np.isfinite(at[inside]).all()
    assert np.allclose(np.interp(at[inside], np.arange(len(axis)), axis), np.array(values)[inside], atol=1e-9)
    finite = at[np.isfinite(at)]
    assert np.all((finite >= -0.5) & (finite <= len(axis) - 0.5))


def test_curves_sit_in_their_cells_and_bend_with_the_load():
    load, c = field(nx=3, ny=2, x=np.array([0.0, 0.5, 3.0]), y=np.array([0.25, 0.75]))
    fig = diagram(load, c).render()
    drawn = list(pieces(fig, 1))
    assert len(drawn) == 6
    for cell, piece, _ in drawn:
        assert np.all(np.abs(piece - cell) < 0.5)
        chord = np.linspace(piece[0], piece[-1], len(ell))[:, 1]
        assert np.sign((piece[:, 1] - chord).sum()) == np.sign(float(c.isel(eps=cell[0], mu=cell[1])))


def test_curves_stand_out_on_their_shading_and_nan_cells_stay_empty():
    load, c = field()
    fig = diagram(load.where((load.eps > 0) | (load.mu > 0)), c).render()
    drawn = list(pieces(fig, 0))
    assert len(drawn) == 7 * 5 - 1
    for (i, j), _, ink in drawn:
        fill = style.SEQUENTIAL(float(c.isel(eps=i, mu=j) ** 2 / (c**2).max()))
        assert style.contrast(ink, fill) >= 4.5


def test_ticks_name_the_values_of_their_cells():
    load, c = field(x=np.array([1e-4, 5e-4, 1e-3, 0.1, 1280.0]))
    ax = diagram(load, c).render().axes[1]
    names = ["0.0001", "0.0005", "0.001", "0.1", "1280"]
    at = list(map(int, ax.get_xticks()))
    assert [t.get_text() for t in ax.get_xticklabels()] == [names[i] for i in at]
    assert at == list(range(0, 5, at[1])) and at[1] <= 2
    load, c = field(x=np.linspace(0, 0.25, 9))
    ax = diagram(load, c).render().axes[1]
    for at, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        assert float(label.get_text()) == pytest.approx(at / 32) and len(label.get_text()) <= 4, (
            "round, and in its place"
        )


def test_wrong_dimensions_say_what_was_needed():
    load, c = field()
    wrong = r"phase_diagram load: dimensions are .*'run'.*needed \('eps', 'mu', 'block'\)"
    with pytest.raises(ValueError, match=wrong):
        diagram(load.expand_dims(run=2), c)
    with pytest.raises(ValueError, match="labels along 'eps' differ"):
        diagram(load, c.assign_coords(eps=c.eps + 1))
    with pytest.raises(ValueError, match="friction_left = -1"):
        figures.friction_law(0.1, -1, **say)
    with pytest.raises(ValueError, match="must rise or fall strictly"):
        position("boundary", np.array([0.0, 0.0, 1.0]), [0.5])


@given(st.permutations(["a", "b", "c"]))
def test_arranged_only_reorders(order):
    array = xr.DataArray(np.arange(24).reshape(2, 3, 4), dims=("a", "b", "c"))
    out = transpose_to("test", array, *order)
    assert out.dims == tuple(order)
    assert np.array_equal(out.transpose("a", "b", "c").values, array.values)
    assert np.array_equal(out["b"].values, np.arange(3))


def test_load_curves_show_mean_and_spread_over_runs():
    load, _ = field(nx=2, ny=1, y=np.array([0.3]))
    load = load.isel(mu=0, drop=True)
    runs = xr.concat([load, load + 1], dim="run")
    ax = figures.load_curves(runs, by="eps", run="run", label="ε = {}", **say).render().axes[0]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ε = 0", "ε = 1"]
    assert np.allclose(ax.lines[0].get_ydata(), load.isel(eps=0) + 0.5)
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(float(load.isel(eps=0).max()) + 0.5 + np.sqrt(0.5))


@pytest.mark.parametrize("right, left", [(0.04, 0.12), (0.1, 0.1), (0.12, 0.04), (0.0, 0.1), (0.1, 0.0)])
def test_words_on_the_friction_law_keep_off_its_lines(right, left):
    ax = figures.friction_law(right, left, **say).render().axes[0]
    slanted = [line for line in ax.lines if line.get_ydata()[0] != line.get_ydata()[-1]]
    for word, line in itertools.product(ax.texts, slanted):
        path = line.get_transform().transform_path(line.get_path())
        assert not path.intersects_bbox(word.get_window_extent(), filled=False), word
    assert len(slanted) >= 3 and len(ax.texts) == 4


def test_the_friction_law_has_its_dead_zone_where_the_frictions_are():
    ax = figures.friction_law(0.04, 0.12, **say).render().axes[0]
    x, y = artist(ax.figure, "stuck").get_data()
    assert np.allclose(x, [-0.12, 0.04]) and np.allclose(y, 0)
    left, right = ax.lines[3], ax.lines[5]
    assert np.allclose(left.get_ydata(), left.get_xdata() + 0.12)
    assert np.allclose(right.get_ydata(), right.get_xdata() - 0.04)


def test_a_drawn_ruler_has_segments_of_one_length():
    x = np.array([[0, 0.2, 0.4, 0.6], [0, 0.2, 0.6, 1.5], [0, 0.9, 1.0, 1.99]])
    shapes = xr.DataArray(np.stack([x, x[::-1]]), dims=("pull", "frame", "node"), coords={"pull": ["slow", "quick"]})
    fig = figures.folding_ruler(shapes, **say).render()
    assert [a.get_title(loc="left") for a in fig.axes] == ["slow", "quick"]
    for ax in fig.axes:
        assert len(ax.lines) == 9
        for pair in ax.lines:
            assert np.allclose(np.linalg.norm(np.diff(pair.get_xydata(), axis=0), axis=1), 0.5)


def test_what_cannot_be_drawn_fails_where_it_is_made():
    with pytest.raises(RuntimeError, match="broken"):
        figures.Picture(lambda fig: (_ for _ in ()).throw(RuntimeError("broken")), alt="Nothing to see here.")


@pytest.mark.parametrize("n", [4, 11, 16, 26])
def test_tick_labels_do_not_touch(n):
    load, c = field(nx=n, ny=n, x=np.geomspace(0.0123, 0.567, n))
    fig = diagram(load, c).render()
    for axis, side in ((fig.axes[1].xaxis, "x"), (fig.axes[0].yaxis, "y")):
        boxes = [t.get_window_extent() for t in axis.get_ticklabels() if t.get_text()]
        edges = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in boxes)
        assert len(edges) >= 2
        assert all(a[1] < b[0] for a, b in itertools.pairwise(edges))
