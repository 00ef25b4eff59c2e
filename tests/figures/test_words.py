"""Names that arrays carry to the axes of pictures."""

import pytest
import xarray as xr

from deepmech.plots.style import axis_label
from deepmech_book.elastic_sde import words as elastic
from deepmech_book.glass import words as glass
from deepmech_book.spring_block import words as springs


@pytest.mark.parametrize(("said", "time"), [(glass.said, "time $t$ since $t_w$ (steps)"), (springs.said, "time $t$")])
def test_an_array_is_named_and_so_are_its_dimensions_in_the_words_of_the_chapter(said, time):
    array = xr.DataArray([1.0, 2.0], {"time": [0, 1]}, "time")
    named = said(array, "memory", "bits")
    assert (axis_label(named), axis_label(named.time)) == ("memory (bits)", time)
    assert array.attrs == array.time.attrs == {}, "the array that was given stays as it is"


def test_a_dimension_that_has_a_name_keeps_it():
    array = xr.DataArray([1.0, 2.0], {"time": ("time", [0, 1], {"long_name": "epoch", "units": "1"})}, "time")
    assert axis_label(elastic.said(array, "loss").time) == "epoch"
