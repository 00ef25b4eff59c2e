"""A picture as a page sees it: one MIME bundle, two images, words."""

import re
import struct
from functools import cache, partial
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from fontTools.pens.recordingPen import RecordingPen
from fontTools.svgLib.path import parse_path
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from deepmech.core.estimates import Estimate
from deepmech.plots import style
from deepmech_book import RECORD, figures
from deepmech_book.figures import glass
from deepmech_book.figures.picture import Picture, _slim


def line(fig):
    fig.subplots().plot([0, 1, 2], [0, 1, 0], color=style.LIGHT.text)


def test_what_is_said_in_its_place_says_something():
    with pytest.raises(TypeError, match="alt"):
        Picture(line)
    for nothing in ("", "  ", "figure"):
        with pytest.raises(ValueError, match=r"Picture\.alt"):
            Picture(line, alt=nothing)
    with pytest.raises(ValueError, match=r"Picture\.figure = 3"):
        Picture(line, alt="One line rises.", figure=3)


def test_mime_bundle():
    picture = Picture(line, alt='A "sharp" peak, <b>bold</b> &\n  plain.', height=3, figure="A.3")
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain", RECORD}
    assert bundle[RECORD] == [{"figure": "A.3"}]
    both = Picture(line, alt="One line peaks.", figure="A.3 A.4")._repr_mimebundle_()[RECORD]
    assert both == [{"figure": "A.3"}, {"figure": "A.4"}]
    assert bundle["text/plain"] == 'A "sharp" peak, <b>bold</b> & plain.'
    sources = re.findall('src="data:image/svg[+]xml,([^"]*)"', bundle["text/html"])
    assert [unquote_to_bytes(s) for s in sources] == [picture.svg()]
    (image,) = re.findall(r"<img [^>]*>", bundle["text/html"])
    assert 'alt="A &quot;sharp&quot; peak, &lt;b&gt;bold&lt;/b&gt; &amp; plain."' in image
    assert "http" not in re.sub('data:image[^"]*', "", bundle["text/html"])
    assert RECORD not in Picture(line, alt="One line peaks.")._repr_mimebundle_()


def test_what_is_drawn_can_be_taken_away(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPMECH_FIGURES", str(tmp_path / "own"))
    picture = drawn("lines")
    html = picture._repr_mimebundle_()["text/html"]
    assert 'class="deepmech-picture dm-narrow" data-files="01"' in html
    kept = {path.suffix: path for path in (tmp_path / "own").iterdir()}
    assert set(kept) == {".svg", ".csv"} and {p.stem for p in kept.values()} == {"01"}
    assert kept[".svg"].read_bytes() == picture.svg()
    rows = pd.read_csv(kept[".csv"]).set_index(["array", "noise"])["value"]
    for name, expected in {"data": curve + 0.1, "low": curve, "high": curve + 0.2, "theory": curve}.items():
        assert np.allclose(rows[name], expected, rtol=5e-9, atol=0)
    assert list(rows.index.unique("array")) == ["data", "theory", "low", "high"]
    Picture(line, alt="One line peaks.")._repr_mimebundle_()
    assert sorted(p.name for p in (tmp_path / "own").glob("02*")) == ["02.svg"]


def test_images_are_what_they_say():
    picture = Picture(line, alt="One line peaks.", height=3.0)
    width, height = struct.unpack(">II", picture.png()[16:24])
    assert (width, height) == (round(200 * style.WIDTH), 600)
    assert ElementTree.fromstring(picture.svg()).tag.endswith("svg")
    assert style.LIGHT.background.encode() in picture.svg()


def test_bytes_are_deterministic_and_ignore_the_readers_settings(tmp_path):
    import matplotlib

    def picture():
        return Picture(line, alt="One line peaks.", height=3.0)

    first = picture()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        second = picture()
        assert first.png() == second.png()
        assert first.svg() == second.svg()
    for start, name in {b"<?xml": "a.svg", b"\x89PNG": "a.png", b"%PDF": "a.pdf"}.items():
        first.save(tmp_path / name)
        second.save(tmp_path / f"second-{name}")
        written = (tmp_path / name).read_bytes()
        assert written.startswith(start) and written == (tmp_path / f"second-{name}").read_bytes()
    assert (tmp_path / "a.svg").read_bytes() == first.svg()
    with pytest.raises(ValueError, match=r"\.svg, \.png or \.pdf"):
        first.save(tmp_path / "a.jpg")


number = st.floats(-5000, 5000).map("{:f}".format)
steps = [st.tuples(st.just(letter), *many * [number]) for letter, many in (("L", 2), ("Q", 4), ("C", 6), ("M", 2))]


@given(st.lists(st.one_of(*steps, st.just(("z",))), min_size=1, max_size=12))
def test_slimming_moves_nothing_by_more_than_a_hundredth_of_a_point(path):
    """Wherever a path goes, and however long: what draws it comes by the same points."""

    def drawn(svg):
        parse_path(re.search(" d=[\"']([^\"']*)", svg)[1], pen := RecordingPen())
        return pen.value

    text = "M 1.5 -2 " + " ".join(" ".join(step) for step in path)
    around = '<path d="{}"/>{}<g transform="scale(0.015625)"/><image href="base64,Zm9v1.234567"/>'
    written = _slim((svg := around.format(text, "\n <!-- a word -->\n")).encode()).decode()
    assert re.sub(" d='[^']*'", "", written) == re.sub(' d="[^"]*"', "", around.format("", "")).replace('"', "'")
    assert [name for name, _ in drawn(written)] == [name for name, _ in drawn(svg)]
    for (_, points), (_, meant) in zip(drawn(written), drawn(svg), strict=True):
        assert np.allclose(points, meant, rtol=0, atol=0.0051)


ell = np.arange(9)
load = xr.DataArray(
    np.stack([1 - ell / 8 + c * (ell / 8) * (1 - ell / 8) for c in (0.6, -0.2, -0.7)]),
    dims=("noise", "block"),
    coords={"noise": [0.0, 0.1, 0.4]},
)
paths = (load * xr.DataArray(np.exp(-np.arange(5.0)), dims="time")).isel(noise=0, drop=True)
grid = load.expand_dims(friction=[0.1, 0.2]).transpose("noise", "friction", "block")
energy = (grid**2).mean("block")
curve = energy.isel(friction=0, drop=True)
networks = xr.Dataset({"load_curve": grid, "accuracy": energy, "curvature": energy - 0.35}).rename(
    noise="dropout", friction="slope", block="layer"
)
tour = paths.expand_dims(panel=["one", "two"])
points, group = tour.isel(time=[0, 1]), xr.zeros_like(tour.isel(time=0, drop=True), dtype=int)
say = {"alt": "A made-up picture for tests."}


def given(*arrays, **how):
    return arrays, how


EQ_8 = {"boundary": ([0.0, 0.4], [0.1, 0.2]), "boundary_label": "Eq. 8"}
ALL = {
    "phase_diagram": given(
        grid, x="noise", y="friction", shade=energy, shade_label="energy", curvature=energy - 0.35, **EQ_8
    ),
    "load_curves": given(load, by="noise", theory=load, label="ε = {}"),
    "trajectories": given(paths, force=paths.isel(block=0)),
    "lines": given(
        curve + 0.1, x="noise", x_label="ε", interval=(curve, curve + 0.2), theory=curve, level=0.3,
        level_label="limit", log="y",
    ),
    "scatter": given(energy.rename("x"), energy**2, colour=energy, colour_label="e", rank=Estimate(1.0, 0.9, 1.0)),
    "friction_law": given(0.04, 0.12),
    "analogy": given(),
    "network_diagram": given(networks),
    "phases": given({"one": networks, "two": networks}),
    "curve_panels": given(tour, x="time", by="block", panel="panel", y_label="y", theory=tour, level=0.1),
    "clouds": given(points, group, axes="time", panel="panel", point="block", names=["a"], x_label="x", y_label="y"),
    "slices": given(tour + 0.1, x="block", y="time", panel="panel", limits=(0.1, 10), label="energy (J)"),
    "heat": given(energy, x="noise", y="friction", label="energy (J)"),
    "images": given(tour.rename(block="row", time="column").expand_dims(map=[1]), x="panel", y="map"),
    "layer_curves": given({"a network": load.rename(block="layer")}, by="noise"),
    "folding_ruler": given(tour.rename(panel="pull", time="frame", block="node")),
    "dots": given(load, row="block", by="noise", x_label="regret (%)", level=0.5),
}  # fmt: skip


@cache
def drawn(name: str) -> Picture:
    """Each picture once, for the tests that only look at it."""
    arrays, how = ALL[name]
    return getattr(figures, name)(*arrays, **how, **say)


@pytest.mark.parametrize(
    "draw",
    [
        partial(figures.lines, x="time", by="kind"),
        partial(figures.trajectories, layer="kind", x_label=None, y_label=None),
        partial(glass.curves, by="kind"),
        partial(glass.plain, x="time", by="kind"),
    ],
)
def test_axes_are_named_by_the_attributes_of_the_arrays(draw):
    time = xr.DataArray([1.0, 2.0, 4.0], dims="time", attrs={"long_name": "waiting", "units": "steps"})
    curves = xr.DataArray([[0.9, 0.5, 0.2], [0.8, 0.7, 0.3]], {"kind": ["a", "b"], "time": time}, ("kind", "time"))
    (axes,) = draw(curves.assign_attrs(long_name="memory", units="1"), **say).render().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("waiting (steps)", "memory")


def test_nothing_public_is_left_out_here():
    assert ALL.keys() == set(figures.NAMES), "an example of each in ALL, and its name in the module's __all__"


def test_an_estimate_is_drawn_as_its_value_with_its_interval():
    found = Estimate(curve, curve - 0.1, curve + 0.1)
    picture = figures.lines(found, x="noise", **say)
    assert picture.svg() == figures.lines(curve, x="noise", interval=found.interval, **say).svg()
    assert list(picture.data) == ["data", "low", "high"]


def test_curves_and_their_theory_under_one_title_are_both_taken_away():
    curves, theory = {"a": curve, "b": 2 * curve}, {"a": 3 * curve}
    drawn = figures.lines(curves, theory, x="noise", interval=(curves, curves), **say).data
    assert list(drawn) == ["a", "b", "theory_a", "low_a", "low_b", "high_a", "high_b"]
    assert [float(drawn[name][-1] / curve[-1]) for name in ("a", "b", "theory_a")] == [1, 2, 3]


@pytest.mark.parametrize("name", sorted(set(ALL) - {"analogy", "friction_law"}))
def test_every_picture_of_arrays_brings_them_along_fit_for_a_file(name, tmp_path):
    data = drawn(name).data
    assert data is not None and data.data_vars
    data.to_netcdf(tmp_path / "drawn.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "drawn.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), data)


@pytest.mark.parametrize("name", ALL)
def test_text_is_large_enough_and_has_contrast(name):
    fig = Figure(figsize=(style.WIDTH, drawn(name).height), layout="constrained")
    with style.applied():
        drawn(name).draw(fig)
        fig.draw_without_rendering()
    words = [t for t in fig.findobj(match=lambda a: hasattr(a, "get_fontsize")) if t.get_text() and t.get_visible()]
    assert len(words) >= 3
    for t in words:
        assert t.get_fontsize() >= style.SMALL, t
        assert not getattr(t, "get_bbox_patch", lambda: None)(), f"{t}: a box would hide what it explains"
        # Names of blocks and numbers of cells are drawn on a colour, not on the page.
        if name not in ("analogy", "heat") or not re.match(r"\$x_|0\.", t.get_text()):
            assert style.contrast(t.get_color(), style.LIGHT.background) >= 4.5, t


DIAGRAMS = ("network_diagram", "phase_diagram", "phases")


def test_dark_pages_turn_drawings_round_and_leave_shades_as_they_are():
    """Ground and words of shaded outlines follow the page; those of pixels cannot. Phones get diagrams of their own,
    and columns of panels."""
    kinds = {name: re.search('class="([^"]*)"', drawn(name)._repr_mimebundle_()["text/html"])[1] for name in ALL}
    shaded = {name for name, kind in kinds.items() if "dm-shaded" in kind.split()}
    assert shaded == {"images", "scatter"} | {name for name in ALL if drawn(name).render().findobj(QuadMesh)}
    for name, kind in kinds.items():
        shown, tall = drawn(name)._repr_mimebundle_()["text/html"], drawn(name).narrow
        themed = name in shaded and "image/svg" in shown
        assert themed == ("dm-themed" in kind) == ("prefers-color-scheme" in shown), name
        assert (name in DIAGRAMS or drawn(name).stacked) == (tall is not None) == ("dm-tall" in shown), name
        if tall and name in DIAGRAMS:
            fig = tall.render()
            assert fig.get_figwidth() == style.NARROW and fig.axes[0].get_position().x1 > 0.9, "one map a row"


def test_a_heavy_drawing_is_shown_as_pixels():
    many = np.random.default_rng(0).normal(size=(2, 4000))
    picture = Picture(lambda fig: fig.subplots().plot(*many, "o"), alt="A cloud of many points.")
    html = picture._repr_mimebundle_()["text/html"]
    assert html.count("data:image/png;") == 1 and "image/svg" not in html


@pytest.mark.parametrize("name", ALL)
def test_a_page_stays_light(name):
    assert len(drawn(name)._repr_mimebundle_()["text/html"]) < 300_000
