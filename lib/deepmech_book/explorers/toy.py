"""A toy inside an argument: a labelled array, one slider through it, and a sentence that changes with the slider."""

from typing import Any

import xarray as xr

from deepmech.plots.style import axis_label, format_number
from deepmech_book.explorers.page import ExplorerSpec, Value, plain


def _unset(label: str) -> str:
    """A label without the marks of a formula."""
    return label.replace("$", "").replace("\\ell", "ℓ").replace("_", "")


def derived_state(values: dict[str, Any]) -> dict[str, Any]:
    """The curves as (stop, curve, point), what the axes are, and the words; a ValueError where words are missing."""
    if values["curves"] is None:
        from deepmech_book.explorers.toys import creeping

        values = values | creeping()
    array: xr.DataArray = values["curves"]
    stop, curve, along = map(str, array.dims)
    if len(values["says"]) != array.sizes[stop]:
        raise ValueError(
            f"toy: {len(values['says'])} sentences for {array.sizes[stop]} stops of {stop!r}: give one each"
        )
    Value(None, (0, array.sizes[stop] - 1, 1)).check(f"toy: at = {values['at']}: must", values["at"])
    places = array[along] if values["places"] is None else values["places"]
    looks, low, high = values["looks"], float(places.min()), float(places.max())
    return values | {
        "curves": plain(array),
        "places": plain(places.broadcast_like(array).transpose(*array.dims)),
        "names": [str(name) for name in array[curve].values],
        "looks": {str(name): looks.get(str(name), "mean") for name in array[curve].values},
        "slider": _unset(axis_label(array[stop])),
        "stops": [v if isinstance(v, str) else format_number(v) for v in array[stop].values.tolist()],
        "x": values["x"] or _unset(axis_label(array[along])),
        "y": values["y"] or _unset(axis_label(array)),
        "log": low > 0 and high > 100 * low,
    }


toy_page = ExplorerSpec(
    "toy",
    "One slider through an array",
    "toy.html",
    """One slider through a labelled array, and a sentence that changes with it.

``curves`` has three dimensions: what the slider moves through, one curve a label, and along a curve. Abscissas that are
above 0 and span more than two decades lie on a logarithmic axis.""",
    {
        "curves": Value(None, words="a DataArray; without one, a chain that weak noise brings to its end"),
        "says": Value([], words="a sentence for every stop of the slider"),
        "looks": Value({}, words="by curve: mean, seed, free, chord, points, others, now, or a colour"),
        "places": Value(None, words="abscissas of the points, where they are not labels, or differ"),
        "x": Value(
            "", words='what the abscissa is called, in place of the array\'s word; one a stop with " | " between'
        ),
        "y": Value("", words="what the ordinate is called"),
        "at": Value(0, words="the stop of the slider that is shown first"),
    },
    derived_state,
    lambda state: f"A slider through {state['slider']}: {state['says'][state['at']]}",
)
