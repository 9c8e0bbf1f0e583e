"""PTX kernels with Hopper's asynchronous instructions, for fuzz_kernels.py to break.

The kernels are small, so that a launch takes milliseconds. Together they use TMA copies, bulk
copies and reductions, mbarriers of all kinds, multicast, clusters, dense and sparse `wgmma`,
`tensormap.replace`, `setmaxnreg`, `elect` and `stmatrix`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from harness.emulator import TensorMap


@dataclass(frozen=True)
class Kernel:
    """A kernel named `k`, and its launch. `arguments`: a function that makes new arguments for each
    launch."""

    text: str
    block: int
    arguments: Callable[[], list[Any]]
    grid: int = 1


_MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
EXCHANGE: Final = f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out)
.reqnctapercluster 2
{{
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %l<20>; .reg .b16 %h<9>;
    .shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 bar;
    mov.b64 %l0, map; cvta.param.u64 %l1, %l0; ld.param.u64 %l2, [in]; ld.param.u64 %l3, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mov.b16 %h1, 3;
    @!%p1 mbarrier.init.shared::cta.b64 [%r3], 2; fence.mbarrier_init.release.cluster; {_MEET}
    @%p1 bra ASKED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1536;
    mad.lo.u32 %r6, %r4, 512, %r2; mul.lo.u32 %r7, %r4, 4;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
.multicast::cluster [%r6], [%l1, {{0, %r7}}], [%r3], %h1;
    add.u32 %r8, %r2, 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%l2], 384, [%r3];
    mapa.shared::cluster.u32 %r9, %r3, %r5;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
ASKED:
    mapa.shared::cluster.u32 %r9, %r3, %r5; mad.lo.u32 %r10, %r1, 4, %r2; add.u32 %r11, %r10, 1408;
    mapa.shared::cluster.u32 %r12, %r11, %r5;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12], %r1, [%r9];
WAITS:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAITS;
    ld.shared.u32 %r13, [%r10]; ld.shared.u32 %r14, [%r10+1024]; ld.shared.u32 %r15, [%r11];
    add.u32 %r13, %r13, %r14; add.u32 %r13, %r13, %r15; st.shared.u32 [%r10], %r13;
    fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra LEAVES;
    mad.wide.u32 %l3, %r4, 128, %l3;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%l3], [%r2], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
LEAVES: {_MEET}
    ret;
}}
"""

_HEAD = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k({parameters})
.maxntid {threads}
.minnctapersm 1
{{
\t.reg .pred %p<9>;
\t.reg .b32 %r<60>;
\t.reg .b64 %l<40>;
\t.reg .f32 %f<20>;
\t.reg .b16 %h<9>;
"""
_TELLS = "mbarrier::complete_tx::bytes"
_MAP = ".param .align 64 .b8 {0}[128]"
_SUMS = ", ".join(f"%f{n}" for n in range(8))


def _product_step(step: int) -> str:
    """A `wgmma` on one slot of the ring buffer, 64 elements deep."""
    place, parity = step % 2, step // 2
    products = "".join(f"""
\tadd.s64 %l10, %l8, {(4096 * 2 * place + 32 * k) >> 4};
\tadd.s64 %l11, %l9, {(2048 * place + 32 * k) >> 4};
\twgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {{{_SUMS}}}, %l10, %l11, %p3, 1, 1, 0, 0;"""
                       for k in range(4))  # fmt: skip
    return f"""
WAITS{step}:
\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5+{8 * place}], {parity};
\t@!%p4 bra WAITS{step};
\twgmma.fence.sync.aligned;{products}
\twgmma.commit_group.sync.aligned;
\twgmma.wait_group.sync.aligned 0;
\t@%p2 mbarrier.arrive.shared::cta.b64 _, [%r5+{16 + 8 * place}];"""


def _asked_step(step: int) -> str:
    place, parity = step % 2, (step // 2) ^ 1
    return f"""
ROOM{step}:
\tmbarrier.try_wait.parity.shared::cta.b64 %p4, [%r5+{16 + 8 * place}], {parity};
\t@!%p4 bra ROOM{step};
\tmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5+{8 * place}], 10240;
\tadd.s32 %r8, %r3, {8192 * place};
\tadd.s32 %r9, %r4, {2048 * place};
\tadd.s32 %r10, %r5, {8 * place};
\tmov.b32 %r11, {64 * step};
\tcp.async.bulk.tensor.2d.shared::cluster.global.tile.{_TELLS} [%r8], [%l1, {{%r11, 0}}], [%r10];
\tcp.async.bulk.tensor.2d.shared::cluster.global.tile.{_TELLS} [%r9], [%l2, {{%r11, 0}}], [%r10];"""


_STEPS = range(3)
PRODUCT: Final = (
    _HEAD.format(
        parameters=f"{_MAP.format('a')}, {_MAP.format('b')}, {_MAP.format('c')}", threads=256
    )
    + f"""
\t.shared .align 1024 .b8 memory[24576];
\t.shared .align 8 .b64 bars[4];
\tmov.b64 %l0, a;
\tcvta.param.u64 %l1, %l0;
\tmov.b64 %l0, b;
\tcvta.param.u64 %l2, %l0;
\tmov.b64 %l0, c;
\tcvta.param.u64 %l3, %l0;
\tmov.u32 %r1, %tid.x;
\tmov.u32 %r3, memory;
\tadd.s32 %r4, %r3, 16384;
\tmov.u32 %r5, bars;
\tand.b32 %r6, %r1, 127;
\tsetp.eq.s32 %p1, %r1, 0;
\tsetp.eq.s32 %p2, %r6, 0;
\t@!%p1 bra READY;
\tmbarrier.init.shared::cta.b64 [%r5], 1;
\tmbarrier.init.shared::cta.b64 [%r5+8], 1;
\tmbarrier.init.shared::cta.b64 [%r5+16], 1;
\tmbarrier.init.shared::cta.b64 [%r5+24], 1;
\tfence.proxy.async.shared::cta;
READY:
\tbar.sync 0;
\tsetp.ge.u32 %p5, %r1, 128;
\t@%p5 bra MULTIPLIES;
\tsetmaxnreg.dec.sync.aligned.u32 40;
\tsetp.ge.u32 %p6, %r1, 32;
\t@%p6 bra LEAVES;
\telect.sync %r7|%p7, -1;
\t@!%p7 bra LEAVES;{"".join(map(_asked_step, _STEPS))}
\tbra LEAVES;
MULTIPLIES:
\tsetmaxnreg.inc.sync.aligned.u32 200;
\tsetp.ne.s32 %p3, %r3, -1;
"""
    + "".join(f"\tmov.f32 %f{n}, 0f00000000;\n" for n in range(8))
    + f"""
\tshr.u32 %r12, %r3, 4;
\tcvt.u64.u32 %l8, %r12;
\tor.b64 %l8, %l8, 4611686293305294848;
\tshr.u32 %r12, %r4, 4;
\tcvt.u64.u32 %l9, %r12;
\tor.b64 %l9, %l9, 4611686293305294848;{"".join(map(_product_step, _STEPS))}
\tadd.s32 %r13, %r4, 4096;
\tand.b32 %r14, %r1, 31;
\tshr.u32 %r15, %r6, 5;
\tshl.b32 %r16, %r15, 9;
\tshl.b32 %r17, %r14, 4;
\tadd.s32 %r18, %r13, %r16;
\tadd.s32 %r18, %r18, %r17;
\tcvt.rn.bf16x2.f32 %r20, %f1, %f0;
\tcvt.rn.bf16x2.f32 %r21, %f3, %f2;
\tcvt.rn.bf16x2.f32 %r22, %f5, %f4;
\tcvt.rn.bf16x2.f32 %r23, %f7, %f6;
\tstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r18], {{%r20, %r21, %r22, %r23}};
\tfence.proxy.async.shared::cta;
\tbar.sync 1, 128;
\t@!%p2 bra LEAVES;
\tcp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%l3, {{0, 0}}], [%r13];
\tcp.async.bulk.commit_group;
\tcp.async.bulk.wait_group 0;
LEAVES:
\tret;
}}
"""
)


def _of_product() -> list[Any]:
    a, b = (np.ones(rows * 192, np.uint16) * np.uint16(0x3F80) for rows in (64, 16))
    c = np.zeros(64 * 16, np.uint16)
    return [
        TensorMap(a, [64, 64], [192, 64], swizzle="128B", element="bf16"),
        TensorMap(b, [64, 16], [192, 16], swizzle="128B", element="bf16"),
        TensorMap(c, [16, 64], [16, 64], element="bf16"),
    ]


SPARSE: Final = (
    _HEAD.format(parameters=f"{_MAP.format('map')}, .param .u64 in, .param .u64 out", threads=128)
    + """
    .shared .align 1024 .b8 tile[4096]; .shared .align 8 .b64 bar;
    ld.param.u64 %l1, [in]; ld.param.u64 %l2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;
    mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0; shl.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4;
    mad.wide.u32 %l3, %r1, 16, %l1; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%l3];
    st.shared.v4.u32 [%r5], {%r10, %r11, %r12, %r13}; mov.u32 %r14, 0x4e4e4e4e;
    @!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r6, %r2, 4; cvt.u64.u32 %l4, %r6; or.b64 %l4, %l4, 0x0000001000080000;
    wgmma.fence.sync.aligned; setp.ne.u32 %p2, %r1, %r1;
    wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %l4, %l4, %r14, 1,
        %p2, 1, -1, 0, 1;
    wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8 {%r20, %r21, %r22, %r23},
        {%r10, %r11, %r12, %r13}, %l4, %r14, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0;
    @%p1 bra STORES; ld.param.u64 %l5, [map]; st.shared.u64 [%r2+1024], %l5;
"""
    + "".join(f"ld.param.u64 %l5, [map+{n}]; st.shared.u64 [%r2+{1024 + n}], %l5;"
              for n in range(8, 128, 8))
    + f"""
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r2+1024], 1, 2;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r2+1024], 0, 128;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r2+1024], 7;
STORES: bar.sync 0; setp.ge.u32 %p3, %r1, 32; @%p3 bra SUMS;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%l2], [%r2+1024], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%l2], 128; @%p1 bra SUMS;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.{_TELLS} [%r2], [%l2, {{0, 1}}], [%r3];
SUMS: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], 0; @!%p4 bra SUMS;
    ld.shared.f32 %f4, [%r2]; add.f32 %f0, %f0, %f4; add.u32 %r20, %r20, %r21;
    mad.wide.u32 %l3, %r1, 8, %l2; st.global.f32 [%l3+128], %f0; st.global.u32 [%l3+132], %r20;
    ret;
}}
"""
)  # fmt: skip
PASSED_ON: Final = (
    _HEAD.format(parameters=".param .u64 in, .param .u64 out", threads=32).replace(
        ".maxntid 32", ".maxntid 32\n.reqnctapercluster 2")
    + f"""
    .shared .align 128 .b8 tile[512]; .shared .align 8 .b64 bar;
    ld.param.u64 %l1, [in]; ld.param.u64 %l2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, tile;
    mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1;
    mad.lo.u32 %r6, %r1, 4, %r2; st.shared.u32 [%r6], %r1; st.shared.u32 [%r6+128], %r4;
    st.shared.u32 [%r6+256], %r4; mapa.shared::cluster.u32 %r7, %r2, %r5; mov.b16 %h1, 3;
    mapa.shared::cluster.u32 %r8, %r3, %r5; add.u32 %r9, %r7, 128; add.u32 %r10, %r7, 256;
    add.u32 %r11, %r2, 384;
    @!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
    fence.proxy.async; {_MEET} @%p1 bra ASKED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 384;
    cp.async.bulk.shared::cluster.shared::cta.{_TELLS} [%r9], [%r2], 128, [%r8];
    cp.reduce.async.bulk.shared::cluster.shared::cta.{_TELLS}.add.u32 [%r10], [%r2], 128, [%r8];
    setp.ne.u32 %p2, %r4, 0; @%p2 bra ASKED;
    cp.async.bulk.shared::cluster.global.{_TELLS}.multicast::cluster [%r11], [%l1], 128, [%r3], %h1;
ASKED: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0; @!%p3 bra ASKED;
    ld.shared.u32 %r12, [%r6+128]; ld.shared.u32 %r13, [%r6+256]; ld.shared.u32 %r14, [%r6+384];
    add.u32 %r12, %r12, %r13; add.u32 %r12, %r12, %r14; mad.lo.u32 %r15, %r4, 32, %r1;
    mad.wide.u32 %l3, %r15, 4, %l2; {_MEET} st.global.u32 [%l3], %r12;
    ret;
}}
"""
)  # fmt: skip


def _lined(text: str) -> str:
    """Put each instruction on a line of its own, as the compiler does."""
    head, brace, body = text.partition("{\n")
    lines = (line.strip() for line in re.sub(r"(;|(?<!:):(?!:))", r"\1\n", body).splitlines())
    return head + brace + "\n".join(f"\t{line}" for line in lines if line)


KERNELS: Final = {
    "exchange": Kernel(_lined(EXCHANGE), 32, lambda: [
        TensorMap(np.arange(256, dtype=np.float32), [32, 4], [32, 8]),
        np.ones(100, np.float32), np.zeros(101, np.float32)], 2),
    "product": Kernel(PRODUCT, 256, _of_product),
    "sparse": Kernel(_lined(SPARSE), 128, lambda: [
        TensorMap(np.arange(256, dtype=np.float32), [32, 4], [32, 8]),
        np.ones(512, np.float32), np.zeros(320, np.float32)]),
    "passed_on": Kernel(_lined(PASSED_ON), 32, lambda: [
        np.ones(100, np.float32), np.zeros(100, np.uint32)], 2),
}  # fmt: skip
