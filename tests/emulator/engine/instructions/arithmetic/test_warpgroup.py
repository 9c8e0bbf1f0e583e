"""`wgmma`: every type, layout and swizzle of its operands, compared with matmul in double
precision."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from emulator_tools import assemble
from warpgroup_products import (
    RANDOM,
    ROOM,
    ROWS,
    TYPES,
    WIDTHS,
    exact,
    fenced,
    from_ptx,
    kernel,
    modes_of,
    multiplied,
    random,
)

from harness.emulator import LaunchReport, UnknownInstruction, launch, parse


@pytest.mark.parametrize("swizzle", WIDTHS)
@pytest.mark.parametrize(
    ("types", "depth", "sums"),
    [("f32.f16.f16", 16, "f4"), ("f16.f16.f16", 16, "f2"), ("f32.bf16.bf16", 16, "f4"),
     ("f32.tf32.tf32", 8, "f4"), ("f32.e4m3.e5m2", 32, "f4"), ("f16.e5m2.e5m2", 32, "f2"),
     ("s32.s8.s8", 32, "i4"), ("s32.u8.s8", 32, "i4")],
)  # fmt: skip
def test_factors_of_every_type_are_found_in_every_swizzle(types, depth, sums, swizzle) -> None:
    _, a_type, b_type = types.split(".")
    a, b = random((ROWS, depth), a_type), random((depth, 24), b_type)
    c = RANDOM.integers(-50, 50, (ROWS, 24)).astype(sums)
    found, _ = multiplied(a, b, c, types, swizzle=swizzle, modes=modes_of(a_type))
    assert (found.astype(np.float64) == exact(a, b) + c).all()


@pytest.mark.parametrize("swizzle", WIDTHS)
@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("outer", [(True, False), (False, True), (True, True)])
def test_halves_may_have_the_depth_outside(type_, outer, swizzle) -> None:
    a, b = random((ROWS, 16), type_), random((16, 72), type_)
    c = RANDOM.integers(-50, 50, (ROWS, 72)).astype(np.float32)
    modes = f", 1, 1, {int(outer[0])}, {int(outer[1])}"
    found, _ = multiplied(
        a, b, c, f"f32.{type_}.{type_}", swizzle=swizzle, outer=outer, modes=modes
    )
    assert (found == exact(a, b) + c).all()


@pytest.mark.parametrize("type_", ["f16", "tf32", "e4m3", "s8"])
def test_the_first_factor_may_be_in_registers(type_) -> None:
    depth = 32 // np.dtype(TYPES[type_]).itemsize
    a, b = random((ROWS, depth), type_), random((depth, 32), type_)
    sum_ = "s32" if type_ == "s8" else "f32"
    c = np.zeros((ROWS, 32), np.int32 if type_ == "s8" else np.float32)
    modes = modes_of(type_).replace(", 0, 0", ", 0")
    found, _ = multiplied(a, b, c, f"{sum_}.{type_}.{type_}", modes=modes, in_registers=True)
    assert (found == exact(a, b)).all()


def test_the_widest_product_has_256_columns() -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 256), "f16")
    c = np.ones((ROWS, 256), np.float32)
    found, _ = multiplied(a, b, c, "f32.f16.f16", outer=(False, True), swizzle="128",
                          modes=", 1, 1, 0, 1")  # fmt: skip
    assert (found == exact(a, b) + 1).all()


@pytest.mark.parametrize(("modes", "sign"), [("-1, 1", -1), ("1, -1", -1), ("-1, -1", 1)])
@pytest.mark.parametrize("type_", ["f16", "tf32", "e5m2"])
def test_a_scale_of_minus_one_negates_a_factor(type_, modes, sign) -> None:
    depth = 32 // np.dtype(TYPES[type_]).itemsize
    a, b = random((ROWS, depth), type_), random((depth, 8), type_)
    c = np.ones((ROWS, 8), np.float32)
    rest = ", 0, 0" if type_ == "f16" else ""
    found, _ = multiplied(a, b, c, f"f32.{type_}.{type_}", modes=f", {modes}{rest}")
    assert (found == sign * exact(a, b) + 1).all()


def test_sums_that_were_there_are_left_out_where_the_predicate_is_off() -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 8), "f16")
    c = np.full((ROWS, 8), np.nan, np.float32)
    found, _ = multiplied(a, b, c, "f32.f16.f16", modes=modes_of("f16"), adds=False)
    assert (found == exact(a, b)).all()


@pytest.mark.parametrize("adds", [0, 1])
def test_whether_sums_are_added_may_be_a_number(adds: int) -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 8), "f16")
    c = np.ones((ROWS, 8), np.float32)
    found, _ = multiplied(
        a, b, c, "f32.f16.f16", modes=modes_of("f16"),
        launched=lambda text, given: from_ptx(text.replace(", %p2,", f", {adds},"), given),
    )  # fmt: skip
    assert (found == exact(a, b) + adds).all()


def test_registers_of_sums_that_nothing_wrote_are_no_concern_where_they_are_left_out() -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 8), "f16")

    def launched(text: str, given: list[object]) -> LaunchReport:
        text = re.sub(r"ld\.global\.f32 %s\d+, .*;", "", text.replace(", %p2,", ", 0,"))
        return from_ptx(text, given)

    found, _ = multiplied(
        a, b, np.ones((ROWS, 8), np.float32), "f32.f16.f16", modes=modes_of("f16"),
        launched=launched,
    )  # fmt: skip
    assert (found == exact(a, b)).all()


def test_integer_sums_saturate_where_asked() -> None:
    a, b = np.full((ROWS, 32), 127, np.int8), np.full((32, 8), 127, np.int8)
    c = np.full((ROWS, 8), 2**31 - 5, np.int32)
    clamped, _ = multiplied(a, b, c, "s32.s8.s8.satfinite", modes="")
    assert (clamped == 2**31 - 1).all()
    wrapped, _ = multiplied(a, b, c, "s32.s8.s8", modes="")
    assert (wrapped == 2**31 - 5 + 32 * 127 * 127 - 2**32).all()


def test_sums_of_random_halves_are_within_a_rounding() -> None:
    a, b = (RANDOM.standard_normal(s).astype(np.float16) for s in ((ROWS, 16), (16, 64)))
    c = RANDOM.standard_normal((ROWS, 64)).astype(np.float32)
    found, _ = multiplied(a, b, c, "f32.f16.f16", swizzle="32", modes=modes_of("f16"))
    np.testing.assert_allclose(found, exact(a, b) + c, rtol=1e-6, atol=1e-7)


def test_its_operations_are_counted_and_its_reads_of_shared_memory_are_not() -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 64), "f16")
    c = np.zeros((ROWS, 64), np.float32)
    _, report = multiplied(a, b, c, "f32.f16.f16", modes=modes_of("f16"))
    assert report.counter("flops_tensor").value == 2 * 64 * 64 * 16
    assert report.counter("shared_ld_instructions").value == 0
    (product,) = (each for each in report.instructions if "mma_async" in each.opcode)
    assert (product.warps, product.shared_wavefronts) == (4, 0)


def test_a_factor_that_other_warps_are_still_writing_is_a_race() -> None:
    text = kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0").replace("bar.sync 0;", "")
    (fault,) = launch(parse(text), "k", 1, 128, _zeros(second_at=ROOM)).faults
    assert fault.kind == "race"


def test_a_factor_that_no_proxy_fence_shows_to_products_is_a_race() -> None:
    text = kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0")
    (fault,) = launch(parse(text), "k", 1, 128, _zeros(second_at=ROOM)).faults
    assert fault.kind == "race"
    assert "wgmma reads" in fault.message
    assert "with no fence.proxy.async in between" in fault.message


@pytest.mark.parametrize("left", ["-1", "0.0"])
def test_a_wait_for_what_is_no_number_of_groups_is_refused(left: str) -> None:
    text = kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0")
    text = text.replace("wait_group.sync.aligned 0;", f"wait_group.sync.aligned {left};")
    with pytest.raises(UnknownInstruction, match="groups"):
        launch(parse(text), "k", 1, 128, _zeros(second_at=ROOM))


def test_a_descriptor_that_leads_out_of_shared_memory_is_a_fault() -> None:
    text = fenced(kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0"))
    (fault,) = launch(parse(text), "k", 1, 128, _zeros(second_at=3 * ROOM)).faults
    assert fault.kind == "out of bounds"
    assert "shared memory" in fault.message


def _zeros(second_at: int) -> list[object]:
    """The parameters of an MMA of zeros whose second operand is at the given address."""
    image, sums, words = (np.zeros(count, np.uint32) for count in (ROOM // 2, 512, 512))
    return [image, 0, second_at >> 4, sums, words]


@pytest.mark.parametrize(
    ("shape", "sums", "modes"),
    [
        ("m64n20k16.f32.f16.f16", 10, ", 1, 1, 0, 0"),  # 20 columns
        ("m64n264k16.f32.f16.f16", 132, ", 1, 1, 0, 0"),
        ("m64n40k32.s32.s8.s8", 20, ""),  # integers allow fewer widths
        ("m64n8k8.f32.f16.f16", 4, ", 1, 1, 0, 0"),  # too shallow
        ("m64n8k16.f32.f16.bf16", 4, ", 1, 1, 0, 0"),
        ("m64n8k16.bf16.bf16.bf16", 2, ", 1, 1, 0, 0"),
        ("m64n8k16.f32.f16.f16.satfinite", 4, ", 1, 1, 0, 0"),
        ("m64n8k16.f32.f16.f16", 4, ", 1, 1"),  # the transposition flags are missing
        ("m64n8k8.f32.tf32.tf32", 4, ", 1, 1, 0, 1"),  # only 16-bit types have such flags
        ("m64n8k32.s32.s8.s8", 4, ", 1, 1"),
        ("m64n8k16.f32.f16.f16", 4, ", 2, 1, 0, 0"),
        ("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 2"),
        ("m64n16k16.f32.f16.f16", 4, ", 1, 1, 0, 0"),  # too few sums
        ("m128n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0"),
        ("sp.m64n8k32.f32.f16.f16", 4, ", 1, 1, 0, 0"),
        ("satfinite", 4, ", 1, 1, 0, 0"),
    ],
)
def test_forms_that_do_not_exist_are_refused(shape: str, sums: int, modes: str) -> None:
    text = kernel(shape, sums, modes)
    with pytest.raises(UnknownInstruction, match="wgmma"):
        launch(parse(text), "k", 1, 128, [np.zeros(2 * ROOM, np.uint8), 0, 0, np.zeros(128 * sums),
                                          np.zeros(512, np.uint32)])  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "sums", "modes", "kind"),
    [("m64n24k16.f32.f16.f16", 12, ", 1, 1, 0, 1", "f32"),
     ("m64n24k16.f16.f16.f16", 6, ", -1, 1, 0, 0", "b32"),
     ("m64n8k8.f32.tf32.tf32", 4, ", 1, 1", "f32"),
     ("m64n8k32.f16.e4m3.e5m2", 2, ", 1, 1", "b32"),
     ("m64n32k32.s32.u8.s8.satfinite", 16, "", "b32")],
)  # fmt: skip
def test_the_assembler_accepts_what_is_tried_here(
    tmp_path: Path, shape: str, sums: int, modes: str, kind: str
) -> None:
    source = tmp_path / "k.ptx"
    source.write_text(kernel(shape, sums, modes, kind=kind))
    assert assemble(source, tmp_path / "k.cubin", "sm_90a").exists()
