"""Dots stand in the row and at the value of what they show."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from deepmech_book import figures


def table(values, rows=("one", "two", "three"), series=("a", "b")):
    return xr.DataArray(values, dims=("row", "kind"), coords={"row": list(rows), "kind": list(series)})


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6), st.booleans())
def test_every_dot_lies_in_its_row_at_its_value(values, turned):
    data = table(np.reshape(values, (3, 2)))
    picture = figures.dots(
        data.transpose("kind", "row") if turned else data, row="row", by="kind", x_label="x", alt="Rows of dots."
    )
    ax = picture.render().axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["one", "two", "three"]
    for i, line in enumerate(ax.lines):
        assert np.array_equal(line.get_xdata(), data[:, i])
        assert np.array_equal(np.round(line.get_ydata()), [0, 1, 2])
        assert line.get_label() == "ab"[i]
    assert ax.yaxis_inverted()


def test_bars_reach_from_low_to_high():
    data = table(np.arange(6.0).reshape(3, 2))
    fig = figures.dots(
        data, row="row", by="kind", interval=(data - 1, data + 2), x_label="x", alt="Rows of dots."
    ).render()
    for i, bars in enumerate(fig.axes[0].collections):
        ends = np.array(bars.get_segments())[:, :, 0]
        assert np.array_equal(ends, np.column_stack([data[:, i] - 1, data[:, i] + 2]))


def test_what_does_not_fit_is_refused():
    data = table(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="labels along 'kind' differ"):
        figures.dots(
            data, row="row", by="kind", interval=(data, data.assign_coords(kind=["a", "c"])), x_label="x", alt="A b c."
        )
    with pytest.raises(ValueError, match="at most 7"):
        figures.dots(table(np.zeros((3, 8)), series=range(8)), row="row", by="kind", x_label="x", alt="Rows of dots.")


def test_dots_keep_most_of_a_picture_that_a_phone_shows_whole():
    names = ["1(b) learning rate, other images", "product of Frobenius norms", "short"]
    picture = figures.dots(table(np.arange(6.0).reshape(3, 2), names), row="row", by="kind", alt="Rows of dots.")
    assert 'class="deepmech-picture dm-narrow"' in picture._repr_mimebundle_()["text/html"]
    fig = picture.render()
    assert fig.axes[0].get_position().width > 0.6
    # 342 pixels are the column of a phone of 390; words are then as high as 11 pixels.
    assert 11 / 72 * 342 / fig.get_figwidth() > 11
