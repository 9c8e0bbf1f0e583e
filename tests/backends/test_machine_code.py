"""A case is counted in its machine code; if it can be counted only in PTX, no count is called
exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_problem import KERNEL

from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.backends.machine_code import LISTING, code_of
from harness.cases import Case
from harness.compiler import cache as compile_cache
from harness.emulator.sass.cubin import disassembler
from harness.journal.counter_records import MachineCode, Uncounted
from harness.matrix import model, plan
from harness.run.emulated.emulate import by_front_end, emulate

PREPARED = '({ unsigned v; asm volatile("mov.u32 %0, %%pm0;" : "=r"(v)); v == 99; })'
"""An instruction whose machine code the emulator does not execute; its value is 0."""


@pytest.fixture
def case(folder: Path, cache: Path) -> Callable[[str], tuple[model.Bench, Case]]:
    """The tiny problem's first bench case, whose kernel also contains the given statements."""

    def made(more: str = "0") -> tuple[model.Bench, Case]:
        path = folder / "kernels" / "double" / "v0.cu"
        path.write_text(KERNEL.replace("2 * input[i]", f"2 * input[i] + {more}"))
        bench = model.load(folder / "bench.yaml")
        found = plan.resolve(bench, emulated_device("sm_90"), "emulator").cases
        return bench, next(each for each in found if each.sizes == {"n": 1024})

    return made


def test_counters_are_of_machine_code_and_what_only_ptx_says_stays(
    case: Callable[[str], tuple[model.Bench, Case]],
) -> None:
    found = emulate(*case(), "sm_90")
    by = {count.metric: count for count in found.counts}
    ptx, machine = by_front_end(*case(), "sm_90")
    assert isinstance(machine, Execution)
    instructions = by["smsp__inst_executed.sum"]
    assert instructions.provenance == "machine-exact"
    assert instructions.value == sum(
        each.warps for code in machine.machine_code for each in code.instructions
    )
    assert by["distinct_sectors_read"].provenance == "emulator-model"
    assert len(by) == len(found.counts) == len({c.metric for c in ptx.counts + machine.counts})
    assert found.faults == ()
    assert ptx.outputs["output"].tobytes() == machine.outputs["output"].tobytes()


def test_a_line_has_what_its_machine_instructions_cost(
    case: Callable[[str], tuple[model.Bench, Case]],
) -> None:
    found = emulate(*case(), "sm_90")
    [code] = found.machine_code
    assert isinstance(code, MachineCode)
    own = [each for each in code.instructions if each.line == 3]
    [line] = [each for each in found.lines if each.line == 3]
    assert (line.warps, line.provenance) == (sum(each.warps for each in own), "machine-exact")
    [load] = [each for each in own if each.text.startswith("LDG")]
    assert (load.requests, load.sectors) == (line.requests, line.sectors) == (32, 128)
    assert line.store_sectors == 128


def test_what_machine_code_cannot_be_executed_for_is_counted_in_ptx_and_not_exact(
    case: Callable[[str], tuple[model.Bench, Case]],
) -> None:
    ptx, refusal = by_front_end(*case(PREPARED), "sm_90")
    assert isinstance(refusal, str)
    assert "v0.cu:3: the emulator does not know the machine instruction `" in refusal
    assert "SR_PM0" in refusal
    assert "emulator-exact" in {count.provenance for count in ptx.counts}
    found = emulate(*case(PREPARED), "sm_90")
    assert not {"emulator-exact", "machine-exact"} & {count.provenance for count in found.counts}
    assert {line.provenance for line in found.lines} == {"ptx-level"}


MIXED = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    __shared__ DTYPE shared[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? input[i] : 0;
    const DTYPE* own = i % n % 2 ? &input[i < n ? i : 0] : &shared[threadIdx.x];
    if (i < n) output[i] = 2 * *own;
}
"""


def test_what_is_not_counted_has_its_reason_in_place_of_a_number(
    case: Callable[[str], tuple[model.Bench, Case]], folder: Path
) -> None:
    bench, made = case()
    (folder / "kernels" / "double" / "v0.cu").write_text(MIXED)
    found = emulate(bench, made, "sm_90")
    assert found.faults == ()
    assert len(found.counts) == len({each.metric for each in found.counts})
    missing = {each.metric: each.reason for each in found.counts if isinstance(each, Uncounted)}
    loads = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    assert missing[loads].startswith("not collected: lanes of one `LD.E`")
    assert "v0.cu:6" in missing[loads]
    assert loads.replace("_ld", "_st") not in missing
    assert {4, 6} & {each.line for each in found.lines} == {4}


def test_a_listing_lies_beside_its_cubin_and_is_used_again(
    case: Callable[[str], tuple[model.Bench, Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = emulate(*case(), "sm_90")
    assert len(list(compile_cache.CACHE.glob(f"*/{LISTING}"))) == 1
    code_of.cache_clear()
    monkeypatch.delattr(disassembler, "printed")
    assert emulate(*case(), "sm_90").counts == first.counts


def test_of_an_architecture_that_nobody_read_no_count_is_called_the_hardwares(
    case: Callable[[str], tuple[model.Bench, Case]],
) -> None:
    found = emulate(*case(), "sm_80")
    assert found.machine_code
    by = {count.metric: count.provenance for count in found.counts}
    assert by["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == "code-exact"
    assert by["smsp__inst_executed.sum"] == "code-exact"
    assert by["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == "hopper-rules"
    assert by["memory_l1_wavefronts_shared"] == "hopper-rules"
    assert {line.provenance for line in found.lines} == {"hopper-rules"}
    assert not {"machine-exact", "emulator-exact"} & set(by.values())
