"""`wgmma` with a sparse first operand, from PTX and from machine code, in every layout of its
operands, compared with the product of the matrix that the metadata describe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sass.asynchronous.both import Both, Case, launched, together
from warpgroup_products import (
    RANDOM,
    ROOM,
    ROWS,
    exact,
    fenced,
    gathered,
    held,
    kernel,
    laid_out,
    random,
    spread,
)

from harness.emulator import launch, parse

COLUMNS, SUMS = 24, 12
FORMS = {
    "f16": ("m64n24k32.f32.f16.f16", 1, ", 1, 1, 0, 0"),
    "f16_outer": ("m64n24k32.f32.f16.f16", 0, ", 1, 1, 1, 1"),
    "tf32": ("m64n24k16.f32.tf32.tf32", 1, ", 1, 1"),
    "s8": ("m64n24k64.s32.s8.u8", 0, ""),
    "f16_minus_a": ("m64n24k32.f32.f16.f16", 0, ", -1, 1, 0, 0"),
    "f16_minus_b": ("m64n24k32.f32.f16.f16", 1, ", 1, -1, 0, 0"),
    "f16_minus_both": ("m64n24k32.f32.f16.f16", 1, ", -1, -1, 0, 0"),
    "f16_outer_minus_b": ("m64n24k32.f32.f16.f16", 0, ", 1, -1, 1, 1"),
    "tf32_minus_a": ("m64n24k16.f32.tf32.tf32", 0, ", -1, 1"),
    "f16_registers_minus_a": ("m64n24k32.f32.f16.f16", 1, ", -1, 1, 0"),
    "tf32_registers_minus_b": ("m64n24k16.f32.tf32.tf32", 1, ", 1, -1"),
}
"""Form → its shape and types, the selector, and the operands after the predicate."""


def _text(form: str) -> str:
    shape, selector, modes = FORMS[form]
    kind = "s32" if form == "s8" else "f32"
    in_registers = "registers" in form
    text = fenced(kernel(shape, SUMS, modes, in_registers, kind=kind))
    metadata = "%r14" if in_registers else "%r10"
    changes = [("mma_async.", "mma_async.sp."), (" %l2, %p2", f" %l2, {metadata}, {selector}, %p2")]
    if in_registers:
        loads = "[%a3];\n"
        changes.append((loads, f"{loads}    ld.global.u32 %r14, [%a3+2048];\n"))
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def _case(form: str, arguments: list[Any]) -> Case:
    return Case(form, _text(form), lambda: arguments, block=128)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return together([_case(form, []) for form in FORMS], tmp_path_factory.mktemp("sparse"))


def _nibbles(form: str, selector: int, words: np.ndarray) -> np.ndarray:
    """The metadata of each row, four bits at a time, as the PTX ISA's figures show: the metadata of
    a 512-bit row are in two words of four lanes or, for bytes, in one word for every eight
    rows."""
    bits = (words[:, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(4, 8, 4, 8)
    if form == "s8":  # warp, row, lane, nibble: lanes 0 and 2 have rows 0 to 7, 1 and 3 the others
        halves = bits.reshape(4, 8, 2, 2, 8).transpose(0, 3, 1, 2, 4)
        return halves.reshape(ROWS, 16)
    pair = bits[:, :, 2 * selector : 2 * selector + 2].reshape(4, 8, 2, 2, 4)
    return pair.transpose(0, 3, 1, 2, 4).reshape(ROWS, 8)


def _given(form: str, swizzle: str) -> tuple[list[Any], np.ndarray]:
    """The kernel's arguments, and the expected sums."""
    type_, selector = form.partition("_")[0], FORMS[form][1]
    stored = 32 // np.dtype({"f16": np.float16, "tf32": np.float32, "s8": np.int8}[type_]).itemsize
    a = random((ROWS, stored), type_)
    b = random((2 * stored, COLUMNS), "u8" if form == "s8" else type_)
    valid = np.array([0x4, 0xE] if type_ == "tf32" else [4, 8, 9, 12, 13, 14], np.uint32)
    drawn = RANDOM.choice(valid, (128, 8)) << np.arange(0, 32, 4, dtype=np.uint32)
    words = drawn.sum(-1).astype(np.uint32)
    nibbles = _nibbles(form, selector, words).astype(np.int64)
    if type_ == "tf32":
        places = 2 * np.arange(8) + (nibbles == 0xE)
    else:
        pairs = np.stack([nibbles & 3, nibbles >> 2], -1)
        places = (4 * np.arange(pairs.shape[1])[:, None] + pairs).reshape(ROWS, stored)
    whole = np.zeros((ROWS, 2 * stored), a.dtype)
    np.put_along_axis(whole, places, a, axis=1)
    c = RANDOM.integers(-50, 50, (ROWS, COLUMNS)).astype("i4" if form == "s8" else "f4")
    outer = "outer" in form
    first = laid_out(a, swizzle, 0, outer)
    second = laid_out(np.ascontiguousarray(b.T), swizzle, ROOM, outer)
    metadata = np.zeros((128, 4), np.uint32)
    metadata[:, 0] = words
    if "registers" in form:  # before them, the first operand's words
        metadata = np.concatenate([held(a), metadata])
    images = np.concatenate([first.image, second.image])
    sums = spread(c).view(np.uint32)
    sign = -1 if "minus" in form and "both" not in form else 1
    wanted = sign * exact(whole, b) + c
    return [images, first.descriptor, second.descriptor, sums, metadata], wanted


@pytest.mark.parametrize(
    ("form", "swizzle"),
    [("f16", "none"), ("f16", "64"), ("f16", "128"), ("f16_outer", "none"), ("f16_outer", "32"),
     ("f16_outer", "128"), ("tf32", "64"), ("s8", "128"), ("s8", "none"),
     *((form, "64") for form in FORMS if "minus" in form)],
)  # fmt: skip
def test_a_sparse_factor_multiplies_what_its_metadata_name(
    both: Both, form: str, swizzle: str
) -> None:
    arguments, wanted = _given(form, swizzle)
    ptx, code, theirs, ours = launched(both, _case(form, arguments))
    for report, given in ((ptx, theirs), (code, ours)):
        assert not report.faults, report.faults[0]
        sums = given[3].view(np.int32 if form == "s8" else np.float32)
        assert np.array_equal(gathered(sums, COLUMNS), wanted)


def test_rows_that_their_descriptor_describes_by_half_are_a_fault(both: Both) -> None:
    arguments, _ = _given("f16", "64")
    arguments[2] |= 3 << 62
    ptx, code, *_ = launched(both, _case("f16", arguments))
    for report in (ptx, code):
        (fault,) = report.faults
        assert (fault.kind, "rows of 64 bytes" in fault.message) == ("wgmma", True)


@pytest.mark.parametrize(("drops", "kind"), [
    ("wgmma.wait_group.sync.aligned 0;", "wgmma"), ("wgmma.fence.sync.aligned;", "wgmma"),
    ("fence.proxy.async;", "race"), ("bar.sync 0;", "race"),
])  # fmt: skip
def test_what_a_dense_product_has_to_wait_for_a_sparse_one_has_too(drops: str, kind: str) -> None:
    arguments, _ = _given("f16", "none")
    text = _text("f16")
    assert drops in text
    (fault,) = launch(parse(text.replace(drops, "")), "k", 1, 128, arguments).faults
    assert fault.kind == kind
