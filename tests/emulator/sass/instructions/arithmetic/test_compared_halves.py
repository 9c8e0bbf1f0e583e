"""Comparisons of halves: machine code and PTX agree on every pair of unusual values."""

from __future__ import annotations

import numpy as np
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

NAMES = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = tuple(f"{name}u" for name in NAMES)
BODY = "\n".join(
    f"""
    r = __h{name}2(x, y); *o++ = *(unsigned*)&r;
    *o++ = __h{name}2_mask(x, y);
    *o++ = __hb{name}2(x, y);
    *o++ = __h{name}(__low2{{half}}(x), __high2{{half}}(y)) && a[n + i] != 0;"""
    for name in (*NAMES, *UNORDERED)
)
KERNEL = """
extern "C" __global__ void {name}(const unsigned* a, unsigned* out, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const {pair} x = *({pair}*)&a[i], y = __habs2(*({pair}*)&a[n + i]);
    {pair} r;
    unsigned* o = out + i * RESULTS;
    {body}
    r = __hisnan2(x); *o++ = *(unsigned*)&r;
    *o++ = __hlt(__high2{half}(x), __float2{type}(3.0f)) || __hisnan(__low2{half}(y));
}}"""
RESULTS = 4 * len((*NAMES, *UNORDERED)) + 2
FLUSHED = """
extern "C" __global__ void flushed(const unsigned* a, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned r;
    asm("{.reg .pred p, q; .reg .b32 z; setp.lt.ftz.f16x2 p|q, %1, %2; selp.u32 %0, 1, 0, p;"
        "selp.u32 z, 2, 0, q; or.b32 %0, %0, z;}" : "=r"(r) : "r"(a[i]), "r"(a[n + i]));
    out[i * RESULTS] = r;
    asm("set.ge.ftz.u32.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a[i]), "r"(a[n + i]));
    out[i * RESULTS + 1] = r;
}"""
SOURCE = f"#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#define RESULTS {RESULTS}\n" + "".join(
    KERNEL.format(
        name=name, pair=pair, half=half, type=type_, body=BODY.replace("{half}", half)
    )
    for name, pair, half, type_ in (
        ("halves", "__half2", "half", "half"),
        ("brains", "__nv_bfloat162", "bfloat16", "bfloat16"),
    )
) + FLUSHED  # fmt: skip

HALVES = np.array(
    [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x80, 0x7F, 0x3C00, 0xBC00, 0x4200, 0x4040, 0x7BFF, 0x7C00,
     0xFC00, 0x7C01, 0xFE00, 0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0x7FFF, 0xFFFF, 0x3F80], np.uint32,
)  # fmt: skip


def test_both_front_ends_compare_halves_alike(
    read_source: ReadSource, compile_ptx: CompilePtx
) -> None:
    x, y = (each.ravel() for each in np.meshgrid(HALVES, HALVES))
    values = np.concatenate([x | y << 16, (y | x << 16)])
    count = len(x)
    code, module = read_source(SOURCE), compile_ptx(SOURCE)
    names = {i.name for function in code.functions.values() for i in function.instructions}
    assert {"HSET2.EQ.AND", "HSET2.BF.GEU.AND", "HSET2.BF16_V2.LTU.AND", "HSETP2.GT.AND",
            "HSETP2.BF16_V2.GT.AND"} <= names  # fmt: skip
    for kernel in ("halves", "brains", "flushed"):
        ours, theirs = np.zeros((2, count, RESULTS), np.uint32)
        args = [values, ours, count]
        assert not launch_machine_code(code, kernel, count // 64, 64, args).faults
        assert not launch(module, kernel, count // 64, 64, [values, theirs, count]).faults
        np.testing.assert_array_equal(ours, theirs, kernel)
        assert len(np.unique(theirs)) > 2
