"""Atomics by several lanes on one address, compared with ptxas 13.0's machine code for each kernel.

If ptxas combines the operations of a warp's lanes, the machine code executes REDUX (or counts the
lanes), and then a single lane executes a RED or ATOMG.
"""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import LaunchReport, parse

T = "threadIdx.x"
COMBINED = {
    "adds": f"atomicAdd(p, v[{T}]);",
    "counts": "atomicAdd(p, 1);",
    "subtracts": f"atomicSub(p, v[{T}]);",
    "least": f"atomicMin(p, v[{T}]);",
    "most": f"atomicMax((unsigned*)p, (unsigned)v[{T}]);",
    "ands": f"atomicAnd(p, v[{T}]);",
    "ors": f"atomicOr(p, v[{T}]);",
    "xors": f"atomicXor(p, v[{T}]);",
    "of_a_block": f"atomicAdd(p + blockIdx.x, v[{T}]);",
    "in_a_loop": f"for (int i = 0; i < n; i++) atomicAdd(p + i, v[{T} + i]);",
    "where_something_says": f"atomicAdd(p + v[blockIdx.x] % 2, v[{T}]);",
    "by_a_branch_of_all": f"int* r = v[0] > n ? p : p + 1; atomicAdd(r, v[{T}]);",
    "under_a_branch": f"int x = v[{T}]; if (x != 77) atomicAdd(p, x);",
    "wide": "atomicAdd((unsigned long long*)p, 1ull);",
}
APART = {
    "wide_and_different": f"atomicAdd((unsigned long long*)p, (unsigned long long)v[{T}]);",
    "floats": f"atomicAdd((float*)p, (float)v[{T}]);",
    "counts_up_to": "atomicInc((unsigned*)p, 99u);",
    "by_the_warp": f"atomicAdd(p + {T} / 32 * 8, v[{T}]);",
    "by_another_axis": f"atomicAdd(p + threadIdx.y, v[{T}]);",
    "by_a_branch_of_each": f"int* r = v[{T}] > 999 ? p + 1 : p; atomicAdd(r, v[{T}]);",
}
RETURNING = {"adds_one": ("atomicAdd(p, n)", True), "most_so_far": ("atomicMax(p, n)", False)}


def _source(name: str, body: str) -> str:
    return f'extern "C" __global__ void {name}(int* p, const int* v, int n) {{ {body} }}\n'


SOURCE = "".join(_source(name, body) for name, body in (COMBINED | APART).items()) + "".join(
    f'extern "C" __global__ void {name}(int* p, int* v, int n) {{ v[{T}] = {call}; }}\n'
    for name, (call, _) in RETURNING.items()
)


def _sectors(report: LaunchReport, kind: str) -> float:
    return report.counter(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum").value


def _requests(report: LaunchReport, kind: str) -> float:
    return report.counter(f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum").value


def _run(compile_ptx: CompilePtx, name: str, arch: str = "sm_90") -> LaunchReport:
    given = [np.zeros(64, np.int32), np.arange(128, dtype=np.int32) + 1, 3]
    return run(compile_ptx(SOURCE, arch), name, 1, 64, given)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", COMBINED)
def test_one_lane_goes_to_memory_for_all(compile_ptx: CompilePtx, name: str, arch: str) -> None:
    report = _run(compile_ptx, name, arch)
    assert _requests(report, "red") == _sectors(report, "red")
    name = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"
    assert report.counter(name).provenance == "emulator-exact"


@pytest.mark.parametrize("name", APART)
def test_lanes_take_their_turns(compile_ptx: CompilePtx, name: str) -> None:
    report = _run(compile_ptx, name)
    assert (_requests(report, "red"), _sectors(report, "red")) == (2, 64)


@pytest.mark.parametrize("name", RETURNING)
def test_a_sum_is_combined_also_if_it_returns_what_was_there(
    compile_ptx: CompilePtx, name: str
) -> None:
    report = _run(compile_ptx, name)
    assert (_requests(report, "atom"), _sectors(report, "atom")) == (
        2,
        2 if RETURNING[name][1] else 64,
    )


def test_combined_lanes_are_one_wavefront_of_shared_memory(compile_ptx: CompilePtx) -> None:
    source = """extern "C" __global__ void k(int* out) {
        __shared__ int s[8];
        if (threadIdx.x < 8) s[threadIdx.x] = 0;
        __syncthreads();
        atomicMax(&s[blockIdx.x & 7], (int)threadIdx.x);
        __syncthreads();
        if (threadIdx.x < 8) out[threadIdx.x] = s[threadIdx.x];
    }"""
    out = np.zeros(8, np.int32)
    report = run(compile_ptx(source), "k", 1, 128, [out])
    assert out[0] == 127
    assert report.counter("memory_l1_wavefronts_shared").value == 1 + 4 + 1


@pytest.mark.parametrize(("count", "sectors"), [(2, 8), (4, 16)])
def test_an_atomic_on_a_vector_is_one_request(count: int, sectors: int) -> None:
    size = 4 * count
    registers = ", ".join(["%f1"] * count)
    body = f"""
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, {size}, %a0;
    mov.f32 %f1, 0f3F800000;
    red.global.add.v{count}.f32 [%a0], {{{registers}}};
    """
    sums = np.zeros(64 * count, np.float32)
    report = run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [sums])
    assert (sums == 1).all()
    assert (_requests(report, "red"), _sectors(report, "red")) == (2, 2 * sectors)
    assert report.counter("global_atomic_lanes").value == 64


@pytest.mark.parametrize(
    ("type_", "certainty"), [("f16x2", "emulator-exact"), ("bf16x2", "emulator-exact"),
                             ("f16", "emulator-model"), ("bf16", "emulator-model")],
)  # fmt: skip
def test_the_addition_of_halves_is_no_reduction(type_: str, certainty: str) -> None:
    size, register = (4, "%r1") if type_.endswith("x2") else (2, "%h1")
    body = f"""
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, {size}, %a0;
    mov.b32 %r1, 0;
    mov.b16 %h1, 0;
    red.global.add.noftz.{type_} [%a0], {register};
    """
    report = run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [np.zeros(64, np.uint32)])
    assert (_requests(report, "red"), _requests(report, "atom")) == (0, 2)
    name = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"
    assert report.counter(name).provenance == certainty
