"""The report of a faulty kernel: line, block, thread, and the accessed memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel

from harness.emulator import Fault, Module, launch, parse
from harness.emulator.ptx.source_lines import SourceLines, user_line

SOURCE = r"""#define ID (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" __global__ void read_past_end(const float* in, float* out, unsigned n) {
    unsigned i = ID;
    if (i <= n)
        out[i % n] = in[i];      // LINE read past end
}
extern "C" __global__ void write_before(float* out) {
    out[(int)ID - 1] = 1.0f;     // LINE write before
}
extern "C" __global__ void null_pointer(float* out) {
    out[ID] = 1.0f;              // LINE null
}
extern "C" __global__ void shared_overrun(float* out) {
    __shared__ float s[64];
    s[threadIdx.x] = 1.0f;       // LINE shared overrun
    __syncthreads();
    out[ID] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void vector_tail(const float* in, float* out, unsigned n) {
    unsigned i = ID;
    if (4 * i < n) {
        float4 v = ((const float4*)in)[i];  // LINE vector tail
        out[i] = v.x + v.y + v.z + v.w;
    }
}
extern "C" __global__ void misaligned(const char* in, float* out) {
    out[ID] = *(const float*)(in + 4 * ID + (ID == 70 ? 2 : 0));  // LINE misaligned
}
extern "C" __global__ void endless(unsigned* out) {
    unsigned i = ID;
    for (unsigned k = 32; k >= 1; k -= (i == 3 ? 0 : k))
        out[i] += k;             // LINE endless
}
extern "C" __global__ void stuck(unsigned* out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // LINE stuck one
        out[0] = 1;
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");  // LINE stuck two
        out[1] = 1;
    }
}
extern "C" __global__ void trapped(const int* in) {
    if (in[ID] == 7) __trap();   // LINE trapped
}
extern "C" __global__ void atomic_past_end(unsigned* bins) {
    atomicAdd(&bins[ID], 1u);    // LINE atomic past end
}
__device__ __forceinline__ float element(const float* p, unsigned i) {
    return p[i];                 // LINE inlined
}
extern "C" __global__ void inlined(const float* in, float* out) {
    out[ID] = element(in, ID + 1);
}
"""


def line_of(mark: str) -> int:
    return next(n for n, text in enumerate(SOURCE.split("\n"), 1) if f"// LINE {mark}" in text)


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


def _fault(module: Module, kernel: str, grid: int, block: int, args: list, **kw: int) -> Fault:
    report = launch(module, kernel, grid, block, args, **kw)
    (fault,) = report.faults
    assert Path(fault.file).suffix == ".cu"
    return fault


def test_a_read_past_the_end_names_line_block_thread_and_buffer(module: Module) -> None:
    fault = _fault(module, "read_past_end", 5, 32, [np.zeros(100, "f4"), np.zeros(100, "f4"), 100])
    assert fault.kind == "out of bounds"
    assert fault.line == line_of("read past end")
    assert (fault.block, fault.thread) == ((3, 0, 0), (4, 0, 0))
    assert "read of 4 bytes at 0 bytes past the end of argument 0 (read_past_end_param_0)" in str(
        fault
    )
    assert "(400 bytes)" in fault.message


def test_a_write_before_an_array(module: Module) -> None:
    out = np.zeros(64, np.float32)
    fault = _fault(module, "write_before", 2, 32, [out])
    assert fault.line == line_of("write before")
    assert "write of 4 bytes at 4 bytes before argument 0" in fault.message
    assert (fault.block, fault.thread) == ((0, 0, 0), (0, 0, 0))


def test_an_overrun_never_lands_in_a_neighbouring_array(module: Module) -> None:
    whole = np.zeros(300, np.float32)
    fault = _fault(module, "read_past_end", 5, 32, [whole[:100], whole[100:200], 100])
    assert fault.kind == "out of bounds"


def test_a_null_pointer_is_called_one(module: Module) -> None:
    fault = _fault(module, "null_pointer", 1, 32, [None])
    assert fault.line == line_of("null")
    assert "null pointer" in fault.message


def test_an_overrun_of_shared_memory(module: Module) -> None:
    fault = _fault(module, "shared_overrun", 2, (96), [np.zeros(192, "f4")])
    assert fault.line == line_of("shared overrun")
    assert "offset 256 of shared memory, which has 256 bytes" in fault.message
    assert fault.thread == (64, 0, 0)


def test_a_vector_load_across_the_end(module: Module) -> None:
    fault = _fault(module, "vector_tail", 1, 32, [np.zeros(101, "f4"), np.zeros(32, "f4"), 101])
    assert fault.line == line_of("vector tail")
    assert "across the end of argument 0" in fault.message
    assert fault.thread == (25, 0, 0)


def test_a_misaligned_access(module: Module) -> None:
    fault = _fault(module, "misaligned", 3, 32, [np.zeros(512, np.int8), np.zeros(96, "f4")])
    assert fault.kind == "misaligned"
    assert fault.line == line_of("misaligned")
    assert (fault.block, fault.thread) == ((2, 0, 0), (6, 0, 0))


def test_an_endless_loop_ends_at_the_budget(module: Module) -> None:
    fault = _fault(
        module, "endless", 1, 32, [np.zeros(32, np.uint32)], max_thread_instructions=10**7
    )
    assert fault.kind == "budget"
    assert abs(fault.line - line_of("endless")) <= 1
    assert fault.thread == (3, 0, 0)


def test_a_barrier_that_cannot_complete_names_where_each_group_waits(module: Module) -> None:
    fault = _fault(module, "stuck", 1, 64, [np.zeros(2, np.uint32)])
    assert fault.kind == "deadlock"
    assert fault.line in (line_of("stuck one"), line_of("stuck two"))
    assert f"32 at barrier 1 for 64 threads in line {line_of('stuck one')}" in fault.message
    assert f"32 at barrier 2 for 64 threads in line {line_of('stuck two')}" in fault.message


def test_a_trap(module: Module) -> None:
    given = np.zeros(64, np.int32)
    given[41] = 7
    fault = _fault(module, "trapped", 2, 32, [given])
    assert (fault.kind, fault.block, fault.thread) == ("trap", (1, 0, 0), (9, 0, 0))
    assert fault.line == line_of("trapped")


def test_an_atomic_past_the_end(module: Module) -> None:
    fault = _fault(module, "atomic_past_end", 1, 64, [np.zeros(50, np.uint32)])
    assert (fault.line, fault.thread) == (line_of("atomic past end"), (50, 0, 0))


def test_the_line_of_an_inlined_function_is_the_functions_own(module: Module) -> None:
    fault = _fault(module, "inlined", 1, 64, [np.zeros(64, "f4"), np.zeros(64, "f4")])
    assert (fault.line, fault.thread) == (line_of("inlined"), (63, 0, 0))
    call = next(n for n, text in enumerate(SOURCE.split("\n"), 1) if "= element(" in text)
    assert fault.message.endswith(f"(called in line {call})")


def test_a_second_line_in_another_file_has_its_file_and_its_caller(
    compile_ptx: CompilePtx, tmp_path: Path
) -> None:
    helper = "__device__ __forceinline__ void put(int* p, int x) {\n    *p = x;\n}\n"
    (tmp_path / "helper.cuh").write_text(helper)
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("""#include "helper.cuh"
extern "C" __global__ void k(int* out) {
    __shared__ int s[64];
    put(&s[threadIdx.x], threadIdx.x);
    out[threadIdx.x] = s[threadIdx.x ^ 32];
}
""")
    (fault,) = launch(compile_ptx(kernel), "k", 1, 64, [np.zeros(64, np.int32)]).faults
    assert (Path(fault.file).name, fault.line) == ("kernel.cu", 5)
    assert "wrote it in line 2 of helper.cuh (called in line 4) with no barrier" in fault.message


def test_a_write_to_a_read_only_array(module: Module) -> None:
    out = np.zeros(64, np.float32)
    out.flags.writeable = False
    fault = _fault(module, "null_pointer", 1, 32, [out])
    assert fault.kind == "read-only"


def test_blocks_and_threads_are_named_in_three_dimensions() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %ctaid.z;
    setp.eq.u32 %p1, %r1, 2;
    setp.eq.and.u32 %p1, %r2, 1, %p1;
    @%p1 ld.global.u32 %r3, [%a0+64];
    """
    report = launch(
        parse(ptx_kernel(body, ["u64"])), "k", (2, 3, 2), (4, 4), [np.zeros(4, np.uint32)]
    )
    (fault,) = report.faults
    assert (fault.block, fault.thread) == ((0, 0, 1), (0, 2, 0))
    assert (fault.file, fault.line) == ("", 0)


def test_a_fault_stops_the_launch_and_keeps_what_was_counted(module: Module) -> None:
    out = np.zeros(64, np.float32)
    report = launch(
        module, "read_past_end", 50, 32, [np.zeros(64, "f4"), out, 64], chunk_threads=32
    )
    assert report.faults
    assert 0 < report.thread_instructions < 50 * 32 * 20


def test_a_header_of_the_toolkit_is_known_however_nvcc_was_found() -> None:
    for folder in ("/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include",
                   "/venv/site-packages/nvidia/cu13/bin/..//include"):  # fmt: skip
        lines = SourceLines(f'.file 1 "/home/me/k.cu"\n.file 2 "{folder}/sm_30_intrinsics.hpp"\n')
        lines.loc([".loc", "1", "9", "3"])
        lines.loc(
            [".loc", "2", "100", "5", ",", "function_name", "x", ",", "inlined_at", "1", "9", "3"]
        )
        found = user_line(lines.current())
        assert found is not None
        assert (found.file, found.line) == ("/home/me/k.cu", 9)
