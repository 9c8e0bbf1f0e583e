"""Parts of PTX kernels with TMA copies, which their tests assemble."""

from __future__ import annotations

BYTES = 8192


def kernel(body: str, more: str = "", shared: int = BYTES) -> str:
    """A kernel with a tensor map, an array of bytes, and numbers as parameters."""
    return f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 bytes{more})
{{
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %l<20>; .reg .b16 %h<9>;
    .shared .align 1024 .b8 s[{shared}]; .shared .align 8 .b64 bar;
    mov.b64 %l0, map; cvta.param.u64 %l1, %l0; ld.param.u64 %l2, [bytes];
    mov.u32 %r1, %tid.x; mov.u32 %r2, s; mov.u32 %r3, bar;
    setp.ne.u32 %p1, %r1, 0;
{body}
    ret;
}}
"""


INIT = "@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; bar.sync 0;"
WAIT = """AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra AGAIN;"""
DUMP = """mov.u32 %r10, %r1;
MORE: add.u32 %r11, %r2, %r10; ld.shared.u8 %r12, [%r11]; cvt.u64.u32 %l5, %r10;
    add.u64 %l6, %l2, %l5; st.global.u8 [%l6], %r12; add.u32 %r10, %r10, 32;
    setp.lt.u32 %p3, %r10, {0}; @%p3 bra MORE;"""
FETCH = """mov.u32 %r10, %r1;
MORE: cvt.u64.u32 %l5, %r10; add.u64 %l6, %l2, %l5; ld.global.u8 %r12, [%l6];
    add.u32 %r11, %r2, %r10; st.shared.u8 [%r11], %r12; add.u32 %r10, %r10, 32;
    setp.lt.u32 %p3, %r10, {0}; @%p3 bra MORE; fence.proxy.async.shared::cta; bar.sync 0;"""
DONE = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
