"""`wgmma`: every type, layout and swizzle of its factors, against matmul in doubles.

A factor is laid out here in units of 16 bytes, by the canonical layouts that the PTX ISA manual
gives for each swizzling mode.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from emulator_tools import find_nvcc, ptx_kernel, run

from harness.emulator import LaunchReport, UnknownInstruction, launch, parse

RANDOM = np.random.default_rng(90)
ROWS, UNIT, ROOM = 64, 16, 16384  # of a warpgroup's product; bytes; for each factor
WIDTHS = {"none": 16, "128": 128, "64": 64, "32": 32}  # bytes of a row in a swizzle atom
MODES = {"none": 0, "128": 1, "64": 2, "32": 3}
TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8,
    "u8": np.uint8, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


@dataclass(frozen=True)
class Factor:
    """A matrix in shared memory: its bytes from the start of its room, and its descriptor."""

    image: np.ndarray
    descriptor: int


def laid_out(matrix: np.ndarray, swizzle: str, start: int, outer: bool = False) -> Factor:
    """A factor of shape (rows or columns, depth). outer: the depth is the outer dimension."""
    rows, depth = matrix.shape
    width, each = WIDTHS[swizzle] // UNIT, UNIT // matrix.itemsize
    image = np.zeros(ROOM, np.uint8)
    # In units: between groups of eight, and what lies beside or behind all of those.
    stride = 8 * width * (2 if rows <= ROWS else 1)
    leading = stride * (2 if outer and width > 1 else rows // 8)
    for row in range(0, rows, each if outer else 1):
        for place in range(0, depth, 1 if outer else each):
            chunk = row // each if outer else place // each
            across, group = (place % 8, place // 8) if outer else (row % 8, row // 8)
            if width > 1:
                unit = across * width + group * stride + chunk % width + chunk // width * leading
            elif outer:
                unit = across + group * leading + chunk * stride
            else:
                unit = across + group * stride + chunk * leading
            unit ^= unit >> 3 & width - 1
            values = matrix[row : row + each, place] if outer else matrix[row, place : place + each]
            held = np.ascontiguousarray(values).view(np.uint8)
            image[UNIT * unit : UNIT * (unit + 1)] = held
    return Factor(image, start >> 4 | leading << 16 | stride << 32 | MODES[swizzle] << 62)


def kernel(
    shape: str, sums: int, modes: str, a_in_registers: bool = False, adds: bool = True,
    kind: str = "f32",
) -> str:  # fmt: skip
    """One product; `adds`: to what the sums were. Parameters: images, descriptors, sums."""
    registers = ", ".join(f"%s{i}" for i in range(sums))
    a = "{%r10, %r11, %r12, %r13}" if a_in_registers else "%l1"
    newline = "\n"
    b32 = kind if kind == "f32" else "b32"
    return ptx_kernel(
        f"""
    .reg .{b32} %s<{sums}>;
    .shared .align 1024 .b8 room[{2 * ROOM}];
    ld.param.u64 %a0, [p0]; ld.param.u64 %l1, [p1]; ld.param.u64 %l2, [p2];
    mov.u32 %r1, room; shl.b32 %r2, %i, 4; add.u32 %r1, %r1, %r2;
    mad.wide.u32 %a1, %i, 16, %a0;
    mov.u32 %r3, 0;
again:
    ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%a1];
    st.shared.v4.u32 [%r1], {{%r4, %r5, %r6, %r7}};
    add.u32 %r1, %r1, 2048; add.u64 %a1, %a1, 2048; add.u32 %r3, %r3, 2048;
    setp.lt.u32 %p1, %r3, {2 * ROOM};
    @%p1 bra again;
    ld.param.u64 %a2, [p3]; mad.wide.u32 %a2, %i, {4 * sums}, %a2;
    {newline.join(f"ld.global.{b32} %s{i}, [%a2+{4 * i}];" for i in range(sums))}
    ld.param.u64 %a3, [p4]; mad.wide.u32 %a3, %i, 16, %a3;
    ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%a3];
    setp.{"eq" if adds else "ne"}.u32 %p2, %r3, %r3;
    bar.sync 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.{shape} {{{registers}}}, {a}, %l2, %p2{modes};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    {newline.join(f"st.global.{b32} [%a2+{4 * i}], %s{i};" for i in range(sums))}""",
        ["u64"] * 5,
    ).replace(".version 8.0\n.target sm_90", ".version 8.4\n.target sm_90a")


def spread(matrix: np.ndarray) -> np.ndarray:
    """Sums over the warpgroup: lane 4g + t of warp w has rows 16w + g and + 8, columns 2t + 8i."""
    columns = matrix.shape[1]
    by_lane = matrix.reshape(4, 2, 8, columns // 8, 4, 2).transpose(0, 2, 4, 3, 1, 5)
    return np.ascontiguousarray(by_lane.reshape(128, columns // 2))


def gathered(lanes: np.ndarray, columns: int) -> np.ndarray:
    by_lane = lanes.reshape(4, 8, 4, columns // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5)
    return by_lane.reshape(ROWS, columns)


def held(a: np.ndarray) -> np.ndarray:
    """A in registers: lane 4g + t of warp w has rows 16w + g and + 8, words t and t + 4."""
    words = np.ascontiguousarray(a).view(np.uint32).reshape(4, 2, 8, 2, 4)
    return np.ascontiguousarray(words.transpose(0, 2, 4, 3, 1).reshape(128, 4))


def multiplied(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, types: str, *, swizzle: str = "none",
    outer: tuple[bool, bool] = (False, False), modes: str = ", 1, 1", in_registers: bool = False,
    adds: bool = True,
) -> tuple[np.ndarray, LaunchReport]:  # fmt: skip
    """a (64 × depth) times b (depth × columns), plus c, in c's type."""
    columns, depth = b.shape[1], a.shape[1]
    first = laid_out(a, swizzle, 0, outer[0])
    second = laid_out(np.ascontiguousarray(b.T), swizzle, ROOM, outer[1])
    images = np.concatenate([first.image, second.image])
    lanes = spread(c)
    words = lanes.view(np.uint32)
    kind = "f32" if c.dtype == np.float32 else "b32"
    text = kernel(f"m64n{columns}k{depth}.{types}", words.shape[1], modes, in_registers, adds, kind)
    given = [images, first.descriptor, second.descriptor, words, held(a)]
    report = run(parse(text), "k", 1, 128, given)
    return gathered(lanes, columns), report


def random(shape: tuple[int, int], type_: str) -> np.ndarray:
    """Small numbers that every type has, so that sums are exact."""
    low = 0 if type_ == "u8" else -4
    return RANDOM.integers(low, 5, shape).astype(TYPES[type_])


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


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
    found, _ = multiplied(a, b, c, types, swizzle=swizzle, modes=_modes(a_type))
    assert (found.astype(np.float64) == exact(a, b) + c).all()


def _modes(type_: str) -> str:
    return "" if type_ in ("s8", "u8") else ", 1, 1, 0, 0" if "f16" in type_ else ", 1, 1"


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
    modes = _modes(type_).replace(", 0, 0", ", 0")
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
    found, _ = multiplied(a, b, c, "f32.f16.f16", modes=_modes("f16"), adds=False)
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
    found, _ = multiplied(a, b, c, "f32.f16.f16", swizzle="32", modes=_modes("f16"))
    np.testing.assert_allclose(found, exact(a, b) + c, rtol=1e-6, atol=1e-7)


def test_its_operations_are_counted_and_its_reads_of_shared_memory_are_not() -> None:
    a, b = random((ROWS, 16), "f16"), random((16, 64), "f16")
    c = np.zeros((ROWS, 64), np.float32)
    _, report = multiplied(a, b, c, "f32.f16.f16", modes=_modes("f16"))
    assert report.counter("flops_tensor").value == 2 * 64 * 64 * 16
    assert report.counter("shared_ld_instructions").value == 0
    (product,) = (each for each in report.instructions if "mma_async" in each.opcode)
    assert (product.warps, product.shared_wavefronts) == (4, 0)


def test_a_factor_that_other_warps_are_still_writing_is_a_race() -> None:
    text = kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0").replace("bar.sync 0;", "")
    (fault,) = launch(parse(text), "k", 1, 128, _zeros(second_at=ROOM)).faults
    assert fault.kind == "race"


def test_a_descriptor_that_leads_out_of_shared_memory_is_a_fault() -> None:
    text = kernel("m64n8k16.f32.f16.f16", 4, ", 1, 1, 0, 0")
    (fault,) = launch(parse(text), "k", 1, 128, _zeros(second_at=3 * ROOM)).faults
    assert fault.kind == "out of bounds"
    assert "shared memory" in fault.message


def _zeros(second_at: int) -> list[object]:
    """The parameters of a product of zeros whose second factor is there."""
    image, sums, words = (np.zeros(count, np.uint32) for count in (ROOM // 2, 512, 512))
    return [image, 0, second_at >> 4, sums, words]


@pytest.mark.parametrize(
    ("shape", "sums", "modes"),
    [
        ("m64n20k16.f32.f16.f16", 10, ", 1, 1, 0, 0"),  # 20 columns
        ("m64n264k16.f32.f16.f16", 132, ", 1, 1, 0, 0"),
        ("m64n40k32.s32.s8.s8", 20, ""),  # integers have fewer widths
        ("m64n8k8.f32.f16.f16", 4, ", 1, 1, 0, 0"),  # not as deep
        ("m64n8k16.f32.f16.bf16", 4, ", 1, 1, 0, 0"),
        ("m64n8k16.bf16.bf16.bf16", 2, ", 1, 1, 0, 0"),
        ("m64n8k16.f32.f16.f16.satfinite", 4, ", 1, 1, 0, 0"),
        ("m64n8k16.f32.f16.f16", 4, ", 1, 1"),  # no transpositions
        ("m64n8k8.f32.tf32.tf32", 4, ", 1, 1, 0, 1"),  # which others do not have
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
    command = [find_nvcc(), "-cubin", "-arch=sm_90a", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
