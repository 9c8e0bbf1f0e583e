"""Hopper's asynchronous instructions in Blackwell's machine code: the same results and the same
faults as from PTX.

`SYNCS.CCTL.IVALL` and `R2UR.BROADCAST` occur only in Blackwell's code. It also differs from sm_90's
code in where it reads the driver's data on clusters and, on sm_120, in how it copies to another
block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from emulator_tools import FAULTY, CompilePtx
from kernel_files import BUDGET, asked
from sass.asynchronous.both import Both, Case, launched, launched_alike, together
from sass.asynchronous.test_clusters_and_faults import CASES as FAULTY_CASES
from sass.asynchronous.test_clusters_and_faults import FOUND, WRONG
from sass.asynchronous.test_same_as_ptx import CASES
from sass.conftest import ReadSource

from harness.emulator import LaunchError, launch
from harness.emulator.sass import MachineCode, launch_machine_code

ARCHES = ("sm_100a", "sm_120a")
ELSEWHERE = "multicast"
"""The case that copies to other blocks: sm_120's code does so through the driver."""


@pytest.fixture(scope="module", params=ARCHES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return together(CASES, tmp_path_factory.mktemp("blackwell"), request.param)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_machine_code_of_blackwell_leaves_the_same_bits_as_ptx(both: Both, case: Case) -> None:
    if case.name == ELSEWHERE and both.code.arch == "sm_120":
        with pytest.raises(LaunchError, match=r"CALL\.ABS.*copies to another block's shared"):
            launched(both, case)
        return
    code = launched_alike(both, case)
    assert {each.provenance for each in code.counters} <= {
        "code-exact", "hopper-rules", "emulator-model"
    }  # fmt: skip


def test_counters_of_copies_and_of_other_blocks_rest_on_rules_read_on_hopper(both: Both) -> None:
    for name, told in (("store_1d", "op_tma_st"), ("remote_load", "op_dshared_ld")):
        _, code, *_ = launched(both, next(case for case in CASES if case.name == name))
        found = [each for each in code.counters if told in each.name]
        assert any(each.value for each in found)
        assert {each.provenance for each in found} <= {"hopper-rules", "emulator-model"}


def _texts(code: MachineCode) -> Iterator[str]:
    return (each.text for function in code.functions.values() for each in function.instructions)


def test_the_forms_of_blackwell_alone_occur_in_these_kernels(both: Both) -> None:
    texts = list(_texts(both.code))
    for form in ("SYNCS.CCTL.IVALL", "R2UR.BROADCAST", "SR_CgaSize", "UCGABAR_ARV"):
        assert any(form in text for text in texts), form


STORED = """extern "C" __global__ void k(int* out) {
    __shared__ unsigned long long own[4];
    const unsigned int i = threadIdx.x, at = (unsigned int)__cvta_generic_to_shared(&own[i & 3]);
    if (i < 4) asm volatile("mbarrier.init.shared::cta.b64 [%0], 8;" :: "r"(at) : "memory");
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at) : "memory");
    unsigned int ended;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p; }" : "=r"(ended) : "r"(at) : "memory");
    out[i] = ended;
}"""


@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_a_stored_mbarrier_is_one_only_after_the_instruction_that_looks_for_it(
    read_source: ReadSource, compile_ptx: CompilePtx, arch: str
) -> None:
    code, ours, theirs = read_source(STORED, arch), *np.full((2, 32), 7, np.int32)
    function = code.functions["k"]
    names = [each.name for each in function.instructions]
    assert "STS.64" in names
    assert "SYNCS.EXCH.64" not in names
    assert not launch_machine_code(code, "k", 1, 32, [ours]).faults
    assert not launch(compile_ptx(STORED, arch), "k", 1, 32, [theirs]).faults
    assert ours.tolist() == theirs.tolist() == [1] * 32
    blind = read_source(STORED, arch)
    kept = [
        replace(each, opcode="NOP", modifiers=()) if each.name == "SYNCS.CCTL.IVALL" else each
        for each in function.instructions
    ]
    blind.functions["k"] = replace(function, instructions=tuple(kept))
    (fault,) = launch_machine_code(blind, "k", 1, 32, [ours]).faults
    assert fault.kind == "mbarrier"
    assert "that nobody has set up" in fault.message


@pytest.fixture(scope="module", params=ARCHES)
def wrong(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    cases = list(FAULTY_CASES.values())
    return together(cases, tmp_path_factory.mktemp("wrong"), request.param)


@pytest.mark.parametrize("name", WRONG)
def test_what_hangs_or_is_outside_is_a_fault_on_blackwell_too(wrong: Both, name: str) -> None:
    kind, _, words = WRONG[name]
    _, code, *_ = launched(wrong, FAULTY_CASES[name])
    (fault,) = code.faults
    assert fault.kind == kind
    assert words in fault.message


@pytest.mark.parametrize("name", FOUND)
def test_a_mistake_is_found_in_blackwells_machine_code_alone(
    read_source: ReadSource, name: str
) -> None:
    how, (kind, words) = asked(FAULTY / f"{name}.cu"), FOUND[name]
    code = read_source(FAULTY / f"{name}.cu", "sm_120")
    report = launch_machine_code(
        code, how.kernel, how.grid, how.block, how.copied(), *how.shared,
        max_thread_instructions=BUDGET,
    )  # fmt: skip
    (fault,) = report.faults
    assert fault.kind == kind
    assert words in fault.message
