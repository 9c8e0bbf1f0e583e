"""Warpgroup MMAs (`wgmma`): matrices laid out in shared memory, and the accumulators collected.

An operand is laid out in units of 16 bytes, by the canonical layouts that the PTX ISA manual gives
for each swizzling mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from emulator_tools import ptx_kernel, run

from harness.emulator import LaunchReport, parse

RANDOM = np.random.default_rng(90)
ROWS, UNIT, ROOM = 64, 16, 16384  # rows of an MMA; bytes of a unit; bytes per operand
WIDTHS = {"none": 16, "128": 128, "64": 64, "32": 32}  # bytes of a row in a swizzle atom
MODES = {"none": 0, "128": 1, "64": 2, "32": 3}
TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8,
    "u8": np.uint8, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


@dataclass(frozen=True)
class Factor:
    """A matrix in shared memory: the bytes of its area, and its descriptor."""

    image: np.ndarray
    descriptor: int


def laid_out(matrix: np.ndarray, swizzle: str, start: int, outer: bool = False) -> Factor:
    """An operand of shape (rows or columns, depth). `outer`: whether the depth is the outer
    dimension."""
    rows, depth = matrix.shape
    width, each = WIDTHS[swizzle] // UNIT, UNIT // matrix.itemsize
    image = np.zeros(ROOM, np.uint8)
    # In units: from one group of eight to the next, and across all groups.
    stride = 8 * width * (2 if rows <= ROWS else 1)
    leading = stride * (depth // 8 if outer and width > 1 else rows // 8)
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
    """One MMA; `adds`: whether it adds to the accumulators. Parameters: images, descriptors,
    accumulators."""
    registers = ", ".join(f"%s{i}" for i in range(sums))
    a = "{%r10, %r11, %r12, %r13}" if a_in_registers else "%l1"
    newline = "\n"
    b32 = kind if kind == "f32" else "b32"
    return ptx_kernel(
        f"""
    .reg .{b32} %s<{sums}>;
    .shared .align 1024 .b8 room[{2 * ROOM}];
    ld.param.u64 %a0, [p0]; ld.param.u64 %l1, [p1]; ld.param.u64 %l2, [p2];
    mov.u32 %r1, room; shr.u32 %r2, %r1, 4; cvt.u64.u32 %l3, %r2;
    add.u64 %l1, %l1, %l3; add.u64 %l2, %l2, %l3;
    shl.b32 %r2, %i, 4; add.u32 %r1, %r1, %r2;
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
    """Distribute accumulators over the warpgroup: lane 4g + t of warp w holds rows 16w + g and 16w
    + g + 8, in columns 2t + 8i and 2t + 8i + 1."""
    columns = matrix.shape[1]
    by_lane = matrix.reshape(4, 2, 8, columns // 8, 4, 2).transpose(0, 2, 4, 3, 1, 5)
    return np.ascontiguousarray(by_lane.reshape(128, columns // 2))


def gathered(lanes: np.ndarray, columns: int) -> np.ndarray:
    by_lane = lanes.reshape(4, 8, 4, columns // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5)
    return by_lane.reshape(ROWS, columns)


def held(a: np.ndarray) -> np.ndarray:
    """A in registers: lane 4g + t of warp w holds rows 16w + g and 16w + g + 8, and words t and t +
    4."""
    words = np.ascontiguousarray(a).view(np.uint32).reshape(4, 2, 8, 2, 4)
    return np.ascontiguousarray(words.transpose(0, 2, 4, 3, 1).reshape(128, 4))


def from_ptx(text: str, given: list[Any]) -> LaunchReport:
    return run(parse(fenced(text)), "k", 1, 128, given)


def fenced(text: str) -> str:
    """The kernel with the fence that the manual requires, and which the kernels used for readings
    lack."""
    return text.replace("bar.sync 0;", "fence.proxy.async; bar.sync 0;")


def multiplied(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, types: str, *, swizzle: str = "none",
    outer: tuple[bool, bool] = (False, False), modes: str = ", 1, 1", in_registers: bool = False,
    adds: bool = True, launched: Callable[[str, list[Any]], Any] = from_ptx,
) -> tuple[np.ndarray, Any]:  # fmt: skip
    """Compute a (64 × depth) times b (depth × columns), plus c, in c's type; return the launch's
    report as well."""
    columns, depth = b.shape[1], a.shape[1]
    first = laid_out(a, swizzle, 0, outer[0])
    second = laid_out(np.ascontiguousarray(b.T), swizzle, ROOM, outer[1])
    images = np.concatenate([first.image, second.image])
    lanes = spread(c)
    words = lanes.view(np.uint32)
    kind = "f32" if c.dtype == np.float32 else "b32"
    text = kernel(f"m64n{columns}k{depth}.{types}", words.shape[1], modes, in_registers, adds, kind)
    given = [images, first.descriptor, second.descriptor, words, held(a)]
    report = launched(text, given)
    return gathered(lanes, columns), report


def random(shape: tuple[int, int], type_: str) -> np.ndarray:
    """Small numbers that every type can represent, so that sums are exact."""
    low = 0 if type_ == "u8" else -4
    return RANDOM.integers(low, 5, shape).astype(TYPES[type_])


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def modes_of(type_: str) -> str:
    return "" if type_ in ("s8", "u8") else ", 1, 1, 0, 0" if "f16" in type_ else ", 1, 1"
