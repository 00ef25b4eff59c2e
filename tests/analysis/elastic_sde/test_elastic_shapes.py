"""What is measured of GEOMNIST, against geometry."""

import numpy as np
import pytest

from deepmech.data import geomnist
from deepmech_book.analysis.elastic_sde import shapes


def test_placements_hold_training_and_test_images():
    table, parts = shapes.placements(9, 6), geomnist.family(9, 6)
    assert table.sizes["image"] == 15
    for name in ("label", "r", "angle", "blur"):
        assert np.array_equal(table[name], np.concatenate([getattr(part, name) for part in parts]))


def test_images_turn_along_their_curve():
    many = shapes.placements(18, 3).sortby(["label", "angle"])
    first = geomnist.draw(geomnist.Placement(**{name: v.values[7:8] for name, v in many.items()}))
    assert np.array_equal(shapes.images(7).isel(shape=1, sample=0), first[0])
    assert (np.diff(many["angle"].values.reshape(3, 7)) > 0).all()


def test_brightness_is_the_area_of_the_shape_and_that_of_the_authors_program():
    """Ellipses of half-axes 6 + r and 2 (6 + r), r even from −1 to 1: 2π ⟨(6 + r)²⟩ = 2π (36 + 1/3) pixels. The
    rectangle has 9 × 17, and no area of a shape depends on where it is or how it is turned."""
    many = shapes.placements(2000, 1000)
    drawn = geomnist.draw(geomnist.Placement(**{str(name): v.values for name, v in many.items()}))
    total = drawn.sum((1, 2), dtype=float)
    triangle, rectangle, ellipse = (total[many["label"] == k].mean() for k in range(3))
    assert ellipse == pytest.approx(2 * np.pi * (36 + 1 / 3), rel=0.01) and rectangle == pytest.approx(9 * 17, rel=0.01)
    # Means of 600 images of each that their program made.
    assert (triangle, rectangle, ellipse) == pytest.approx((218.65, 153.00, 228.71), rel=0.01)


def test_images_lie_on_themselves_and_on_a_curve_nearer_than_on_a_surface():
    train, _ = geomnist.family(60, 30)
    assert max(shapes.nearest_distances(train, train)) < 1e-2
    far = shapes.median_distances(300)
    assert (far.sel(set="geomnist") < far.sel(set="geomnist-independent")).all()
    more = shapes.median_distances(600)
    assert (more < far).all()  # more images lie closer
