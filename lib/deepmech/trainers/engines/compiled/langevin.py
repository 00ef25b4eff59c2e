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

from deepmech.core.compiled import Floats, Ints, Whole, Word, intrinsic, njit
from deepmech.core.random import Stream, fill_bits, fill_normal, stream_id
from deepmech.trainers.engines.compiled.tiles import BYTES, INSIDE, OPTIONS, Vectors, aligned, select_size
from deepmech.trainers.run import check_cancelled

ROWS, WIDE, SQUARE = 6, 4, 4
"""Largest tile of :func:`rows` (rows, vectors) and side of that of :func:`pairs`. Every size is compiled, so there are
few: fours and threes make every number from six on, and small tiles wait for their own sums."""
LINEAR, RELU, WHERE_ACTIVE = 0, 1, 2
"""What happens to sums before they are stored."""


def _across(code: Vectors, vectors: list[Any]) -> Any:
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
    typingctx: Any, sizes: Any, ending: Any, out: Any, o: Any, s: Any, w: Any, w0: Any, wj: Any, wk: Any, a: Any,
    a0: Any, count: Any, active: Any, c0: Any,
) -> tuple[Any, Any]:  # fmt: skip
    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, out.dtype)
        chosen, how, _, o_, s_, _, w0_, wj_, wk_, _, a0_, count_, _, c0_ = args
        to, weights, below, mask = (code.pointer(signature.args[n], args[n]) for n in (2, 5, 9, 12))
        number = o_.type

        def emit(n_rows: int, n_vectors: int) -> None:
            def left(k: Any) -> list[Any]:
                places = [b.add(b.add(w0_, b.mul(number(j), wj_)), b.mul(k, wk_)) for j in range(n_rows)]
                return [code.number(weights, place) for place in places]

            def right(k: Any) -> list[Any]:
                start = b.add(a0_, b.mul(k, s_))
                return [code.load(below, b.add(start, number(v * code.lanes))) for v in range(n_vectors)]

            sums = code.tile(count_, [code.zero] * (n_rows * n_vectors), left, right, fused=True)
            plain, masked = (b.icmp_signed("==", how, how.type(k)) for k in (LINEAR, WHERE_ACTIVE))
            for j in range(n_rows):
                for v in range(n_vectors):
                    value = sums[j * n_vectors + v]
                    shift = b.add(b.mul(number(j), s_), number(v * code.lanes))
                    test = b.select(masked, code.load(mask, b.add(c0_, shift)), value)
                    kept = b.select(b.fcmp_ordered(">", test, code.zero), value, code.zero)
                    code.store(b.select(plain, value, kept), to, b.add(o_, shift))

        tiles = [(n_rows, n_vectors) for n_rows in (ROWS, 4, 3, 1) for n_vectors in (1, WIDE)]
        select_size(b, [b.extract_value(chosen, i) for i in range(2)], tiles, emit)
        return context.get_dummy_value()

    word = types.int64
    pair = types.UniTuple(word, 2)
    return types.void(pair, word, out, word, word, w, word, word, word, a, word, word, active, word), codegen


@intrinsic
def _pairs(
    typingctx: Any, sizes: Any, out: Any, d: Any, d0: Any, a: Any, a0: Any, s: Any, vectors: Any
) -> tuple[Any, Any]:
    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        code = Vectors(context, b, out.dtype)
        chosen, _, _, d0_, _, a0_, s_, vectors_ = args
        to, up, below = (code.pointer(signature.args[n], args[n]) for n in (1, 2, 4))
        number = d0_.type

        def emit(n_rows: int, n_columns: int) -> None:
            def side(pointer: Any, begin: Any, n: int) -> Any:
                def of(v: Any) -> list[Any]:
                    at = b.add(begin, b.mul(v, number(code.lanes)))
                    return [code.load(pointer, b.add(at, b.mul(number(j), s_))) for j in range(n)]

                return of

            zeros = [code.zero] * (n_rows * n_columns)
            sums = code.tile(vectors_, zeros, side(up, d0_, n_rows), side(below, a0_, n_columns), fused=True)
            for first in range(0, len(sums), code.lanes):
                code.store(_across(code, sums[first : first + code.lanes]), to, first)

        tiles = [(n_rows, n_columns) for n_rows in (SQUARE, 3, 1) for n_columns in (SQUARE, 3, 1)]
        select_size(b, [b.extract_value(chosen, i) for i in range(2)], tiles, emit)
        return context.get_dummy_value()

    word = types.int64
    return types.void(types.UniTuple(word, 2), out, d, word, a, word, word, word), codegen


@njit(**INSIDE)
def _next(left: int, largest: int) -> int:
    """How many of ``left`` rows the next tile takes, so that no tile of one is needed if it can be helped."""
    if left >= largest and left - largest not in (1, 2, 5):
        return largest
    if left >= 4 and left not in (6, 9):
        return 4
    return 3 if left >= 3 else 1


@njit(**INSIDE)
def rows(
    ending: Whole, out: Floats, o: Whole, n_rows: int, w: Floats, w0: Whole, wj: Whole, wk: Whole, a: Floats,
    a0: Whole, count: int, active: Floats, c0: Whole, s: int, n: int,
) -> None:  # fmt: skip
    """out[o + j s + b] = Σ_k w[w0 + j wj + k wk] a[a0 + k s + b] for j < n_rows, k < count, b < n.

    Arrays are flat and of one type; rows of samples lie ``s`` apart, ``n`` and ``s`` are multiples of a vector's
    length. ``ending`` says what becomes of the sums: LINEAR, RELU, or WHERE_ACTIVE (0 unless active[c0 + j s + b] > 0);
    ``active`` is looked at in any case, so it has to hold as many numbers.
    """
    lanes = BYTES // out.itemsize
    b = 0
    while b < n:
        wide = WIDE if n - b >= WIDE * lanes else 1
        first = 0
        while first < n_rows:
            sizes = (_next(n_rows - first, ROWS), wide)
            to, weight, mask = o + first * s + b, w0 + first * wj, c0 + first * s + b
            _rows(sizes, ending, out, to, s, w, weight, wj, wk, a, a0 + b, count, active, mask)
            first += sizes[0]
        b += wide * lanes


@njit(**INSIDE)
def pairs(
    g: Floats, g0: Whole, d: Floats, d0: int, n_rows: int, a: Floats, a0: Whole, n_columns: int, s: int, n: int,
    small: Floats,
) -> None:  # fmt: skip
    """g[g0 + j n_columns + i] += Σ_b d[d0 + j s + b] a[a0 + i s + b], b < n; ``g`` is float64, ``small`` holds 16."""
    lanes = BYTES // small.itemsize
    top = 0
    while top < n_rows:
        down = _next(n_rows - top, SQUARE)
        left = 0
        while left < n_columns:
            across = _next(n_columns - left, SQUARE)
            _pairs((down, across), small, d, d0 + top * s, a, a0 + left * s, s, n // lanes)
            for j in range(down):
                for i in range(across):
                    g[g0 + (top + j) * n_columns + left + i] += small[j * across + i]
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


@njit(**INSIDE)
def _block(
    net: Net, workspace: Workspace, x: Floats, x0: int, y: Floats, y0: int, n: int, s: int, scale: float
) -> None:
    """Add to ``net.g`` the gradient of scale · Σ_b ½ max(0, 1 - y_b f_b)² over one block of samples.

    The block is x[x0 + i s + b], y[y0 + b] with b < n, ``n`` a multiple of a vector's length, padded with zeros.
    """
    w, g, sizes, a, d = net.v, net.g, net.sizes, workspace.a, workspace.d
    # As plain integers: for every literal number numba would compile the products once more.
    linear, smooth = np.int64(LINEAR), net.softplus > 0
    bent, masked = (linear, linear) if smooth else (np.int64(RELU), np.int64(WHERE_ACTIVE))
    lanes, beta = BYTES // d.itemsize, d.dtype.type(net.softplus)
    none, one_by_one = np.int64(0), np.int64(1)
    last = sizes.shape[0] - 1
    widest = 1
    for i in range(1, last):
        widest = max(widest, sizes[i])
    layer = widest * s
    start = none
    for i in range(1, last + 1):
        m, k, below = sizes[i], sizes[i - 1], (i - 2) * layer
        # One call for all layers: wherever a product is called, it is compiled again.
        inputs, first = (x, x0) if i == 1 else (a, below)
        out, to = (a, below + layer) if i < last else (d, (i % 2) * layer)
        rows(bent if i < last else linear, out, to, m, w, start, k, one_by_one, inputs, first, k, a, none, s, n)
        if smooth and i < last:
            for j in range(m):
                for b in range(0, n, lanes):
                    _softplus(a, to + j * s + b, beta)
        start += m * k
    up = (last % 2) * layer
    zero, one, factor = d.dtype.type(0), d.dtype.type(1), d.dtype.type(scale)
    for b in range(n):
        gap = one - y[y0 + b] * d[up + b]
        gap = gap if gap > zero else zero
        d[up + b] = -y[y0 + b] * gap * factor
    for i in range(last, 0, -1):
        m, k, below = sizes[i], sizes[i - 1], (i - 2) * layer
        up, down = (i % 2) * layer, ((i - 1) % 2) * layer
        start -= m * k
        inputs, first = (x, x0) if i == 1 else (a, below)
        pairs(g, start, d, up, m, inputs, first, k, s, n, workspace.small)
        if i > 1:
            rows(masked, d, down, k, w, start, one_by_one, k, d, up, m, a, below, s, n)
            if smooth:
                for j in range(k):
                    for b in range(0, n, lanes):
                        _times_slope(d, down + j * s + b, a, below + j * s + b, beta)


@njit(**INSIDE)
def _gather(x: Floats, y: Floats, samples: Floats, labels: Floats, chosen: Ints, s: int, n: int) -> None:
    """A block of the ``chosen`` ``samples`` (inputs, …): x (inputs, s), flat, and y, filled up with zeros to ``n``."""
    held = chosen.shape[0]
    for b in range(held):
        y[b] = labels[chosen[b]]
    for b in range(held, n):
        y[b] = 0
    for i in range(samples.shape[0]):
        for b in range(held):
            x[i * s + b] = samples[i, chosen[b]]
        for b in range(held, n):
            x[i * s + b] = 0


@njit(**OPTIONS)
def advance(
    net: Net, data: Samples, workspace: Workspace, order: Ints, batch: int, rate: float, decay: float, noise: float,
    key: Word, purpose: Word, begin: int, end: int,
) -> None:  # fmt: skip
    """Steps ``begin`` … ``end`` - 1 of w -= rate (∂loss/∂w + decay · w) + noise · ξ (Eq. 3).

    With ``batch`` 0 the loss is that of all samples, and steps are numbered for their random numbers, which have this
    ``key`` and ``purpose``. Otherwise step i takes batch i of the epoch's ``order``. One function for both, because
    every compiled entry brings all products with it.
    """
    w, v, g, s = net.w, net.v, net.g, data.block
    V, lanes = v.dtype.type, BYTES // v.itemsize
    for step in range(begin, end):
        begun, held_by, x, y = 0, data.labels.shape[0], data.x, data.y
        if batch > 0:
            begun, x, y = step * batch, workspace.x, workspace.y
            held_by = min((step + 1) * batch, order.shape[0]) - begun
        for i in range(g.shape[0]):
            g[i] = 0.0
        for head in range(0, held_by, s):
            held = min(s, held_by - head)
            n = -(-held // lanes) * lanes
            x0, y0 = (0, 0) if batch > 0 else (head * net.sizes[0], head)
            if batch > 0:
                _gather(x, y, data.samples, data.labels, order[begun + head : begun + head + held], s, n)
            _block(net, workspace, x, x0, y, y0, n, s, 1.0 / held_by)
        if noise > 0:
            fill_bits(workspace.bits, key, np.uint64(step), purpose)
            fill_normal(workspace.z, workspace.bits)
        for i in range(w.shape[0]):
            new = w[i] - rate * (g[i] + decay * w[i])
            w[i] = new + noise * workspace.z[i] if noise > 0 else new
        for i in range(w.shape[0]):
            v[i] = V(w[i])


#: Types of products for each ``dtype`` of a spec; weights are float64.
TYPES = {"mixed": "float32", "float64": "float64"}
_NO_ORDER, _NO_STREAM, _THERMAL = np.zeros(1, np.int64), Stream(0), np.uint64(stream_id("thermal"))
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
        advance(
            self._net, self._data, self._workspace, order, batch, mu, shrink, kick, np.uint64(stream.key), _THERMAL,
            begin, end,
        )  # fmt: skip


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
