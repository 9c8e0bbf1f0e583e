"""`st.async` and `red.async` write to shared memory and report the number of bytes to an
mbarrier."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run
from reference.semantics import atomic

from harness.emulator import UnknownInstruction, launch, parse

TELLS = "shared::cluster.mbarrier::complete_tx::bytes"
DECLARED = ".shared .align 16 .b8 s[1024]; .shared .align 8 .b64 b;"
SET_UP = """ld.param.u64 %a0, [p0]; mov.u32 %r1, s; mov.u32 %r2, b;
    setp.ne.u32 %p1, %i, 0; @%p1 bra SET;
    mbarrier.init.shared.b64 [b], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [b], {bytes};
SET: bar.sync 0;"""
WAIT = """
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;
    @!%p2 bra WAIT;"""


def _kernel(body: str, size: int, wait: str = WAIT) -> str:
    return ptx_kernel(SET_UP.format(bytes=size) + body.format(wait=wait), ["u64"], DECLARED)


VECTOR = f"""mad.lo.u32 %r3, %i, 16, %r1; add.u32 %r4, %i, 1; mul.lo.u32 %r5, %i, 3;
    st.async.weak.{TELLS}.v4.b32 [%r3], {{{{%i, %r4, %r5, %i}}}}, [%r2];{{wait}}
    xor.b32 %r3, %i, 63; mad.lo.u32 %r3, %r3, 16, %r1; ld.shared.v2.u64 {{{{%l1, %l2}}}}, [%r3];
    mad.wide.u32 %a0, %i, 16, %a0; st.global.v2.u64 [%a0], {{{{%l1, %l2}}}};"""


def test_a_vector_is_there_for_whoever_waited_for_its_bytes() -> None:
    out = np.zeros((64, 4), np.uint32)
    run(parse(_kernel(VECTOR, 1024)), "k", 1, 64, [out])
    i = np.arange(64)[::-1]
    assert (out == np.stack([i, i + 1, 3 * i, i], axis=1)).all()


def test_to_read_it_without_waiting_is_a_race() -> None:
    (fault,) = launch(
        parse(_kernel(VECTOR, 1024, "")), "k", 1, 64, [np.zeros(256, np.uint32)]
    ).faults
    assert fault.kind == "race"


def test_a_phase_that_expects_more_bytes_never_ends() -> None:
    (fault,) = launch(parse(_kernel(VECTOR, 1040)), "k", 1, 64, [np.zeros(256, np.uint32)]).faults
    assert fault.kind == "deadlock"


@pytest.mark.parametrize(("at", "kind"), [(8, "misaligned"), (1024, "out of bounds")])
def test_it_is_aligned_and_within_shared_memory(at: int, kind: str) -> None:
    body = f"add.u32 %r3, %r1, {at}; st.async.{TELLS}.v2.b64 [%r3], {{{{%a0, %a0}}}}, [%r2];"
    text = _kernel(body, 16).replace("s[1024]; .shared .align 8 .b64 b;", "s[1016];").replace(
        ".shared .align 16", ".shared .align 8 .b64 b; .shared .align 16")  # fmt: skip
    (fault,) = launch(parse(text), "k", 1, 1, [np.zeros(2, np.uint64)]).faults
    assert fault.kind == kind


REDUCTIONS = ["add.u32", "add.s32", "add.u64", "min.s32", "max.s32", "min.u32", "max.u32",
              "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32"]  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_of_all_threads_into_one_word(name: str) -> None:
    operation, _, type_ = name.partition(".")
    size = int(type_[1:]) // 8
    value, kind = ("%l3", "b64") if size == 8 else ("%r3", "b32")
    body = f"""mad.wide.u32 %a1, %i, {size}, %a0; ld.global.{kind} {value}, [%a1];
    @%p1 bra BEGUN;
    st.shared.{kind} [s], {value};
BEGUN: bar.sync 0;
    red.async.relaxed.cluster.{TELLS}.{name} [%r1], {value}, [%r2];{{wait}}
    ld.shared.{kind} {value}, [s]; st.global.{kind} [%a1], {value};"""
    values = np.random.default_rng(8).integers(0, 2 ** (8 * size) - 1, 64, np.uint64)
    values = values.astype(f"u{size}")
    wanted = int(values[0])
    for each in values.tolist():
        wanted = atomic(operation, type_, wanted, each)
    run(parse(_kernel(body, 64 * size)), "k", 1, 64, [values])
    assert (values == wanted).all()


def test_libcudacxx_writes_both(compile_ptx: CompilePtx) -> None:
    source = r"""
    #include <cuda/ptx>
    namespace ptx = cuda::ptx;
    extern "C" __global__ void k(int* out) {
        __shared__ uint64_t b;
        __shared__ int s[65];
        if (threadIdx.x == 0) {
            ptx::mbarrier_init(&b, 1);
            s[64] = 0;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(
                static_cast<unsigned>(__cvta_generic_to_shared(&b))) : "memory");
        }
        __syncthreads();
        int t = threadIdx.x;
        ptx::st_async(&s[t ^ 1], t, &b);
        ptx::red_async(ptx::op_add, &s[64], t, &b);
        while (!ptx::mbarrier_try_wait_parity(&b, 0)) {}
        out[t] = s[t] + s[64];
    }"""
    out = np.zeros(64, np.int32)
    run(compile_ptx(source), "k", 1, 64, [out])
    assert (out == (np.arange(64) ^ 1) + 63 * 32).all()


@pytest.mark.parametrize(
    "text",
    [f"st.async.{TELLS}.b16 [%r1], %h1, [%r2];", f"st.async.relaxed.{TELLS}.b32 [%r1], %r3, [%r2];",
     f"st.async.{TELLS}.v4.b64 [%r1], {{%l1, %l1, %l1, %l1}}, [%r2];",
     "st.async.shared::cluster.b32 [%r1], %r3, [%r2];", f"st.async.{TELLS}.b32 [%r1], %r3;",
     f"red.async.{TELLS}.add.u32 [%r1], %r3, [%r2];",
     f"red.async.relaxed.gpu.{TELLS}.add.u32 [%r1], %r3, [%r2];",
     f"red.async.relaxed.cluster.{TELLS}.add.f32 [%r1], %f1, [%r2];",
     f"red.async.relaxed.cluster.{TELLS}.max.u64 [%r1], %l1, [%r2];",
     f"red.async.relaxed.cluster.{TELLS}.exch.b32 [%r1], %r3, [%r2];"],
)  # fmt: skip
def test_what_ptxas_refuses_is_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(text, (), DECLARED)), "k", 1, 1, [])
