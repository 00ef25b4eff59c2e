"""GEOMNIST as it is drawn: its images, and how near test images lie to training images (Fig. 2)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from deepmech.data import geomnist

__all__ = ["images", "median_distances", "nearest_distances", "placements"]


def placements(n_train: int, n_test: int) -> xr.Dataset:
    """How training and test images of the authors' set are placed, as one table.

    Parameters
    ----------
    n_train, n_test : int
        Images of all classes together; multiples of three.

    Returns
    -------
    Dataset
        The fields of :class:`deepmech.data.geomnist.Placement` over ``image``.
    """
    parts = [
        xr.Dataset({name: ("image", values) for name, values in vars(part).items()})
        for part in geomnist.family(n_train, n_test)
    ]
    return xr.concat(parts, "image")


def _draw(table: xr.Dataset) -> np.ndarray:
    """The images of a table, (image, row, column)."""
    return geomnist.draw(geomnist.Placement(**{str(name): values.values for name, values in table.items()}))


def images(n_samples: int) -> xr.DataArray:
    """Images of each shape along its curve, in the order of the angle.

    Parameters
    ----------
    n_samples : int
        Images of each shape.

    Returns
    -------
    DataArray
        Over ``shape``, ``sample``, ``row`` and ``column``.

    Examples
    --------
    >>> images(4).sizes["sample"], images(4)["shape"].values.tolist()
    (4, ['triangle', 'rectangle', 'ellipse'])
    """
    few = placements(3 * n_samples - 3, 3).sortby(["label", "angle"])
    drawn = _draw(few).reshape(3, n_samples, geomnist.SIDE, geomnist.SIDE)
    return xr.DataArray(drawn, {"shape": list(geomnist.SHAPES)}, ("shape", "sample", "row", "column"))


def nearest_distances(train: geomnist.Placement, test: geomnist.Placement) -> list[float]:
    """Median distance of test images from the nearest training image of their class, for each class.

    Parameters
    ----------
    train, test : Placement
        How the images are placed.

    Returns
    -------
    list of float
        Euclidean, in units of a white pixel.
    """
    medians = []
    for k in range(3):
        x, y = (geomnist.draw(part).reshape(len(part.label), -1)[part.label == k] for part in (train, test))
        squares = (x**2).sum(1)[None] + (y**2).sum(1)[:, None] - 2 * y @ x.T
        medians.append(float(np.median(np.sqrt(squares.min(1).clip(0)))))
    return medians


def median_distances(n_images: int) -> xr.DataArray:
    """:func:`nearest_distances` of the authors' set and of the variant with independent angle, as many images of each.

    Parameters
    ----------
    n_images : int
        Training images, and test images, of all shapes together.

    Returns
    -------
    DataArray
        Over ``set`` and ``shape``.
    """
    sets = {
        "geomnist": geomnist.family(n_images, n_images),
        "geomnist-independent": (geomnist.independent(n_images), geomnist.independent(n_images, split="test")),
    }
    rows = [nearest_distances(*parts) for parts in sets.values()]
    return xr.DataArray(rows, {"set": list(sets), "shape": list(geomnist.SHAPES)}, ("set", "shape"))
