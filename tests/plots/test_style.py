"""Colours and type sizes: what readers with weak contrast vision, colour-blind readers and phones need."""

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from deepmech.plots import style
from deepmech.plots.style import LIGHT
from deepmech_book.figures.axes import spread_labels

channel = st.floats(0, 1)
colour = st.tuples(channel, channel, channel)


def test_contrast_of_published_pairs():
    # WebAIM's checker gives these ratios for #767676 and #0000ff on white.
    assert style.contrast("#767676", "white") == pytest.approx(4.54, abs=0.005)
    assert style.contrast("#0000ff", "white") == pytest.approx(8.59, abs=0.005)
    assert style.contrast("black", "white") == pytest.approx(21)


@given(colour, colour)
def test_contrast_is_symmetric_and_bounded(a, b):
    assert style.contrast(a, b) == style.contrast(b, a)
    assert 1 <= style.contrast(a, b) <= 21 + 1e-9


def test_every_line_colour_reaches_three_to_one():
    colours = [*style.categories(7), LIGHT.text, LIGHT.muted, LIGHT.warm, LIGHT.cool]
    for n in (1, 2, 5, 9, 30):
        colours += style.sequential_colours(n)
    assert min(style.contrast(c, LIGHT.background) for c in colours) >= 3.0
    assert min(style.contrast(c, LIGHT.background) for c in (LIGHT.text, LIGHT.muted)) >= 4.5


@given(colour, st.sampled_from([3.0, 4.5]))
def test_legible_changes_only_what_it_must(c, ratio):
    made = style.legible(c, ratio)
    # Colours are rounded to eight bits, hence the small tolerance.
    assert style.contrast(made, LIGHT.background) >= ratio
    if style.contrast(c, LIGHT.background) >= ratio + 0.1:
        assert np.allclose(to_rgb(made), c, atol=0.5 / 255 + 1e-9)


def test_categories_keep_their_hues():
    for made, original in zip(style.categories(7), style.OKABE_ITO, strict=True):
        a, b = colorsys.rgb_to_hsv(*to_rgb(made))[0], colorsys.rgb_to_hsv(*to_rgb(original))[0]
        assert min(abs(a - b), 1 - abs(a - b)) < 0.06
    with pytest.raises(ValueError, match="n = 8"):
        style.categories(8)


def test_a_ramp_is_ordered_in_lightness():
    assert np.all(np.diff(style.luminance(style.sequential_colours(8))) > 0)


def test_the_diverging_map_is_neutral_at_zero():
    r, g, b = middle = style.diverging()(0.5)[:3]
    assert np.allclose(middle, to_rgb(LIGHT.neutral), atol=0.01)
    assert max(r, g, b) - min(r, g, b) < 0.06


def test_temperatures_run_from_cold_to_hot_by_their_rank_alike_on_light_and_dark_pages():
    cold_first, hot_first = (style.temperatures(t) for t in ([0.0, 1e-8, 0.3, 2.0], [2.0, 0.3, 1e-8, 0.0]))
    assert cold_first == hot_first[::-1] == style.palette([0.0, 1e-8, 0.3, 2.0], "temperature")
    assert (
        min(style.contrast(c, page) for c in style.temperatures(range(20)) for page in (LIGHT.background, "#121212"))
        >= 3.0
    )
    # Blue falls and red rises all the way: that is left to readers who do not tell red from green.
    red, _, blue = np.array([to_rgb(c) for c in style.temperatures(range(9))]).T
    assert np.all(np.diff(blue - red) < 0)


@given(colour)
def test_ink_stands_out_on_any_shading(fill):
    assert style.contrast(style.text_colour([fill])[0], fill) >= 4.5


def test_smallest_text_on_a_phone():
    # A 360-pixel phone leaves a column of about 300 pixels.
    assert style.SMALL * 100 / 72 * 300 / (100 * style.WIDTH) >= 7.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.3))
def test_labels_keep_their_distance_order_and_mean(where, gap):
    where = np.array(where)
    out = spread_labels(where, gap)
    order = np.argsort(where, kind="stable")
    assert np.all(np.diff(out[order]) >= gap - 1e-9)
    assert out.mean() == pytest.approx(where.mean())
    free = np.diff(where[order])
    if len(where) == 1 or free.min() >= gap:
        assert np.allclose(out, where)
