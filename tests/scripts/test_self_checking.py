"""Other people's programs that check themselves: the stand-in for the CUDA runtime, verdicts, the
table.

The programs are not in this repository; the test's own is built and run in the same way.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("processes")

SCRIPTS = Path(__file__).parents[2] / "scripts"

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <thread>
#include <vector>

__device__ int launches;
__constant__ float scale[2];
__managed__ int added = 5;

__global__ void follow(float* const* table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[1][i] = scale[1] * table[0][i] + added;
    if (i == 0) ++launches;
}
__global__ void no_parameters() { launches += blockDim.x; }
__global__ void beyond(int* out, int n) { out[threadIdx.x + n] = 1; }
__global__ void add_one(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
__global__ void racing(int* out) {
    __shared__ int words[64];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[63 - threadIdx.x];
}

__global__ void box(const __grid_constant__ CUtensorMap map, int* out) {
    __shared__ alignas(128) int words[32];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = __cvta_generic_to_shared(words), at = __cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;"
                     :: "r"(at) : "memory");
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2}], [%3];" :: "r"(to), "l"(&map), "r"(32), "r"(at) : "memory");
    }
    __syncthreads();
    for (int done = 0; !done;)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at) : "memory");
    out[threadIdx.x] = words[threadIdx.x];
}

static bool same(const char* what, double found, double wanted) {
    if (found != wanted) printf("%s is %g, not %g\n", what, found, wanted);
    return found == wanted;
}

static struct Kept {  // frees memory when the program exits
    int* at = nullptr;
    ~Kept() { cudaFree(at); }
} kept;

static bool follows() {
    const int n = 100;
    cudaMalloc(&kept.at, sizeof(int));
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) host[i] = i;
    float *in, *out, **table;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMallocManaged(&table, 2 * sizeof *table);  // pointers that only memory holds
    table[0] = in, table[1] = out;
    cudaMemcpy(in, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    const float factors[2] = {0, 2};
    cudaMemcpyToSymbol(scale, factors, sizeof factors);
    added = 7;
    follow<<<4, 32>>>(table, n);
    no_parameters<<<1, 1>>>();
    cudaMemcpy(host.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    int count = 0;
    cudaMemcpyFromSymbol(&count, launches, sizeof count);
    bool right = same("launches", count, 2);
    for (int i = 0; i < n; i++) right &= same("element", host[i], 2 * i + 7);
    return right;
}

static bool errors() {
    int* out;
    cudaMalloc(&out, 64 * sizeof(int));
    bool right = same("copy", cudaMemset(out, 0, 65 * sizeof(int)), cudaErrorInvalidValue);
    right &= same("the last error", cudaGetLastError(), cudaErrorInvalidValue);
    no_parameters<<<0, 1>>>();
    right &= same("an empty grid", cudaGetLastError(), cudaErrorInvalidConfiguration);
    right &= same("the next", cudaGetLastError(), cudaSuccess);
    right &= same("a free", cudaFree(out + 1), cudaErrorInvalidValue);
    beyond<<<1, 64>>>(out, 1);
    right &= same("a launch that failed", cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    return right & same("what follows", cudaMemset(out, 0, 4), cudaErrorLaunchFailure);
}

static bool threads() {
    std::vector<int> found(16);
    std::vector<std::thread> some;
    for (int t = 0; t < 16; t++) some.emplace_back([&, t] {
        int* out;
        cudaMalloc(&out, sizeof(int));
        beyond<<<1, 1>>>(out, 0);
        cudaMemcpy(&found[t], out, sizeof(int), cudaMemcpyDeviceToHost);
        cudaFree(out);
    });
    for (auto& each : some) each.join();
    bool right = true;
    for (const int each : found) right &= same("a thread's word", each, 1);
    return right;
}

static bool races() {
    int *out, found[64];
    cudaMalloc(&out, sizeof found);
    racing<<<1, 64>>>(out);
    cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    return same("the first", found[0], 63);
}

static bool first_writes() {
    int *in, *between, *out, found[64];
    cudaMalloc(&in, sizeof found);
    cudaMalloc(&between, sizeof found);
    cudaMalloc(&out, sizeof found);
    cudaMemset(in, 0, 32 * sizeof(int));
    cudaMemcpy(between, in, sizeof found, cudaMemcpyDeviceToDevice);
    add_one<<<1, 32>>>(between, out);
    add_one<<<1, 32>>>(out, in + 32);
    add_one<<<1, 64>>>(in, out);
    add_one<<<1, 64>>>(between, out);  // half of it has never been written
    cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    return same("the first", found[0], 1);
}

static bool tensor_maps() {
    int host[96], found[32], *in, *out;
    for (int i = 0; i < 96; i++) host[i] = i;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof found);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, 0, &status);
    const cuuint64_t shape[1] = {80}, strides[1] = {};
    const cuuint32_t extents[1] = {32}, steps[1] = {1};
    CUtensorMap map;
    reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
        &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, in + 16, shape, strides, extents, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    box<<<1, 32>>>(map, out);
    cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int i = 0; i < 32; i++) right &= same("an element of the box", found[i], 48 + i);
    return right;
}

int main(int, char** given) {
    const int what = atoi(given[1]);
    bool right = false;
    if (what == 0) right = follows();
    if (what == 1) right = errors();
    if (what == 2) right = threads();
    if (what == 3) right = races();
    if (what == 5) right = tensor_maps();
    if (what == 6) right = first_writes();
    if (what == 4) right = not_there() == 0;
    puts(right ? "PASS" : "FAIL");
    return 0;
}
"""
UNKNOWN = """
extern "C" int cudaNotThere();
static int not_there() { return cudaNotThere(); }
"""


@pytest.fixture(scope="module")
def scripts() -> Iterator[SimpleNamespace]:
    names = ("programs", "self_checking", "programs_table")
    with pytest.MonkeyPatch.context() as patch:
        for folder in ("pages", "readings", "others_kernels"):
            patch.syspath_prepend(str(SCRIPTS / folder))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def built(scripts: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("program")
    (folder / "own.cu").write_text(UNKNOWN + PROGRAM)
    return scripts.programs.build(folder / "own.cu", folder, [], [])


@pytest.fixture
def program(scripts: SimpleNamespace) -> Any:
    return scripts.self_checking.Program("own", "us/ours", "0" * 40, "own.cu", "PASS", "FAIL")


def verdict(scripts: SimpleNamespace, program: Any, built: Any, what: int, code: bool) -> str:
    run = scripts.programs.run(built, [str(what)], code, again=True)
    return str(scripts.self_checking.verdict(program, run))


@pytest.mark.parametrize("code", [False, True], ids=["ptx", "machine code"])
@pytest.mark.parametrize(
    "what", [0, 2, 5], ids=["pointers and variables", "host threads", "tensor maps"]
)
def test_a_program_runs_with_its_kernels_in_the_emulator(
    scripts: SimpleNamespace, program: Any, built: Any, what: int, code: bool
) -> None:
    assert verdict(scripts, program, built, what, code) == "right"


@pytest.mark.parametrize("code", [False, True], ids=["ptx", "machine code"])
def test_a_program_gets_the_errors_of_the_runtime_and_the_fault_is_told(
    scripts: SimpleNamespace, program: Any, built: Any, code: bool
) -> None:
    said = verdict(scripts, program, built, 1, code)
    assert said.startswith("accused (passed): own.cu:")
    assert "out of bounds" in said


def test_a_launch_that_only_the_checks_stop_is_repeated_without_them(
    scripts: SimpleNamespace, program: Any, built: Any
) -> None:
    said = verdict(scripts, program, built, 3, False)
    assert said.startswith("accused (")
    assert "race" in said
    assert "FAIL" not in said


@pytest.mark.parametrize("code", [False, True], ids=["ptx", "machine code"])
def test_the_repetition_without_checks_may_access_an_allocations_last_page_like_a_gpu(
    scripts: SimpleNamespace, built: Any, code: bool
) -> None:
    ran, paged = (
        scripts.programs.run(built, ["1"], code, again=True, pages=pages) for pages in (False, True)
    )
    assert [each.startswith("without checks: ") for each in ran.faults] == [False, True]
    assert paged.faults == ran.faults[:1]
    assert "a launch that failed is 0, not 719" in paged.said


def test_device_memory_is_unwritten_until_a_copy_or_a_kernel_has_written_it(
    scripts: SimpleNamespace, built: Any
) -> None:
    ran = scripts.programs.run(built, ["6"], False, again=True)
    assert (len(ran.launches), ran.faults) == (4, [])
    ran = scripts.programs.run(built, ["6"], False, again=True, to_first_fault=True)
    assert len(ran.launches) == 4
    assert "uninitialised: read of 4 bytes at offset 128 of buffer 1" in ran.faults[0]
    assert "PASS" not in ran.said


def test_a_call_that_the_stand_in_lacks_is_refused_by_name(
    scripts: SimpleNamespace, program: Any, built: Any
) -> None:
    said = verdict(scripts, program, built, 4, False)
    assert said == "refused: the stand-in of the runtime has no cudaNotThere"


def test_a_program_that_says_nothing_or_launches_nothing_is_not_right(
    scripts: SimpleNamespace, program: Any
) -> None:
    run = scripts.programs.Run(said="PASS", launches=[("k", (1,))])
    assert scripts.self_checking.verdict(program, run) == "right"
    for changed in (replace(run, said=""), replace(run, said="PASS FAIL"), replace(run, status=1),
                    replace(run, launches=[])):  # fmt: skip
        assert scripts.self_checking.verdict(program, changed).startswith("wrong")


def test_every_accusation_in_the_table_was_judged_and_the_table_is_up_to_date(
    scripts: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    listed, found = scripts.self_checking.read(), scripts.self_checking.rows()
    assert {(each.repository, each.name) for each in listed} == set(found)
    for each in listed:
        of = found[each.repository, each.name]
        if any(of[end].startswith(("accused", "wrong")) for end in scripts.self_checking.ENDS):
            assert each.judgement in ("program", "emulator"), each.name
            assert each.reason, each.name
    assert scripts.programs_table.main(["--check"]) == 0, capsys.readouterr().err


def test_nearly_all_programs_that_were_run_are_right_or_rightly_accused_from_both(
    scripts: SimpleNamespace,
) -> None:
    kinds = [
        {scripts.programs_table.kind(each, of[end]) for end in scripts.self_checking.ENDS}
        for each in scripts.self_checking.read()
        for of in [scripts.self_checking.rows()[each.repository, each.name]]
    ]
    good = [each for each in kinds if each <= set(scripts.programs_table.GOOD)]
    assert len(good) >= 166
    assert not any("wrong" in each for each in kinds)
