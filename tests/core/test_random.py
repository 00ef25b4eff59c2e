"""Random streams: the published algorithm, the right distributions, and no memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from deepmech.core.random import Stream, philox


@njit
def _philox(c0, c1, c2, c3, k0, k1):
    return philox(c0, c1, c2, c3, k0, k1)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # known answers published with the Random123 library
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_words(counter, key, words):
    assert list(_philox(*(np.uint64(v) for v in counter + key))) == words


def test_normals_follow_from_their_words_by_box_muller():
    stream = Stream.of("test", 3)
    words = stream.bits("p", 7, 10_000).astype(float)
    radius = np.sqrt(-2 * np.log((words[::2] + 0.5) / 2**32))
    # The angle is measured from the middle of a quadrant: a rotation by 45 degrees, which no law can see.
    quadrant, rest = np.divmod(words[1::2], 2**30)
    angle = (quadrant + (rest + 0.5) / 2**30 - 0.5) * np.pi / 2
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()
    np.testing.assert_allclose(stream.normal("p", 7, 10_000), expected, rtol=0, atol=4e-15)


def test_distributions():
    stream = Stream.of("distributions", 0)
    z = stream.normal("z", 0, 200_000)
    assert stats.kstest(z, "norm").pvalue > 1e-3
    assert stats.kstest(z[::2] * z[1::2], lambda v: _product_cdf(v)).pvalue > 1e-3  # members of a pair are independent
    assert stats.kstest(stream.uniform("u", 0, 200_000), "uniform").pvalue > 1e-3
    dropped = 1 - stream.mask("k", 0, 400_000, 0.1).mean()
    assert abs(dropped - 0.1) < 4 * np.sqrt(0.09 / 400_000)


def _product_cdf(v):
    """Distribution of the product of two independent standard normals: density K0(|v|)/pi."""
    from scipy.integrate import cumulative_simpson
    from scipy.special import k0

    # Substituting x = t^2 removes the logarithmic singularity at 0.
    t = np.linspace(1e-6, 5, 20_001)
    half = np.concatenate([[0], cumulative_simpson(2 * t * k0(t * t), x=t)]) / np.pi
    return 0.5 + np.sign(v) * np.interp(np.abs(v), t * t, half)


@given(n=st.integers(1, 40), more=st.integers(0, 40), step=st.integers(0, 2**40))
def test_asking_for_more_numbers_only_appends(n, more, step):
    s = Stream.of("append", 1)
    assert np.array_equal(s.bits("a", step, n + more)[:n], s.bits("a", step, n))
    assert np.array_equal(s.normal("a", step, n + more)[:n], s.normal("a", step, n))


@given(st.integers(0, 2**63), st.integers(0, 2**40))
def test_streams_steps_and_purposes_differ(seed, step):
    draws = [
        Stream.of("e", seed).bits("p", step, 4),
        Stream.of("e", seed + 1).bits("p", step, 4),
        Stream.of("f", seed).bits("p", step, 4),
        Stream.of("e", seed).bits("q", step, 4),
        Stream.of("e", seed).bits("p", step + 1, 4),
    ]
    assert len({d.tobytes() for d in draws}) == len(draws)


@given(*2 * [st.lists(st.one_of(st.integers(-2, 2), st.text("a\x1f:str", max_size=6)), max_size=4)])
def test_different_words_name_different_streams(some, other):
    """Also where a word holds what stands between words, and where it is the text of a number."""
    assert (Stream.of(*some).key == Stream.of(*other).key) == (some == other)
    assert Stream.of("a\x1fstr:b").key != Stream.of("a", "b").key
    assert Stream.of("a", 1).key != Stream.of("a", "1").key != Stream.of("a1").key


def test_permutations_are_uniform():
    counts = np.zeros((4, 4))
    for step in range(4000):
        counts[np.arange(4), Stream.of("perm").permutation("p", step, 4)] += 1
    assert stats.chisquare(counts.ravel(), np.full(16, 1000)).pvalue > 1e-3
