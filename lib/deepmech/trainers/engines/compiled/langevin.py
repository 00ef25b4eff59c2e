"""One network that walks on a CPU: the compiled engine, down to its matrix products in vector registers.

It holds the weights of a bias-free network as one flat vector, layer after layer, each (units above, units below),
and shares its draws with :class:`~deepmech.trainers.engines.torch_walk.TorchWalk`, so both take the same path up to
rounding. Samples go in blocks that stay in the cache from the input to the gradient, side by side in vectors of 64
bytes; activations are feature-major. Kernels release Python's lock and run as many steps as they are asked for, noise
included, without coming back. There are two products:

- :func:`rows`: out[j, b] = Σ_k w[j, k] a[k, b], the way forward (ReLU at the end) and back (zero where the unit below
  was silent). Up to six rows and four vectors of samples stay in registers while k runs.
- :func:`pairs`: g[j, i] += Σ_b d[j, b] a[i, b], the gradient. Up to four by four sums of vectors stay in registers
  while b runs; then the lanes are added, always in the same order.

Units are ReLU. Those of softplus take products as they are, and bend them in a pass of their own (:func:`_softplus`).

Every product is a fused multiply-add and every sum has one order (:mod:`.tiles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, log
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from deepmech.core.compiled import Floats, Ints, Whole, intrinsic, njit
from deepmech.core.random import Stream, fill_bits, fill_normal, stream_id
from deepmech.trainers.engines.compiled.blocks import view
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS, Vectors, aligned, select_size
from deepmech.trainers.run import check_cancelled

ROWS, WIDE, SQUARE = 6, 4, 4
"""Largest tile of :func:`rows` (rows, vectors) and side of that of :func:`pairs`. Every size is compiled, so there are
few: fours and threes make every number from six on, and small tiles wait for their own sums."""
LINEAR, RELU, WHERE_ACTIVE = 0, 1, 2
"""What happens to sums before they are stored."""
THERMAL = np.uint64(stream_id("thermal"))


def lane_sums(code: Vectors, vectors: list[Any]) -> Any:
    """One vector that holds the sum over the lanes of each of the (at most ``lanes``) vectors."""
    vectors = vectors + [code.zero] * (code.lanes - len(vectors))
    while len(vectors) > 1:
        # Of two vectors made of equal runs, the even and the odd entries: added, they are runs of half the length.
        even, odd = (range(k, 2 * code.lanes, 2) for k in (0, 1))
        vectors = [
            code.builder.fadd(code.shuffle(x, y, even), code.shuffle(x, y, odd))
            for x, y in zip(vectors[::2], vectors[1::2], strict=True)
        ]
    return vectors[0]


@intrinsic
def _rows(
    typing: Any, out: Any, w: Any, a: Any, active: Any, transposed: Any, ending: Any, corner: Any, size: Any
) -> tuple[Any, Any]:
    """The tile of :func:`rows` that begins at this row and column of ``out``, of ``size`` rows and vectors."""

    def emit(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, out.dtype)
        c, weights, below, mask = (context.make_array(signature.args[k])(context, b, args[k]) for k in range(4))
        (height, width), s = cgutils.unpack_tuple(b, weights.shape, 2), b.extract_value(below.shape, 1)
        (row, column), chosen, number = cgutils.unpack_tuple(b, args[6], 2), cgutils.unpack_tuple(b, args[7], 2), s.type
        flip = b.icmp_signed("!=", args[4], args[4].type(0))
        terms, by_row, by_term = (
            b.select(flip, *pair) for pair in ((height, width), (number(1), width), (width, number(1)))
        )

        def tile(n_rows: int, n_vectors: int) -> None:
            def left(k: Any) -> list[Any]:
                places = [b.add(b.mul(b.add(row, number(j)), by_row), b.mul(k, by_term)) for j in range(n_rows)]
                return [code.number(weights.data, place) for place in places]

            def right(k: Any) -> list[Any]:
                start = b.add(column, b.mul(k, s))
                return [code.load(below.data, b.add(start, number(v * code.lanes))) for v in range(n_vectors)]

            sums = code.tile(terms, [code.zero] * (n_rows * n_vectors), left, right, fused=True)
            plain, masked = (b.icmp_signed("==", args[5], args[5].type(k)) for k in (LINEAR, WHERE_ACTIVE))
            for j in range(n_rows):
                for v in range(n_vectors):
                    value = sums[j * n_vectors + v]
                    place = b.add(b.mul(b.add(row, number(j)), s), b.add(column, number(v * code.lanes)))
                    test = b.select(masked, code.load(mask.data, place), value)
                    kept = b.select(b.fcmp_ordered(">", test, code.zero), value, code.zero)
                    code.store(b.select(plain, value, kept), c.data, place)

        select_size(b, chosen, [(n_rows, n_vectors) for n_rows in (ROWS, 4, 3, 1) for n_vectors in (1, WIDE)], tile)
        return context.get_dummy_value()

    word, pair = types.int64, types.UniTuple(types.int64, 2)
    return types.void(out, w, a, active, word, word, pair, pair), emit


@intrinsic
def _pairs(typing: Any, out: Any, d: Any, a: Any, corner: Any, size: Any, vectors: Any) -> tuple[Any, Any]:
    """The tile of :func:`pairs` that begins at these rows of ``d`` and ``a``, of ``size`` rows of each."""

    def emit(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, out.dtype)
        to, up, below = (context.make_array(signature.args[k])(context, b, args[k]) for k in range(3))
        begin, chosen = cgutils.unpack_tuple(b, args[3], 2), cgutils.unpack_tuple(b, args[4], 2)
        s = b.extract_value(up.shape, 1)

        def tile(n_rows: int, n_columns: int) -> None:
            def side(array: Any, first: Any, n: int) -> Any:
                def of(v: Any) -> list[Any]:
                    at = b.mul(v, s.type(code.lanes))
                    return [code.load(array.data, b.add(at, b.mul(b.add(first, s.type(j)), s))) for j in range(n)]

                return of

            sides = side(up, begin[0], n_rows), side(below, begin[1], n_columns)
            sums = code.tile(args[5], [code.zero] * (n_rows * n_columns), *sides, fused=True)
            for first in range(0, len(sums), code.lanes):
                code.store(lane_sums(code, sums[first : first + code.lanes]), to.data, first)

        sizes = [(n_rows, n_columns) for n_rows in (SQUARE, 3, 1) for n_columns in (SQUARE, 3, 1)]
        select_size(b, chosen, sizes, tile)
        return context.get_dummy_value()

    pair = types.UniTuple(types.int64, 2)
    return types.void(out, d, a, pair, pair, types.int64), emit


@njit(**INSIDE)
def next_tile(left: int, largest: int) -> int:
    """How many of ``left`` rows the next tile takes, so that no tile of one is needed if it can be helped."""
    if left >= largest and left - largest not in (1, 2, 5):
        return largest
    if left >= 4 and left not in (6, 9):
        return 4
    return 3 if left >= 3 else 1


@njit(**INSIDE)
def rows(out: Floats, w: Floats, a: Floats, active: Floats, transposed: Whole, ending: Whole, n: int) -> None:
    """out = w a, or wᵀ a with ``transposed``, for the first n samples; all have one row length of samples.

    ``n`` and that length are multiples of a vector's. ``ending`` says what becomes of the sums: LINEAR, RELU, or
    WHERE_ACTIVE (0 unless ``active`` is positive there); ``active`` is looked at in any case, so it has to be as large.
    """
    lanes, n_rows = BYTES // out.itemsize, w.shape[1] if transposed else w.shape[0]
    b = 0
    while b < n:
        wide = WIDE if n - b >= WIDE * lanes else 1
        first = 0
        while first < n_rows:
            height = next_tile(n_rows - first, ROWS)
            _rows(out, w, a, active, transposed, ending, (first, b), (height, wide))
            first += height
        b += wide * lanes


@njit(**INSIDE)
def pairs(g: Floats, d: Floats, a: Floats, n: int, small: Floats) -> None:
    """g += d aᵀ over the first n samples; ``g`` is float64, ``small`` holds 16."""
    lanes = BYTES // small.itemsize
    top = 0
    while top < g.shape[0]:
        down = next_tile(g.shape[0] - top, SQUARE)
        left = 0
        while left < g.shape[1]:
            across = next_tile(g.shape[1] - left, SQUARE)
            _pairs(small, d, a, (top, left), (down, across), n // lanes)
            for j in range(down):
                for i in range(across):
                    g[top + j, left + i] += small[j * across + i]
            left += across
        top += down


def _exponential(code: Vectors, u: Any) -> Any:
    """exp(-u) of a vector u ≥ 0, to rounding; from 40 on that of 40: nothing beside 1, and its square is not denormal.

    By the same sums on every processor, which functions of C's library are not: u = n log 2 + r with a whole n, and the
    series of exp(-r) with |r| ≤ ½ log 2, as far as the numbers' type can see it.
    """
    b, small = code.builder, code.size == 4
    digits, bias, terms = (23, 127, 7) if small else (52, 1023, 13)
    whole = ir.VectorType(ir.IntType(8 * code.size), code.lanes)
    high = float((np.float32 if small else np.float64)(log(2.0)))
    low = log(2.0) - high if small else 2.3190468138462996e-17
    u = b.select(b.fcmp_ordered(">", u, code.constant(40.0)), code.constant(40.0), u)
    n = b.fptosi(b.fadd(b.fmul(u, code.constant(1 / log(2.0))), code.constant(0.5)), whole)
    turns = b.sitofp(n, code.vector)
    rest = code.fma(turns, code.constant(-low), code.fma(turns, code.constant(-high), u))
    sums = code.zero
    for k in range(terms, -1, -1):
        sums = code.fma(sums, rest, code.constant((-1) ** k / factorial(k)))
    power = b.shl(b.sub(ir.Constant(whole, [bias] * code.lanes), n), ir.Constant(whole, [digits] * code.lanes))
    return b.fmul(sums, b.bitcast(power, code.vector))


@intrinsic
def _softplus(typingctx: Any, a: Any, a0: Any, beta: Any) -> tuple[Any, Any]:
    """One vector z of ``a`` becomes log(1 + exp(β z))/β = max(z, 0) + 2 artanh(e/(2 + e))/β with e = exp(-β|z|)."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, a.dtype)
        place, by = code.pointer(a, args[0], args[1]), code.spread(args[2])
        z = code.load(place)
        positive = b.fcmp_unordered(">", z, code.zero)  # in this way nan stays
        e = _exponential(code, b.fmul(by, b.select(positive, z, b.fneg(z))))
        s = b.fdiv(e, b.fadd(code.constant(2.0), e))
        square, sums = b.fmul(s, s), code.zero
        for k in range(6 if code.size == 4 else 16, -1, -1):
            sums = code.fma(sums, square, code.constant(2 / (2 * k + 1)))
        code.store(b.fadd(b.select(positive, z, code.zero), b.fdiv(b.fmul(sums, s), by)), place)
        return context.get_dummy_value()

    return types.void(a, types.int64, a.dtype), codegen


@intrinsic
def _times_slope(typingctx: Any, d: Any, d0: Any, a: Any, a0: Any, beta: Any) -> tuple[Any, Any]:
    """One vector of ``d`` times the slope of softplus, 1/(1 + exp(-β z)) = 1 - exp(-β a), where its value is ``a``."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, a.dtype)
        place, by = code.pointer(d, args[0], args[1]), code.spread(args[4])
        value = code.load(code.pointer(a, args[2], args[3]))
        slope = b.fsub(code.constant(1.0), _exponential(code, b.fmul(by, value)))
        code.store(b.fmul(code.load(place), slope), place)
        return context.get_dummy_value()

    return types.void(d, types.int64, a, types.int64, a.dtype), codegen


def vectors(dtype: str) -> int:
    """Samples in a vector: 16 in float32, 8 in float64."""
    return BYTES // np.dtype(dtype).itemsize


class Net(NamedTuple):
    """One network: units of its ``sizes``, flat weights (``w`` in float64, ``v`` in the type of products), and their
    gradient ``g``."""

    sizes: np.ndarray
    w: np.ndarray
    v: np.ndarray
    g: np.ndarray
    softplus: float
    """β of softplus, 0 for ReLU."""


class Samples(NamedTuple):
    """All samples in blocks of ``block``, filled up with zeros, flat, and as they are; all in the type of products."""

    x: np.ndarray
    """(blocks, inputs, block), and labels ``y`` (blocks, block)."""
    y: np.ndarray
    samples: np.ndarray
    """(inputs, n), and ``labels`` (n,)."""
    labels: np.ndarray
    block: int


class Workspace(NamedTuple):
    """Work space, flat."""

    a: np.ndarray
    """(hidden, widest, block) activations."""
    d: np.ndarray
    """(2, widest, block) derivatives of two layers by turns."""
    small: np.ndarray
    """Sums of one tile of the gradient."""
    x: np.ndarray
    """(inputs, block), and ``y`` (block,): a block of a batch."""
    y: np.ndarray
    bits: np.ndarray
    """Random words for all weights, or one more; ``z``: normal numbers made of them."""
    z: np.ndarray


class Rule(NamedTuple):
    """A step, w -= rate (∂loss/∂w + decay · w) + noise · ξ (Eq. 3).

    With ``batch`` 0 the loss is that of all samples, and steps are numbered for their random numbers, which have this
    ``key``. Otherwise step i takes batch i of the epoch's ``order``.
    """

    order: np.ndarray
    batch: int
    rate: float
    decay: float
    noise: float
    key: np.uint64


@njit(**INSIDE)
def add_gradient(net: Net, work: Workspace, x: Floats, y: Floats, n: int, scale: float) -> None:
    """Add to ``net.g`` the gradient of scale · Σ_b ½ max(0, 1 - y_b f_b)² over one block of samples, forward and back.

    The block is x[:, b], y[b] with b < n, ``n`` a multiple of a vector's length, padded with zeros.
    """
    sizes, s, T = net.sizes, x.shape[1], net.v.dtype.type
    last, lanes, smooth, beta = sizes.shape[0] - 1, BYTES // x.itemsize, net.softplus > 0, T(net.softplus)
    # As plain integers: for every literal number numba would compile the products once more.
    as_is, transposed, linear = np.int64(0), np.int64(1), np.int64(LINEAR)
    bent, masked = (linear, linear) if smooth else (np.int64(RELU), np.int64(WHERE_ACTIVE))
    widest = 1
    for i in range(1, last):
        widest = max(widest, sizes[i])
    start = 0
    for i in range(1, last + 1):
        w = view(net.v, start, sizes[i], sizes[i - 1])
        # One call for all layers: wherever a product is called, it is compiled again.
        below = x if i == 1 else view(work.a, (i - 2) * widest * s, widest, s)
        a = view(work.a, (i - 1) * widest * s, widest, s) if i < last else view(work.d, (i % 2) * widest * s, widest, s)
        rows(a, w, below, view(work.a, 0, widest, s), as_is, bent if i < last else linear, n)
        if smooth and i < last:
            for j in range(sizes[i]):
                for b in range(0, n, lanes):
                    _softplus(work.a, ((i - 1) * widest + j) * s + b, beta)
        start += sizes[i] * sizes[i - 1]
    output = view(work.d, (last % 2) * widest * s, 1, s)
    for b in range(n):
        gap = T(1) - y[b] * output[0, b]
        gap = gap if gap > T(0) else T(0)
        output[0, b] = -y[b] * gap * T(scale)
    for i in range(last, 0, -1):
        start -= sizes[i] * sizes[i - 1]
        w, g = view(net.v, start, sizes[i], sizes[i - 1]), view(net.g, start, sizes[i], sizes[i - 1])
        a = x if i == 1 else view(work.a, (i - 2) * widest * s, widest, s)
        d = view(work.d, (i % 2) * widest * s, widest, s)
        d_below = view(work.d, ((i - 1) % 2) * widest * s, widest, s)
        pairs(g, d, a, n, work.small)
        if i > 1:
            rows(d_below, w, d, a, transposed, masked, n)
            if smooth:
                for j in range(sizes[i - 1]):
                    for b in range(0, n, lanes):
                        _times_slope(
                            work.d, ((i - 1) % 2 * widest + j) * s + b, work.a, ((i - 2) * widest + j) * s + b, beta
                        )


@njit(**INSIDE)
def gather(x: Floats, y: Floats, data: Samples, chosen: Ints, n: int) -> None:
    """A block of the ``chosen`` samples: x (inputs, block) and y, filled up with zeros to ``n``."""
    held = chosen.shape[0]
    for b in range(n):
        y[b] = data.labels[chosen[b]] if b < held else 0
    for i in range(x.shape[0]):
        for b in range(n):
            x[i, b] = data.samples[i, chosen[b]] if b < held else 0


@njit(**OPTIONS)
def advance(net: Net, data: Samples, work: Workspace, rule: Rule, begin: int, end: int) -> None:
    """Steps ``begin`` … ``end`` - 1. One function for all, because every compiled entry brings all products with it."""
    w, v, g, s, inputs = net.w, net.v, net.g, data.block, net.sizes[0]
    V, lanes = v.dtype.type, BYTES // v.itemsize
    for step in range(begin, end):
        first, size = 0, data.labels.shape[0]
        if rule.batch > 0:
            first, size = step * rule.batch, min(rule.batch, rule.order.shape[0] - step * rule.batch)
        for i in range(g.shape[0]):
            g[i] = 0.0
        for head in range(0, size, s):
            held = min(s, size - head)
            n = -(-held // lanes) * lanes
            x, y = view(data.x, head * inputs, inputs, s), data.y[head:]
            if rule.batch > 0:
                x, y = view(work.x, 0, inputs, s), work.y
                gather(x, y, data, rule.order[first + head : first + head + held], n)
            add_gradient(net, work, x, y, n, 1.0 / size)
        if rule.noise > 0:
            fill_bits(work.bits, rule.key, np.uint64(step), THERMAL)
            fill_normal(work.z, work.bits)
        for i in range(w.shape[0]):
            new = w[i] - rule.rate * (g[i] + rule.decay * w[i])
            w[i] = new + rule.noise * work.z[i] if rule.noise > 0 else new
        for i in range(w.shape[0]):
            v[i] = V(w[i])


#: Types of products for each ``dtype`` of a spec; weights are float64.
TYPES = {"mixed": "float32", "float64": "float64"}
_NO_ORDER, _NO_STREAM = np.zeros(1, np.int64), Stream(0)
CACHE = 32 * 1024
"""Bytes that one layer's activations of one block may take: the nearest cache of today's processors."""


def layer_sizes(inputs: int, width: int, hidden: int) -> tuple[int, ...]:
    """Units of every layer, input and output included."""
    return (inputs, *[width] * hidden, 1)


def n_weights(sizes: Sequence[int]) -> int:
    """Number of weights N.

    Examples
    --------
    >>> n_weights(layer_sizes(10, 30, 6)), n_weights(layer_sizes(10, 82, 6))
    (4830, 34522)
    """
    return sum(a * b for a, b in zip(sizes[1:], sizes[:-1], strict=True))


def initial(sizes: Sequence[int], stream: Stream) -> np.ndarray:
    """Weights drawn uniformly from ±1/√(units below), flat, float64."""
    parts = [
        (2 * stream.uniform(f"weight {i}", 0, above * below) - 1) / np.sqrt(below)
        for i, (above, below) in enumerate(zip(sizes[1:], sizes[:-1], strict=True))
    ]
    return np.concatenate(parts)


PRODUCTS = 10**9
"""Weights times samples after which an interrupt is looked for: about a second."""


class CompiledWalk:
    """Walks one network; samples go through all its layers and back block by block, inside the cache.

    It has the methods of :class:`~deepmech.trainers.engines.torch_walk.TorchWalk`, as a group of one: rates and the
    like are numbers or arrays of one.

    Parameters
    ----------
    sizes : list of int
        Units of every layer, :func:`layer_sizes`.
    x : (n, d), standardised inputs; ``y`` : (n,), labels ±1.
    dtype : str
        ``"mixed"``, weights in float64 and products in float32, or ``"float64"``.
    softplus : float
        β of softplus units, 0 for ReLU.
    """

    def __init__(self, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, dtype: str = "mixed", softplus: float = 0.0):
        self.sizes = np.array(sizes, np.int64)
        self.type = TYPES[dtype]
        self.n, lanes, self._given = len(x), vectors(self.type), (x, y)
        widest = int(self.sizes[1:].max())
        unit = WIDE * lanes
        whole = -(-self.n // lanes) * lanes
        #: Samples in a block: fixed by the sizes alone, so that sums have one order.
        self.block = min(max(CACHE // (widest * np.dtype(self.type).itemsize) // unit * unit, unit), whole)
        blocks = -(-self.n // self.block)
        samples, labels = (np.ascontiguousarray(v, dtype=self.type) for v in (x.T, y))
        padded = np.zeros((len(samples), blocks * self.block), self.type)
        padded[:, : self.n] = samples
        workspace = {name: aligned(n * self.block, self.type) for name, n in {
            "a": (len(sizes) - 2) * widest, "d": 2 * widest, "x": len(samples), "y": 1,
        }.items()}  # fmt: skip
        small = aligned(SQUARE**2, self.type)
        #: Weights, the same in the type of the products, and their gradient.
        w, v, g = (np.zeros(n_weights(sizes), t) for t in ("float64", self.type, "float64"))
        even = len(g) + len(g) % 2
        self._workspace = Workspace(**workspace, small=small, bits=np.empty(even, np.uint32), z=np.empty(even))
        self._net = Net(self.sizes, w, v, g, float(softplus))
        blocked = aligned(padded.size, self.type), aligned(blocks * self.block, self.type)
        blocked[0][:] = padded.reshape(len(padded), blocks, self.block).transpose(1, 0, 2).ravel()
        blocked[1][: self.n] = labels
        self._data = Samples(*blocked, samples, labels, self.block)

    @property
    def w(self) -> np.ndarray:
        """Weights, (1, N), float64."""
        return self._net.w[None].copy()

    def set(self, weights: np.ndarray) -> None:
        """Put the network at these weights, (1, N) or flat."""
        with np.errstate(over="ignore"):  # what is beyond the type of products has diverged
            self._net.v[:] = weights
        self._net.w[:] = weights

    def gradient(self) -> np.ndarray:
        """Gradient of the mean loss over all samples, without regularisation; (1, N), float64."""
        self._advance(0, 1, 0, _NO_ORDER, 0.0, 0.0, 0.0, _NO_STREAM)
        return self._net.g[None].copy()

    def walk(self, steps: int, first: int, rate: Any, decay: Any, noise: Any, streams: Sequence[Stream]) -> None:
        """``steps`` Langevin steps; ``noise`` is the standard deviation that each weight receives in one step."""
        piece = max(1, PRODUCTS // (self.n * len(self._net.w)))
        for begin in range(first, first + steps, piece):
            self._advance(begin, min(begin + piece, first + steps), 0, _NO_ORDER, rate, decay, noise, streams[0])

    def descend(self, orders: Sequence[np.ndarray], batch: int, rate: Any, decay: Any, begin: int, end: int) -> None:
        """Steps ``begin`` … ``end`` - 1 of an epoch of stochastic gradient descent over the samples in its order."""
        self._advance(begin, end, batch, orders[0], rate, decay, 0.0, _NO_STREAM)

    def evaluate(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """What :func:`evaluate` finds, each with a first axis of one network."""
        loss, error, active = evaluate(self._net.w, self.sizes.tolist(), *self._given, self._net.softplus)
        return np.array([loss]), np.array([error]), [layer[None] for layer in active]

    def _advance(
        self, begin: int, end: int, batch: int, order: np.ndarray, rate: Any, decay: Any, noise: Any, stream: Stream
    ) -> None:
        check_cancelled()
        mu, shrink, kick = (np.asarray(number, float).item() for number in (rate, decay, noise))
        rule = Rule(order, batch, mu, shrink, kick, np.uint64(stream.key))
        advance(self._net, self._data, self._workspace, rule, begin, end)


@np.errstate(over="ignore", invalid="ignore")
def evaluate(
    weights: np.ndarray, sizes: Sequence[int], x: np.ndarray, y: np.ndarray, softplus: float = 0.0
) -> tuple[float, float, list[np.ndarray]]:
    """Mean data loss, fraction of samples on the wrong side, and per hidden layer which units are not always silent.

    In float64, whatever the engine. A loss that is beyond it is inf or nan.
    """
    start, a, active = 0, np.asarray(x, float), []
    for i in range(1, len(sizes)):
        size = sizes[i] * sizes[i - 1]
        a = a @ np.asarray(weights[start : start + size], float).reshape(sizes[i], sizes[i - 1]).T
        if i < len(sizes) - 1:
            a = np.logaddexp(0, softplus * a) / softplus if softplus else np.maximum(a, 0, out=a)
            active.append((a > 0).any(0))
        start += size
    margin = np.asarray(y, float) * a[:, 0]
    return float(0.5 * (np.maximum(0, 1 - margin) ** 2).mean()), float((margin <= 0).mean()), active
