"""The results of arithmetic instructions, on arrays.

`implementation(op)` returns a function from operand arrays to the result array. Operands and
results have the NumPy types that correspond to their PTX types. Definitions are those of the PTX
ISA manual; approximate instructions are computed in double precision and rounded, so they have the
accuracy that the manual guarantees but not the hardware's bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import HALVES, Op, is_float
from reference import video
from reference.arrays import (
    extended_precision,
    floats,
    integers,
    packed_integers,
    rounding,
)
from reference.arrays.conversions import conversion
from reference.arrays.small_floats import fp8, half, half_conversions

Array = NDArray[Any]
Function = Callable[..., Any]

NUMPY_TYPES: dict[str, type[np.generic]] = {
    "pred": np.bool_, "b8": np.uint8, "u8": np.uint8, "s8": np.int8, "b16": np.uint16,
    "u16": np.uint16, "s16": np.int16, "f16": np.float16, "bf16": np.uint16, "f16x2": np.uint32,
    "f32x2": np.uint64,
    "bf16x2": np.uint32, "e4m3x2": np.uint16, "e5m2x2": np.uint16,
    "u16x2": np.uint32, "s16x2": np.uint32, "tf32": np.uint32, "b32": np.uint32, "u32": np.uint32,
    "s32": np.int32, "f32": np.float32, "b64": np.uint64, "u64": np.uint64, "s64": np.int64,
    "f64": np.float64,
}  # fmt: skip


def implementation(op: Op) -> Function:
    """The function that implements an arithmetic operation. Raises KeyError for any other
    operation."""
    if op.name == "cvt" and fp8.concerns(op):
        return fp8.conversion(op)
    if op.name == "cvt":
        if half_conversions.concerns(op.result_types[0], op.source_types[0], op.variant):
            return half_conversions.conversion(op.result_types[0], op.source_types[0], op.variant)
        return conversion(op.result_types[0], op.source_types[0], op.variant)
    if op.name in ("setp", "set"):
        return _comparison(op)
    if op.name == "slct":
        return _flushing(_slct, op, sources=(2,))
    if op.name in _ANY_TYPE:
        return _ANY_TYPE[op.name]
    if op.name.startswith("v"):
        return _video(op)
    if op.name in ("dp4a", "dp2a"):
        return packed_integers.implementation(op)
    if op.source_types[0] in ("u16x2", "s16x2"):
        return packed_integers.pairs(op)
    if op.name.endswith("_carry"):
        return extended_precision.implementation(op)
    if op.source_types[0] in HALVES:
        return half.implementation(op)
    if is_float(op.source_types[0]):
        return _float(op)
    return _pairs_of_floats(op) if op.source_types[0] == "f32x2" else _integer(op)


def _video(op: Op) -> Function:
    mode, type_, *words = op.variant
    meaning = video.meaning(op.name, mode, (type_, *op.source_types[:2]), *words)
    bits = np.frompyfunc(lambda *operands: meaning(*operands) & 0xFFFFFFFF, len(op.sources), 1)
    return lambda *operands: bits(*(a.view(np.uint32) for a in operands)).astype(np.uint32)


def _float(op: Op) -> Function:
    function: Function
    towards = next((m for m in op.variant if m in ("rz", "rm", "rp")), "")
    if op.source_types[0] == "f64" and {"approx", "ftz"} <= set(op.variant):
        return floats.of_upper_words(op.name)
    if towards:
        function = rounding.directed(op.name, op.source_types[0], towards)
    elif op.name in ("fma", "mad"):
        function = floats.fma_f32 if op.source_types[0] == "f32" else floats.fma_f64
    elif op.name in ("min", "max"):
        function = floats.chosen(op.name, frozenset(op.variant))
    elif op.name == "div" and "approx" in op.variant:
        function = floats.approximate_quotient
    elif op.name == "testp":
        function = floats.TESTS[next(iter(op.variant))]
    else:
        function = floats.FUNCTIONS[op.name]
    if "sat" in op.variant:
        function = partial(_saturated, function)
    return _flushing(function, op)


def _pairs_of_floats(op: Op) -> Function:
    single = replace(op, result_types=("f32",), source_types=("f32",) * len(op.sources))
    function = _float(single)

    def each(*operands: Array) -> Array:
        floats_ = (np.ascontiguousarray(a).view(np.float32) for a in operands)
        return np.ascontiguousarray(function(*floats_)).view(np.uint64)

    return each


def _flushing(function: Function, op: Op, sources: tuple[int, ...] | None = None) -> Function:
    """`.ftz`: subnormal operands and results of 32-bit floats become zero of the same sign."""
    if "ftz" not in op.variant:
        return function
    which = range(len(op.source_types)) if sources is None else sources
    flushed = {i for i in which if op.source_types[i] == "f32"}

    def flushing(*operands: Array) -> Any:
        operands = tuple(floats.flush(a) if i in flushed else a for i, a in enumerate(operands))
        result = function(*operands)
        return floats.flush(result) if op.type == "f32" and op.name != "slct" else result

    return flushing


def _saturated(function: Function, *operands: Array) -> Array:
    result = function(*operands)
    clamped: Array = np.where(result > 0, np.minimum(result, result.dtype.type(1)), 0)
    return clamped.astype(result.dtype)  # NaN compares false and becomes +0


def _integer(op: Op) -> Function:
    variant = frozenset(op.variant)
    if op.name in ("mul", "mad"):
        part = next(p for p in ("lo", "hi", "wide") if p in variant)
        products: dict[str, Function] = {
            "lo": np.multiply,
            "hi": integers.multiply_high,
            "wide": integers.multiply_wide,
        }
        product = products[part]
        if op.name == "mul":
            return product
        if "sat" in variant:
            return lambda a, b, c: integers.saturated_sum(False, product(a, b), c)
        if part == "lo":
            return lambda a, b, c: a * b + c
        return lambda a, b, c: product(a, b) + c
    if op.name in ("mul24", "mad24"):
        return partial(integers.multiply_24, "hi" in variant)
    if op.name == "shf":
        return partial(integers.funnel_shift, "l" in variant, "wrap" in variant)
    if op.name == "prmt" and variant:
        return partial(integers.permute_bytes_by, op.variant[0])
    if "sat" in variant:
        return partial(integers.saturated_sum, op.name == "sub")
    if "relu" in variant:
        extreme = _INTEGER[op.name]
        return lambda a, b: np.maximum(extreme(a, b), a.dtype.type(0))
    if op.name in ("szext", "bmsk"):
        function = integers.extend if op.name == "szext" else integers.mask
        return partial(function, "wrap" in variant)
    if op.name == "bfind":
        return partial(integers.find_leading, "shiftamt" in variant)
    return _INTEGER[op.name]


def _compare_function(comparison: str) -> Function:
    less_or_greater: Function = lambda a, b: (a < b) | (a > b)  # noqa: E731
    table: dict[str, Function] = {
        "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
        "hs": np.greater_equal,
        # With a NaN, ordered comparisons, including `ne`, are false; the unordered ones (`…u`) are
        # true.
        "ne": less_or_greater,
        "neu": np.not_equal,
        "equ": lambda a, b: ~less_or_greater(a, b),
        "ltu": lambda a, b: ~(a >= b), "leu": lambda a, b: ~(a > b),
        "gtu": lambda a, b: ~(a <= b), "geu": lambda a, b: ~(a < b),
        "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
        "nan": lambda a, b: np.isnan(a) | np.isnan(b),
    }  # fmt: skip
    return table[comparison]


def _comparison(op: Op) -> Function:
    comparison = _compare_function(op.variant[0])
    if op.variant[0] == "ne" and op.source_types[0] not in (*HALVES, "f32", "f64"):
        comparison = np.not_equal
    combine: Function | None = {
        "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor
    }.get(op.variant[1] if len(op.variant) > 1 else "")  # fmt: skip
    if "ftz" in op.variant and op.source_types[0] == "f32":
        exact = comparison
        comparison = lambda a, b: exact(floats.flush(a), floats.flush(b))  # noqa: E731
    if op.source_types[0] in HALVES:
        return half.comparison(op, comparison, combine)
    if op.name == "set":
        true = np.float32(1) if op.result_types[0] == "f32" else np.uint32(0xFFFFFFFF)

        def set_(a: Array, b: Array, c: Array | None = None) -> Array:
            result = comparison(a, b)
            if combine is not None and c is not None:
                result = combine(result, c)
            return np.where(result, true, true.dtype.type(0))

        return set_
    if len(op.results) == 2:

        def both(a: Array, b: Array, c: Array | None = None) -> tuple[Array, Array]:
            result = comparison(a, b)
            if combine is None or c is None:
                return result, ~result
            return combine(result, c), combine(~result, c)

        return both
    if combine is None:
        return comparison
    joined = combine
    return lambda a, b, c: joined(comparison(a, b), c)


def _slct(a: Array, b: Array, c: Array) -> Array:
    return np.where(c >= 0, a, b)


def _lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    code = int(table.flat[0])
    out: Array | None = None
    for minterm in range(8):
        if code >> minterm & 1:
            term = a if minterm & 4 else ~a
            term = term & (b if minterm & 2 else ~b) & (c if minterm & 1 else ~c)
            out = term if out is None else out | term
    return (
        np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32) if out is None else out
    )


def _absolute_difference(a: Array, b: Array, c: Array) -> Array:
    larger, smaller = np.maximum(a, b), np.minimum(a, b)
    return larger.view(c.dtype) - smaller.view(c.dtype) + c


_ANY_TYPE: dict[str, Function] = {
    "mov": lambda a: a,
    "selp": lambda a, b, p: np.where(p, a, b),
    "pack": integers.pack,
}

_INTEGER: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "div": integers.divide, "rem": integers.remainder,
    "sad": _absolute_difference, "min": np.minimum, "max": np.maximum, "neg": np.negative,
    "abs": np.abs, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "cnot": lambda a: (a == 0).astype(a.dtype), "shl": integers.shift_left,
    "shr": integers.shift_right, "bfe": integers.field_extract, "bfi": integers.field_insert,
    "popc": lambda a: np.bitwise_count(a).astype(np.uint32), "clz": integers.leading_zeros,
    "brev": integers.reverse, "prmt": integers.permute_bytes, "lop3": _lop3,
    "fns": integers.find_nth_set,
}  # fmt: skip
