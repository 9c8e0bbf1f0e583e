"""Machine code gives the same results as PTX, and its faults name the source line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import LaunchError, launch
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code, variable
from harness.emulator.sass import launch as sass_launch

RANDOM = np.random.default_rng(5)
FLOATS = RANDOM.normal(size=300).astype(np.float32)
DOUBLES = RANDOM.normal(size=300)
WORDS = RANDOM.integers(-1000, 1000, 300).astype(np.int32)

DIVERGING = """extern "C" __global__ void diverging(const int* in, int* out, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i] & 127, steps = 0;
    while (x > 1) { x = x % 2 ? 3 * x + 1 : x / 2; steps++; if (steps > 40) break; }
    out[i] = steps;
}"""
DIVISIONS = """extern "C" __global__ void divisions(const float* in, float* out, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float scale = i % 3 ? 1.0f : i % 2 ? 1e-38f : 1e38f;  // some need the slow path
    out[i] = in[i] * scale / (in[n - 1 - i] + 0.25f) + sqrtf(fabsf(in[i]) * scale);
}"""
IN_DOUBLE = """extern "C" __global__ void in_double(const double* in, double* out, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] / (in[n - 1 - i] + 0.5) - 3.0 * in[i] + (in[i] < 0 ? 1 : sqrt(in[i]));
}"""
IN_LOCAL = """extern "C" __global__ void in_local(const int* in, int* out, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int digits[10] = {};
    for (unsigned int x = in[i] < 0 ? -in[i] : in[i]; x; x /= 10) digits[x % 10]++;
    int most = 0;
    for (int d = 0; d < 10; d++) most = max(most, 16 * digits[d] + d);
    out[i] = most;
}"""
ATOMICS = """extern "C" __global__ void atomics(const int* in, int* out, unsigned int n) {
    __shared__ int bins[64];
    __shared__ float total;
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[in[i] & 63], 1);
        atomicMax(&out[64], in[i]);
        atomicAdd(&total, 1.0f);
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(&out[65], static_cast<int>(total));
}"""
VOTES = """extern "C" __global__ void votes(const int* in, int* out, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = i < n ? in[i] : 0;
    const unsigned int odd = __ballot_sync(~0u, x & 1);
    int y = __shfl_xor_sync(~0u, x, 5) + __popc(odd) + __clz(x) + __brev(x) + __ffs(x);
    y += __shfl_up_sync(~0u, x, 3, 8) + (__all_sync(~0u, x < 1000) ? 7 : 9);
    const int positive = __syncthreads_count(x > 0);
    if (i < n) out[i] = y + positive;
}"""
TWICE = """extern "C" __global__ void twice(const int* in, int* out, unsigned int n) {
    __shared__ int x[96];
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    const int y = x[95 - threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = y;
    if (i < n) out[i] = x[threadIdx.x];
}"""
KERNELS = {
    "loops whose trips differ": ("diverging", WORDS),
    "divisions and roots with slow paths": ("divisions", FLOATS),
    "double precision": ("in_double", DOUBLES),
    "local memory": ("in_local", WORDS),
    "shared and global atomics": ("atomics", WORDS),
    "votes, shuffles and bits": ("votes", WORDS),
}
COUNTED = """extern "C" __global__ void counted(float* x, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] + 1.0f;  // the line that is counted
}"""
PARTITION = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void partition(const int* in, int* out) {
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int x = in[threadIdx.x];
    const auto alike = cg::binary_partition(tile, x & 1);
    if (x & 1) out[threadIdx.x] = cg::reduce(alike, x, cg::plus<int>());
    else out[threadIdx.x] = -cg::reduce(alike, x, cg::plus<int>());
}"""
VARIABLES = """__device__ int calls = 40, offset = 40;
__constant__ int odd[4] = {1, 3, 5, 7};
extern "C" __global__ void lives_on(int* out, int i) { out[0] = ++calls + odd[i] * 100; }
extern "C" __global__ void is_set(int* out, int i) { out[0] = offset++ + odd[i] * 100; }"""
FAULTS = {
    "out of bounds": "out[64 * i] = 1;",
    "misaligned": "*(int*)((char*)out + 2) = 1;",
    "deadlock": "if (i < 32) asm volatile(\"bar.sync 1, 64;\"); out[i] = 1;",
    "budget": "while (((volatile int*)out)[0] == 0) out[1] = out[1] + 1;",
    "trap": "if (i == 3) __trap(); out[i] = 1;",
}  # fmt: skip
FAULTY = [
    f"""extern "C" __global__ void {kind.replace(" ", "_")}(int* out) {{
    const unsigned int i = threadIdx.x;
    {statement}
}}"""
    for kind, statement in FAULTS.items()
]
SOURCE = "\n".join([
    PARTITION, DIVERGING, DIVISIONS, IN_DOUBLE, IN_LOCAL, ATOMICS, VOTES, TWICE, COUNTED, VARIABLES,
    *FAULTY,
])  # fmt: skip
"""All kernels in one file, which is compiled and disassembled once for each architecture."""


def line_of(text: str) -> int:
    """The only source line that contains this text."""
    [number] = [n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line]
    return number


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code_computes_what_ptx_computes(
    read_source: ReadSource, compile_ptx: CompilePtx, name: str, arch: str
) -> None:
    kernel, values = KERNELS[name]
    from_ptx, from_code = np.zeros_like(values), np.zeros_like(values)
    module = compile_ptx(SOURCE, arch)
    # The last warps are not full, except in kernels in which all lanes have to vote.
    whole = kernel == "votes"
    shape: dict[str, Any] = {"grid": 4 if whole else 3, "block": 96 if whole else 100}
    report = launch(module, kernel, args=[values, from_ptx, len(values)], arch=arch, **shape)
    assert not report.faults
    found = launch_machine_code(
        read_source(SOURCE, arch), kernel, args=[values, from_code, len(values)],
        signature=module.kernels[kernel], **shape,
    )  # fmt: skip
    assert not found.faults
    assert from_ptx.any()
    assert from_code.tobytes() == from_ptx.tobytes()


def test_counts_are_known_by_instruction_and_by_line(read_source: ReadSource) -> None:
    x = np.ones(48, np.float32)
    report = launch_machine_code(read_source(SOURCE), "counted", 2, 32, [x, 40])
    assert (x == [2.0] * 40 + [1.0] * 8).all()
    at = line_of("the line that is counted")
    line = [each for (_, line), counts in report.lines.items() if line == at for each in counts]
    (added,) = (each for each in line if each.opcode == "FADD")
    (stored,) = (each for each in line if each.opcode == "STG.E")
    assert (added.warps, added.threads_predicated_on) == (2, 40)
    assert (stored.global_requests, stored.global_sectors) == (2, 5)
    assert report.instruction_mix["STG.E"] == 2
    fadd = report.counter("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum")
    assert (fadd.value, fadd.provenance) == (40, "machine-exact")


@pytest.mark.parametrize(("kernel", "barriers"), [("twice", 2), ("votes", 1), ("diverging", 0)])
def test_a_warps_arrivals_at_barriers_are_counted_in_machine_code(
    read_source: ReadSource, kernel: str, barriers: int
) -> None:
    args = [WORDS, np.zeros_like(WORDS), len(WORDS)]
    report = launch_machine_code(read_source(SOURCE), kernel, 4, 96, args)
    found = report.counter("barrier_instructions")
    assert (found.value, found.provenance) == (barriers * 4 * 3, "machine-exact")


def test_calls_and_returns_are_branches_too(read_source: ReadSource) -> None:
    """The counts are an H200's, for a layer norm in which some lanes take the slow path of a
    division."""
    out = np.zeros_like(FLOATS)
    args = [FLOATS, out, len(FLOATS)]
    report = launch_machine_code(read_source(SOURCE), "divisions", 10, 32, args)
    mix = {each.opcode.partition(".")[0]: 0 for each in report.instructions}
    for each in report.instructions:
        mix[each.opcode.partition(".")[0]] += each.warps
    assert mix["CALL"] == mix["RET"] > 0
    branches = report.counter("smsp__sass_branch_targets.sum").value
    assert branches == mix["BRA"] + mix["CALL"] + mix["RET"]


def test_of_a_branch_for_diverged_warps_all_lanes_are_predicated_on(
    read_source: ReadSource,
) -> None:
    """The counts are an H200's, for cuda-samples' binaryPartitionCG, whose guards are false."""
    out, words = np.zeros(32, np.int32), WORDS[:32]
    report = launch_machine_code(read_source(SOURCE), "partition", 1, 32, [words, out])
    odd = words % 2 != 0
    np.testing.assert_array_equal(out, np.where(odd, words[odd].sum(), -words[~odd].sum()))
    branches = [each for each in report.instructions if "BRA.DIV" in each.text and each.warps]
    assert branches
    assert [each.threads_predicated_on for each in branches] == [each.threads for each in branches]


def test_a_launch_whose_trips_depend_on_contention_is_a_model(read_source: ReadSource) -> None:
    out = np.zeros(66, np.int32)
    report = launch_machine_code(read_source(SOURCE), "atomics", 3, 100, [WORDS, out, len(WORDS)])
    assert {counter.provenance for counter in report.counters} == {"emulator-model"}


def test_module_variables_live_on_and_constants_are_there(read_source: ReadSource) -> None:
    code, out = read_source(SOURCE), np.zeros(1, np.int32)
    for wanted in (41 + 500, 42 + 500):
        assert not launch_machine_code(code, "lives_on", 1, 1, [out, 2]).faults
        assert out[0] == wanted


def test_variables_and_constants_can_be_set_before_a_launch(read_source: ReadSource) -> None:
    code, out = read_source(SOURCE), np.zeros(1, np.int32)
    np.testing.assert_array_equal(variable(code, "odd", np.int32), [1, 3, 5, 7])
    variable(code, "offset", np.int32)[:] = 7
    variable(code, "odd", np.int32)[2] = 9
    assert not launch_machine_code(code, "is_set", 1, 1, [out, 2]).faults
    assert out[0] == 7 + 900
    assert variable(code, "offset", np.int32)[0] == 8
    with pytest.raises(LaunchError, match=r"no variable `even`.*odd"):
        variable(code, "even")


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_names_its_kind_and_line(read_source: ReadSource, kind: str) -> None:
    out = np.zeros(64, np.int32)
    block = 32 if kind == "deadlock" else 64
    report = launch_machine_code(
        read_source(SOURCE), kind.replace(" ", "_"), 1, block, [out], names=["out"],
        max_thread_instructions=100_000,
    )  # fmt: skip
    (fault,) = report.faults
    assert (fault.kind, fault.line) == (kind, line_of(FAULTS[kind]))
    if kind == "out of bounds":
        assert "byte 256 of `out`, which has 256 bytes" in fault.message
        assert fault.thread == (1, 0, 0)


def test_an_unknown_instruction_is_named_with_its_line_before_anything_runs(
    read_source: ReadSource,
) -> None:
    source = """extern "C" __global__ void k(int* out) {
    out[0] = 1;
    asm volatile("mov.u32 %0, %%pm0;" : "=r"(out[1]));
}"""
    out = np.zeros(8, np.int32)
    with pytest.raises(UnknownMachineInstruction, match=r"\.cu:3: .*SR_PM0.*Nothing was run"):
        launch_machine_code(read_source(source), "k", 1, 1, [out])
    assert not out.any()


def test_what_is_wrong_with_a_launch_is_said(read_source: ReadSource) -> None:
    code = read_source(SOURCE)
    with pytest.raises(LaunchError, match=r"there is no kernel 'sum'; the cubin has .*diverging"):
        launch_machine_code(code, "sum", 1, 1, [])
    with pytest.raises(LaunchError, match="takes 3 arguments, 1 were given"):
        launch_machine_code(code, "diverging", 1, 1, [WORDS])
    with pytest.raises(LaunchError, match="has 2048 threads; a block has at most 1024"):
        launch_machine_code(code, "diverging", 1, (64, 32), [WORDS, WORDS, 3])
    with pytest.raises(LaunchError, match="pass what read\\(\\) returns"):
        launch_machine_code("k.cubin", "k", 1, 1, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_code_of_clusters_is_executed_for_every_architecture_that_has_them(
    read_source: ReadSource, arch: str
) -> None:
    out = np.zeros(4, np.int32)
    source = """extern "C" __global__ void __cluster_dims__(2, 2) k(int* out) { *out = 1; }
extern "C" __global__ void __cluster_dims__(1) alone(int* out) { out[blockIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(32, 1, 8) most(int* out) { out[blockIdx.x] = 1; }"""
    code = read_source(source, arch)
    assert not launch_machine_code(code, "k", (2, 2), 32, [out]).faults
    assert out.tolist() == [1, 0, 0, 0]
    with pytest.raises(LaunchError, match=r"for clusters of \(2, 2, 1\) blocks; cluster is"):
        launch_machine_code(code, "k", (2, 2), 32, [out], cluster=2)
    with pytest.raises(LaunchError, match=r"grid \(3, 2, 1\) of kernel `k` is no multiple"):
        launch_machine_code(code, "k", (3, 2), 32, [out])
    for kernel in ("alone", "most"):
        assert not launch_machine_code(code, kernel, 4, 32, [out]).faults
        assert out.all()
    out[:] = 0
    assert not launch_machine_code(code, "most", 4, 32, [out], cluster=2).faults
    assert out.all()


THREE_WORDS = """
extern "C" __global__ void three(const float* in, float* out) {
    __shared__ float3 sums;
    if (threadIdx.x == 0) sums = make_float3(in[0], in[1], in[2]);
    __syncthreads();
    const float3 all = sums;
    out[threadIdx.x] = all.x * threadIdx.x + all.y * all.z;
}"""


def test_the_last_words_of_static_shared_memory_are_read_by_a_wider_load(
    read_source: ReadSource,
) -> None:
    code, out = read_source(THREE_WORDS), np.zeros(32, np.float32)
    assert any(i.name == "LDS.128" for i in code.functions["three"].instructions)
    args = [np.array([2, 3, 4], np.float32), out]
    assert not launch_machine_code(code, "three", 1, 32, args).faults
    assert out.tolist() == [2 * n + 12 for n in range(32)]


def test_a_kernel_is_analysed_once_for_the_judge(
    compile_ptx: CompilePtx, read_source: ReadSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, module = [], compile_ptx(DIVERGING)
    analysed = sass_launch.OfLines
    monkeypatch.setattr(
        sass_launch, "OfLines", lambda *given: made.append(given) or analysed(*given)
    )
    code = read_source(DIVERGING)
    for ptx in (module, module, compile_ptx(DIVERGING, "sm_80")):
        args = [WORDS, np.zeros(300, np.int32), 300]
        assert not launch_machine_code(code, "diverging", 3, 128, args, ptx=ptx).faults
    assert [kernel for _, kernel in made] == ["diverging", "diverging"]
