"""A tensor map among a launch's arguments: encoded by the driver on a GPU, and by the emulator
here."""

from __future__ import annotations

import csv
import ctypes
import io
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_library_calls import cuda, log  # noqa: F401 - fixtures
from typing_commands import harness

from harness import tables
from harness.backends.base import scalar_or_buffer
from harness.backends.cuda import tensor_maps
from harness.backends.emulated_device import emulated_device
from harness.cases import Step, TensorMap
from harness.compiler.compile import build
from harness.compiler.parameters import Parameter
from harness.compiler.units import Unit
from harness.errors import LaunchError
from harness.matrix import model, plan
from harness.run.emulated.emulate import emulate
from harness.silicon.tensor_maps import TensorLayout

LAYOUT = TensorLayout(
    "bf16", (72, 33, 5), (64, 32, 1), (160, 8000), swizzle="128B", fill="nan", l2="256B"
)
MAP = TensorMap("input", LAYOUT)


def bound(kind: str, argument: Any) -> list[Any]:
    step = Step("k", (1, 1, 1), (1, 1, 1), 0, (argument,))
    return list(scalar_or_buffer([Parameter("p", kind)], step, "v0.cu"))


def test_a_map_goes_where_the_kernel_takes_one() -> None:
    assert bound("b8[128]", MAP) == [MAP]


@pytest.mark.parametrize("kind", ["u64", "b8[64]", "u32"])
def test_a_map_goes_nowhere_else(kind: str) -> None:
    with pytest.raises(LaunchError) as caught:
        bound(kind, MAP)
    assert f"argument 1: a tensor map of input, but the kernel takes a {kind}" in str(caught.value)
    assert "const __grid_constant__ CUtensorMap" in str(caught.value)


@pytest.mark.parametrize("argument", ["input", 7])
def test_nothing_else_goes_where_a_map_is_taken(argument: str | int) -> None:
    with pytest.raises(LaunchError, match=r"write \{tensor_map: …\}"):
        bound("b8[128]", argument)


def test_a_map_lies_where_the_compiler_put_it(cuda: Any) -> None:  # noqa: F811
    each = ["c", np.uint32(1), MAP, np.uint32(2), MAP, "d", np.int32(3)]
    packed = cuda.calls.format_of(each, [0, 8, 112, 240, 368, 496, 504])
    assert packed == "0xP0xI100x128s0xI124x128s0xP0xi"
    assert struct.calcsize(packed) == 508


def test_without_a_map_each_lies_on_a_multiple_of_its_size(cuda: Any) -> None:  # noqa: F811
    assert cuda.calls.format_of([np.uint32(1), "c", np.int32(3)], None) == "IPi"


def test_the_first_map_of_a_kernel_for_sm_90_does_not_begin_its_parameters(
    cuda: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    source = (
        '#include <cuda.h>\nextern "C" __global__ void k(const __grid_constant__ '
        "CUtensorMap map, int* c) { *c = *reinterpret_cast<const int*>(&map); }\n"
    )
    kernel = tmp_path / "k.cu"
    kernel.write_text(source)
    built = build(Unit(kernel, (), (), "sm_90"))
    kept = SimpleNamespace(_file=built.cubin, _built=built)
    first, second = cuda.calls.Module.offsets(kept, "k")
    assert first > 0
    assert second == first + 128


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the arguments of the driver's encoding function; a stand-in writes the bytes 0 … 127
    to the address in the first one."""
    given: list[Any] = []

    def encode(to: ctypes.c_void_p, *others: Any) -> int:
        assert to.value is not None
        assert to.value % 64 == 0
        given[:] = [list(one) if isinstance(one, ctypes.Array) else one.value for one in others]
        ctypes.memmove(to, bytes(range(128)), 128)
        return 1 if given[2] % 16 else 0

    library = SimpleNamespace(cuTensorMapEncodeTiled=encode)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    return given


def test_the_driver_gets_the_numbers_in_the_order_of_its_manual(driver: list[Any]) -> None:
    assert tensor_maps.encoded(LAYOUT, 4096) == bytes(range(128))
    # type, rank, address, dimensions, strides, box, steps, interleave, swizzle, promotion, fill
    assert driver == [9, 3, 4096, [72, 33, 5], [160, 8000], [64, 32, 1], [1, 1, 1], 0, 3, 3, 1]


def test_a_refusal_of_the_drivers_says_what_was_asked(driver: list[Any]) -> None:
    with pytest.raises(LaunchError, match=r"error 1\n.*element='bf16', shape=\(72, 33, 5\)"):
        tensor_maps.encoded(LAYOUT, 4104)


def test_a_driver_that_knows_no_maps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    with pytest.raises(LaunchError, match=r"since CUDA 12\.0"):
        tensor_maps.encoded(LAYOUT, 4096)


PROBLEM = """\
from harness.problem import Buffer, Problem, Work


class Double(Problem):
    title = "output[i] = 2 input[i]"

    def buffers(self, sizes, dtype):
        n = sizes["n"]
        return [
            Buffer("input", "input", dtype, n),
            Buffer("scratch", "scratch", dtype, n),
            Buffer("output", "output", dtype, n),
        ]

    def inputs(self, sizes, dtype, rng, draw):
        return {"input": rng.random(sizes["n"]).astype("float32")}

    def reference(self, sizes, dtype, inputs):
        return {"output": 2.0 * inputs["input"].astype("float64")}

    def tolerance(self, sizes, dtype, inputs):
        return {"output": 0}

    def work(self, sizes, dtype):
        return Work(4 * sizes["n"], 4 * sizes["n"], sizes["n"])
"""
KERNELS = r"""
#include <cuda.h>
extern "C" __global__ void into(const __grid_constant__ CUtensorMap from,
                                const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(128) float tile[8 * 32];
    __shared__ unsigned long long barrier;
    const unsigned at = (unsigned)__cvta_generic_to_shared(tile);
    const unsigned mine = (unsigned)__cvta_generic_to_shared(&barrier);
    const int row = 8 * blockIdx.x;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "fence.proxy.async.shared::cta;\n\t"
                 "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;\n\t"
                 "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%1], [%2, {%3, %4}], [%0];\n\t"
                 "{.reg .pred p;\n\t"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n\t"
                 "@!p bra again;}\n\t"
                 "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%5, {%3, %4}], [%1];"
                 "cp.async.bulk.commit_group;\n\t"
                 "cp.async.bulk.wait_group 0;"
                 :: "r"(mine), "r"(at), "l"(&from), "r"(0), "r"(row), "l"(&to) : "memory");
}
extern "C" __global__ void twice(const float* scratch, float* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = 2 * scratch[i];
}
"""
STEPS = """\
          - kernel: into
            grid: ceil_div(n, 256)
            block: 1
            args:
              - {tensor_map: input, shape: [32, n // 32], box: [32, 8], swizzle: 128B}
              - {tensor_map: scratch, shape: [32, TALL], box: [32, 8], swizzle: 128B}
          - kernel: twice
            grid: ceil_div(n, block)
            block: block
            args: [scratch, output, n]
"""


@pytest.fixture
def through_scratch(edited: Callable[[str, str], Path], cache: Path) -> Callable[[str], Any]:
    """Execute the two launches at n = 320, with the given number of rows in the tensor map of the
    scratch buffer."""

    def run(tall: str) -> Any:
        path = edited("[2**10]", "[320]")
        edited("[1, 33]", "[64]")
        old = path.read_text().partition("          - kernel")[2].partition("timing:")[0]
        edited("          - kernel" + old, STEPS.replace("TALL", tall))
        folder = path.parent / "kernels" / "double"
        (folder / "problem.py").write_text(PROBLEM)
        (folder / "v0.cu").write_text(KERNELS)
        bench = model.load(path)
        case = plan.resolve(bench, emulated_device("sm_90"), "emulator").cases[0]
        return emulate(bench, case, "sm_90", draw=0)

    return run


def test_what_a_copy_by_a_map_wrote_the_next_launch_may_read(
    through_scratch: Callable[[str], Any],
) -> None:
    found = through_scratch("n // 32")
    assert not found.faults
    assert np.all(found.outputs["output"] > 0)


def test_what_a_map_left_out_nothing_has_written(through_scratch: Callable[[str], Any]) -> None:
    found = through_scratch("n // 32 - 1")
    [fault] = found.faults
    assert "`scratch`" in fault


def test_the_drivers_bytes_are_listed_and_its_verdict_held_to_our_rules(
    script_of: Callable[[str], Any], driver: list[Any]
) -> None:
    script, table = script_of("on_gpu"), io.StringIO()
    maps = script.every()
    assert len(set(maps)) == len(maps)
    assert {each.layout.rank for each in maps if not each.refused} == {1, 2, 3, 4, 5}
    differ = script.write(maps, table)
    rows = list(csv.DictReader(io.StringIO(table.getvalue())))
    assert len(rows) == len(maps)
    taken = [row for row in rows if row["status"] == "0"]
    assert {row["bytes"] for row in taken} == {bytes(range(128)).hex()}
    # The stand-in rejects a misaligned address and nothing else.
    assert [each.address % 16 for each in differ] == [0] * len(differ)
    assert len(differ) == sum(bool(each.refused) for each in maps) - 1


@pytest.mark.gpu
def test_on_a_gpu_a_kernel_that_takes_maps_is_right(tmp_path: Path) -> None:
    out = tmp_path / "run"
    ended = harness("run", "--quick", "--backend", "cuda", "--only", "gemm_bf16/v3*", "--out", out)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    statuses = {outcome.status for outcome in tables.load(out).outcomes.values()}
    assert statuses <= {"ok", "skipped"}  # GPUs before Hopper have no tensor maps
