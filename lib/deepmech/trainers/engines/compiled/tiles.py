"""The tiles of which all products of the compiled engines are made, written out as LLVM code in numba's functions.

At the sizes of small networks compilers take half the vector width, ask at every loop whether arrays overlap, and keep
sums in memory. The modules that multiply (:mod:`.mlp`, :mod:`.langevin`, :mod:`.lenet_vectors`)
therefore say themselves what is loaded, multiplied and held in registers, in
``numba.extending.intrinsic`` functions made of the pieces here. The order of every sum is thereby written down and not
chosen by a compiler.

Offsets, strides and lengths are in numbers and are not checked: they are the business of the kernels that call. Arrays
are contiguous and flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from deepmech.core.compiled import KERNEL

#: How kernels are compiled.
OPTIONS = {**KERNEL, "cache": True}
#: The same for what Python never calls.
INSIDE = {**OPTIONS, "no_cpython_wrapper": True}
BYTES = 64
"""Length of a vector unless another is asked for: one AVX-512 register, two of AVX2, four of NEON."""


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Zeros that begin where a line of the cache does: a vector that lies across two lines takes twice the time."""
    line, item = 64, np.dtype(dtype).itemsize
    raw = np.zeros(size * item + line, np.uint8)
    start = -raw.ctypes.data % line
    return raw[start : start + size * item].view(dtype)


class Vectors:
    """Loads, stores and arithmetic on vectors of numbers of one kind, at the place where ``builder`` writes.

    ``context`` and ``builder`` are what numba hands to the code generator of an intrinsic, ``dtype`` its float32 or
    float64; a vector has ``lanes`` numbers, by default as many as fill :data:`BYTES`.
    """

    def __init__(self, context: Any, builder: Any, dtype: Any, lanes: int | None = None) -> None:
        self.context, self.builder = context, builder
        self.size = dtype.bitwidth // 8
        self.lanes = lanes or BYTES // self.size
        self.vector = ir.VectorType(context.get_value_type(dtype), self.lanes)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)

    def pointer(self, array_type: Any, array: Any, offset: Any = 0) -> Any:
        """Where the numbers of an array begin, from ``offset`` on."""
        return self._plus(self.context.make_array(array_type)(self.context, self.builder, array).data, offset)

    def load(self, pointer: Any, shift: Any = 0) -> Any:
        return self.builder.load(self._at(pointer, shift), align=self.size)

    def store(self, value: Any, pointer: Any, shift: Any = 0) -> None:
        self.builder.store(value, self._at(pointer, shift), align=self.size)

    def number(self, pointer: Any, shift: Any = 0) -> Any:
        """One number of an array, in every lane."""
        return self.spread(self.builder.load(self._plus(pointer, shift)))

    def spread(self, scalar: Any) -> Any:
        """The same number in every lane."""
        none = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        return self.shuffle(self.builder.insert_element(none, scalar, ir.IntType(32)(0)), None, [0] * self.lanes)

    def constant(self, number: float) -> Any:
        """A number of the program in every lane."""
        return ir.Constant(self.vector, [number] * self.lanes)

    def shuffle(self, x: Any, y: Any, lanes: Iterable[int]) -> Any:
        """A vector of these lanes of x and, counted on, of y (which may be None)."""
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), list(lanes))
        return self.builder.shuffle_vector(x, ir.Constant(x.type, ir.Undefined) if y is None else y, lanes)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """x y + z rounded once, on every processor."""
        return self._call("fma", x, y, z)

    def muladd(self, x: Any, y: Any, z: Any) -> Any:
        """x y + z rounded once where the processor can do so at no cost, else twice."""
        return self._call("fmuladd", x, y, z)

    def loop(self, count: Any, start: list[Any], body: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """Vectors from ``start`` through ``body(i, vectors)`` for i = 0 … count - 1, held in registers; count ≥ 1."""
        builder = self.builder
        before, inside, after = builder.block, *(builder.append_basic_block(name) for name in ("sum", "summed"))
        builder.branch(inside)
        builder.position_at_end(inside)
        i = builder.phi(count.type)
        held = [builder.phi(self.vector) for _ in start]
        new = body(i, held)
        following = builder.add(i, count.type(1))
        for phi, first, then in zip([i, *held], [count.type(0), *start], [following, *new], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(then, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), inside, after)
        builder.position_at_end(after)
        return new

    def tile(
        self, terms: Any, start: list[Any], left: Callable[[Any], list[Any]], right: Callable[[Any], list[Any]],
        fused: bool = False,
    ) -> list[Any]:  # fmt: skip
        """``start`` + Σ_k left(k)[r] · right(k)[c] for all r and c, row by row, in registers, in order of k.

        All products of the compiled engines are made of these. ``terms`` is a number of the program (at least 1), or an
        int, and then they are written out one after another. Each product is rounded with its sum; ``fused`` says so
        for processors that cannot do it at no cost, too.
        """
        join = self.fma if fused else self.muladd

        def body(k: Any, sums: list[Any]) -> list[Any]:
            columns, rows = right(k), left(k)
            return [join(x, y, total) for total, (x, y) in zip(sums, product(rows, columns), strict=True)]

        if not isinstance(terms, int):
            return self.loop(terms, start, body)
        for k in range(terms):
            start = body(k, start)
        return start

    def _plus(self, pointer: Any, shift: Any) -> Any:
        if isinstance(shift, int):
            shift = ir.IntType(64)(shift)
        return self.builder.gep(pointer, [shift])

    def _at(self, pointer: Any, shift: Any) -> Any:
        return self.builder.bitcast(self._plus(pointer, shift), self.vector.as_pointer())

    def _call(self, name: str, *arguments: Any) -> Any:
        kind = ir.FunctionType(self.vector, [self.vector] * len(arguments))
        full = f"llvm.{name}.v{self.lanes}f{8 * self.size}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, full), arguments)


class Lanes:
    """A vector of :class:`Vectors` that is written as numbers are; every operation rounds."""

    def __init__(self, vectors: Vectors, value: Any) -> None:
        self.vectors, self.value = vectors, value

    def _with(self, operation: Callable[..., Any], other: Any) -> Lanes:
        return Lanes(self.vectors, operation(self.value, self._lanes(other)))

    def _lanes(self, other: Any) -> Any:
        return other.value if isinstance(other, Lanes) else self.vectors.constant(float(other))

    def __add__(self, other: Any) -> Lanes:
        return self._with(self.vectors.builder.fadd, other)

    def __sub__(self, other: Any) -> Lanes:
        return self._with(self.vectors.builder.fsub, other)

    def __mul__(self, other: Any) -> Lanes:
        return self._with(self.vectors.builder.fmul, other)

    def __gt__(self, other: Any) -> Any:
        return self.vectors.builder.fcmp_ordered(">", self.value, self._lanes(other))

    def where(self, test: Any, other: Any) -> Lanes:
        """This where ``test`` is true, ``other`` where it is not; this everywhere if there is no test."""
        return self if test is None else self._with(lambda x, y: self.vectors.builder.select(test, x, y), other)


def select_size(
    builder: Any, chosen: Sequence[Any], sizes: Iterable[tuple[int, int]], emit: Callable[..., None]
) -> None:
    """Code for each of ``sizes``, from ``emit(first, second)``; the one that ``chosen`` says is run, or none."""
    first, second = chosen
    index = first.type
    end = builder.append_basic_block("chosen")
    choice = builder.switch(builder.add(builder.mul(first, index(16)), second), end)
    for size in sizes:
        case = builder.append_basic_block("size")
        choice.add_case(index(16 * size[0] + size[1]), case)
        builder.position_at_end(case)
        emit(*size)
        builder.branch(end)
    builder.position_at_end(end)
