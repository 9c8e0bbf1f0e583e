"""Random kernels give the same bits and the same counts as a scalar interpreter of the PTX ISA.

`reference` generates the kernels and interprets them. A failure prints the smallest kernel that
Hypothesis found; `scripts/fuzzing/fuzz_emulator.py` runs more kernels than a test should.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from reference import semantics
from reference.comparison import compare
from reference.kernel import PARAMETERS, Guard, If, Instr, Kernel, Leave, Load, Loop, Reg, Store
from reference.strategies import OUTPUT, Case, cases

# Deterministic, so a new failure is due to a change.
EVERYDAY = settings(
    max_examples=160, derandomize=True, database=None,
    phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
)  # fmt: skip
R0, R1, P0, THREAD = Reg("b32", "%r0"), Reg("b32", "%r1"), Reg("pred", "%p0"), Reg("b32", "%thread")


@pytest.fixture(autouse=True)
def engine() -> None:
    """A comparison runs both engines."""


@EVERYDAY
@given(cases())
def test_results_and_counts_of_random_kernels_are_those_of_a_scalar_interpreter(case: Case) -> None:
    """Memory is equal bit by bit, thread instructions are equal by opcode, and neither depends on
    `chunk_threads`.

    Warp instructions are compared as well, but only if all schemes of reconvergence agree on them:
    they are not compared if a lane breaks, continues or exits inside a branch, or exits in a loop.
    The test is slow, because it takes many kernels to find two features that fail together, and
    each kernel is interpreted thread by thread and launched three times.
    """
    note(case.kernel.ptx())
    found = compare(case)
    assert not found.differences, "\n".join(found.differences)


def _case(*body: object) -> Case:
    """The kernel stores the value that the body leaves in `%r0`, which is initially the thread
    index; 2 blocks of 40 threads."""
    start = (
        Load("param", "u64", OUTPUT, "output"),
        Instr("mov.b32", THREAD, ("%tid.x",)),
        Instr("mad.lo.u32", R1, ("%ctaid.x", 40, THREAD)),
        Instr("mad.wide.u32", OUTPUT, (R1, 8, OUTPUT)),
        Instr("mov.b32", R0, (THREAD,)),
    )
    end = (Store("global", "u32", OUTPUT, R0),)
    return Case(Kernel((*start, *body, *end)), (2, 1, 1), (40, 1, 1), 1, 5)  # type: ignore[arg-type]


def test_the_comparison_notices_a_wrong_result_in_one_instruction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = _case(Instr("bfind.s32", R0, (R0,)))
    assert not compare(case).differences
    wrong = replace(semantics.OPCODES["bfind.s32"], meaning=lambda a: a.bit_length())
    monkeypatch.setitem(semantics.OPCODES, "bfind.s32", wrong)
    assert any("words of output differ" in text for text in compare(case).differences)


def test_the_comparison_notices_an_instruction_more_or_less() -> None:
    class Miscounted(Kernel):
        def ptx(self) -> str:
            return super().ptx().replace("add.u32 %r0, %r0, 3;", "add.u32 %r0, %r0, 2; "
                                         "add.u32 %r0, %r0, 1;")  # fmt: skip

    case = _case(Instr("add.u32", R0, (R0, 3)))
    assert not compare(case).differences
    differences = compare(replace(case, kernel=Miscounted(case.kernel.body))).differences
    assert any("thread instructions add.u32, expected 80" in text for text in differences)
    assert any("warp instructions" in text for text in differences)
    assert not any("words" in text for text in differences)


def test_the_comparison_notices_what_the_emulator_refuses() -> None:
    class Misspelt(Kernel):
        def ptx(self) -> str:
            return super().ptx().replace("add.u32", "addd.u32")

    case = _case(Instr("add.u32", R0, (R0, 3)))
    differences = compare(replace(case, kernel=Misspelt(case.kernel.body))).differences
    assert "UnknownInstruction" in differences[0]


def test_warp_counts_are_left_alone_where_schemes_of_reconvergence_differ() -> None:
    odd = Guard(P0)

    def loop(*body: object) -> Case:
        start = Instr("setp.gt.u32", P0, (THREAD, 7))
        made = Loop(Reg("b32", "%n"), Reg("pred", "%q"), 0, 3, 1, body)  # type: ignore[arg-type]
        return _case(start, made)

    assert compare(loop(Leave("break", odd))).warps_compared
    assert compare(loop(If(odd, (Leave("continue", odd),)))).warps_compared is False
    assert compare(loop(Leave("exit", odd))).warps_compared is False
    assert compare(_case(Instr("setp.gt.u32", P0, (THREAD, 7)), Leave("ret", odd))).warps_compared


def test_a_kernel_prints_with_its_parameters_in_order() -> None:
    text = _case().kernel.ptx()
    places = [text.index(f".param .{type_} {name}") for type_, name in PARAMETERS]
    assert places == sorted(places)
