"""TMA copies, each compared with a reference that copies element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from emulator_tools import run
from reference import tensors
from reference.semantics import atomic
from tensor_kernels import DONE, DUMP, FETCH, INIT, WAIT, kernel

from harness.emulator import TensorMap, parse

RANDOM = np.random.default_rng(39)


def _list(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def load(rank: int, at: Sequence[int], size: int, offsets: Sequence[int] | None = None) -> str:
    mode = "tile" if offsets is None else "im2col"
    more = "" if offsets is None else ", " + _list(offsets)
    copy = (f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}"
            f".mbarrier::complete_tx::bytes [%r2], [%l1, {_list(at)}], [%r3]{more};")  # fmt: skip
    return kernel(f"""{INIT} @%p1 bra WAITS;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size}; {copy}
        WAITS: {WAIT} {DUMP.format(size)}""")


def store(rank: int, at: Sequence[int], size: int, how: str = "cp.async.bulk.tensor",
          operation: str = "", mode: str = "tile") -> str:  # fmt: skip
    return kernel(f"""{FETCH.format(size)} @%p1 bra END;
        {how}.{rank}d.global.shared::cta{operation}.{mode}.bulk_group [%l1, {_list(at)}], [%r2];
        {DONE} END:""")


def tensor(shape: Sequence[int], dtype: Any = np.float32, gap: int = 0) -> tuple[Any, list[int]]:
    """An array of random bits that contains a tensor, and the tensor's strides."""
    size = np.dtype(dtype).itemsize
    strides = [size]
    for n in shape:
        strides.append(-(-strides[-1] * n // 16) * 16 + gap)
    raw = RANDOM.integers(0, 256, max(strides[-1], 16), np.uint8)
    return raw.view(dtype), strides[: len(shape)]


CASES = [
    ([40], [32], [1], "none", [4]), ([40], [16], [1], "none", [-8]),
    ([64, 20], [32, 16], [1, 1], "128B", [32, 8]), ([64, 20], [32, 16], [1, 1], "128B", [-4, 11]),
    ([37, 9], [16, 8], [1, 1], "64B", [24, 3]), ([37, 9], [8, 8], [1, 2], "32B", [32, -2]),
    ([24, 7, 5], [8, 3, 4], [1, 1, 1], "none", [20, 5, -1]),
    ([12, 5, 4, 3], [4, 2, 3, 2], [1, 2, 1, 1], "none", [8, 1, -1, 2]),
    ([8, 3, 4, 3, 3], [8, 2, 2, 2, 2], [1, 1, 2, 1, 1], "32B", [0, 2, 1, -1, 2]),
]  # fmt: skip
Case = tuple[list[int], list[int], list[int], str, list[int]]


def _span(swizzle: str) -> int:
    return 0 if swizzle == "none" else int(swizzle[:-1])


@pytest.mark.parametrize("case", CASES)
def test_a_tile_is_loaded_as_the_manual_says(case: Case) -> None:
    shape, box, steps, swizzle, at = case
    array, strides = tensor(shape, gap=16)
    found = tensors.places(shape, strides, box, steps, at)
    elements = tensors.loaded(array.tobytes(), found, 4, bytes(4))
    wanted = tensors.of_bytes(elements, tensors.in_shared(len(found), 4, _span(swizzle)))
    out = np.zeros(len(wanted), np.uint8)
    map_ = TensorMap(array, box, shape, strides[1:], steps=steps, swizzle=swizzle)
    run(parse(load(len(shape), at, len(wanted))), "k", 1, 32, [map_, out])
    assert (out == wanted).all()


@pytest.mark.parametrize(
    ("dtype", "element", "fill"),
    [(np.uint8, "u8", "zero"), (np.uint16, "bf16", "zero"), (np.uint16, "bf16", "nan"),
     (np.float16, "f16", "nan"), (np.int64, "s64", "zero"), (np.float64, "", "nan")],
)  # fmt: skip
def test_elements_of_each_size_and_both_fills(dtype: Any, element: str, fill: str) -> None:
    size = np.dtype(dtype).itemsize
    shape, box, at = [80 // size - 1, 6], [64 // size, 4], [48 // size, 4]
    array, strides = tensor(shape, dtype)
    found = tensors.places(shape, strides, box, [1, 1], at)
    nan = b"\xf7\x7f" * (size // 2)
    elements = tensors.loaded(array.tobytes(), found, size, nan if fill == "nan" else bytes(size))
    wanted = tensors.of_bytes(elements, tensors.in_shared(len(found), size, 0))
    out = np.zeros(len(wanted), np.uint8)
    map_ = TensorMap(array, box, shape, strides[1:], element, fill=fill)
    run(parse(load(2, at, len(wanted))), "k", 1, 32, [map_, out])
    assert (out == wanted).all()


@pytest.mark.parametrize("case", CASES)
def test_a_tile_is_stored_but_for_what_lies_outside(case: Case) -> None:
    shape, box, steps, swizzle, at = case
    at = [max(0, each) for each in at]
    array, strides = tensor(shape, gap=16)
    found = tensors.places(shape, strides, box, steps, at)
    given = RANDOM.integers(0, 256, 4 * len(found), np.uint8)
    wanted = array.copy().view(np.uint8)
    for place, start in zip(found, tensors.in_shared(len(found), 4, _span(swizzle)), strict=True):
        if place is not None:
            wanted[place : place + 4] = given[start : start + 4]
    map_ = TensorMap(array, box, shape, strides[1:], steps=steps, swizzle=swizzle)
    run(parse(store(len(shape), at, len(given))), "k", 1, 32, [map_, given])
    assert (array.view(np.uint8) == wanted).all()


IM2COL = [
    ([16, 10, 3], [8, 7], [-1], [-1], [1, 1, 1], [4, 2, 1], [2]),
    ([8, 7, 6, 3], [8, 30], [-1, -1], [-1, -1], [1, 1, 1, 1], [0, -1, 2, 0], [2, 1]),
    ([12, 9, 8, 2], [8, 20], [-1, 0], [0, -2], [1, 2, 3, 1], [8, 3, 3, 1], [0, 2]),
    (
        [8, 5, 4, 3, 2],
        [8, 40],
        [0, -1, -1],
        [-1, 0, 0],
        [1, 1, 1, 2, 1],
        [0, 1, 0, 1, 0],
        [1, 1, 0],
    ),
]


@pytest.mark.parametrize("case", IM2COL)
@pytest.mark.parametrize("stores", [False, True])
def test_columns_of_pixels(case: tuple[list[int], ...], stores: bool) -> None:
    shape, (channels, count), lower, upper, steps, at, offsets = case
    array, strides = tensor(shape)
    if stores:  # no GPU stores with a negative corner
        at = [at[0], *(a - min(0, low) for a, low in zip(at[1:], lower, strict=False)), at[-1]]
        lower, offsets = [max(0, each) for each in lower], [0] * len(offsets)
    found = tensors.pixels(shape, strides, channels, count, lower, upper, steps, at, offsets)
    map_ = TensorMap(array, (channels, count), shape, strides[1:], steps=steps, lower=lower,
                     upper=upper,
                     swizzle="32B")  # fmt: skip
    where = tensors.in_shared(len(found), 4, 32)
    if stores:
        given, wanted = (
            RANDOM.integers(0, 256, 4 * len(found), np.uint8),
            array.copy().view(np.uint8),
        )
        for place, start in zip(found, where, strict=True):
            if place is not None:
                wanted[place : place + 4] = given[start : start + 4]
        text = store(len(shape), at, len(given), mode="im2col_no_offs")
        run(parse(text), "k", 1, 32, [map_, given])
        assert (array.view(np.uint8) == wanted).all()
        return
    wanted = tensors.of_bytes(tensors.loaded(array.tobytes(), found, 4, bytes(4)), where)
    out = np.zeros(len(wanted), np.uint8)
    run(parse(load(len(shape), at, len(wanted), offsets)), "k", 1, 32, [map_, out])
    assert (out == wanted).all()


@pytest.mark.parametrize(
    ("operation", "element", "dtype"),
    [(o, t, d) for t, d in (("u32", np.uint32), ("s32", np.int32), ("u64", np.uint64),
                            ("s64", np.int64))
     for o in ("add", "min", "max", "and", "or", "xor")]
    + [("inc", "u32", np.uint32), ("dec", "u32", np.uint32)],
)  # fmt: skip
def test_tiles_reduce_as_by_an_atomic_each(operation: str, element: str, dtype: Any) -> None:
    size = np.dtype(dtype).itemsize
    array, strides = tensor([20, 6], dtype)
    box, at = [64 // size, 4], [16 // size, 3]
    found = tensors.places([20, 6], strides, box, [1, 1], at)
    given = RANDOM.integers(0, 256, size * len(found), np.uint8)
    values, wanted = given.view(f"u{size}").tolist(), array.copy().view(f"u{size}")
    bits = f"{'b' if operation in ('and', 'or', 'xor') else element[0]}{8 * size}"
    for place, value in zip(found, values, strict=True):
        if place is not None:
            wanted[place // size] = atomic(operation, bits, int(wanted[place // size]), value)
    map_ = TensorMap(array, box, [20, 6], strides[1:], element)
    text = store(2, at, len(given), "cp.reduce.async.bulk.tensor", f".{operation}")
    run(parse(text), "k", 1, 32, [map_, given])
    assert (array.view(f"u{size}") == wanted).all()


@pytest.mark.parametrize(
    ("dtype", "element"), [(np.float32, "f32"), (np.float64, "f64"), (np.float16, "f16")]
)
def test_tiles_of_floats_are_added(dtype: Any, element: str) -> None:
    array = RANDOM.integers(-9, 9, (4, 32)).astype(dtype)
    given = RANDOM.integers(-9, 9, (4, 16)).astype(dtype)
    wanted = array.copy()
    wanted[:3, 16:] += given[:3]
    map_ = TensorMap(array, [16, 4], [32, 3], element=element)
    text = store(2, [16, 0], given.nbytes, "cp.reduce.async.bulk.tensor", ".add")
    run(parse(text), "k", 1, 32, [map_, given.reshape(-1).view(np.uint8)])
    assert (array == wanted).all()
