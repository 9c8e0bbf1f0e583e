"""Budgets in runs with invented figures: met, broken, and impossible to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.analysis.budgets import Check, checks
from harness.errors import JournalError
from harness.journal.counter_records import Counted, Provenance, SourceLine
from harness.journal.records import Compiled, Outcome, Planned, Record
from harness.tables import Run

CASE = "sum/v0/float32/n=64"
WAVES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
LOADS = {"requests_pipe_lsu_mem_global_op_{}.sum": 10.0, "sectors_pipe_lsu_mem_global_op_{}.sum": 0}
NO_GLOBAL = {
    f"l1tex__t_{what.format(op)}": 0.0 for what in LOADS for op in ("ld", "st", "red", "atom")
}


def checked(
    expect: Mapping[str, str],
    counters: Sequence[Mapping[str, float]] = (),
    provenance: Provenance = "emulator-exact",
    more: Sequence[Record] = (),
    outcome: Outcome | None = None,
) -> list[Check]:
    """Check the budgets of a case that has one launch for each set of counters."""
    kernels = tuple(f"kernel_{i}" for i in range(max(len(counters), 1)))
    records: list[Record] = [
        Planned(CASE, "sum", "v0", "float32", {"n": 64}, {}, 256, 64, True, False, kernels,
                expect=dict(expect)),
        outcome or Outcome(CASE, "ok"),
        *more,
    ]  # fmt: skip
    for step, figures in enumerate(counters):
        records += [
            Counted(CASE, step, kernels[step], name, value, "", provenance)
            for name, value in figures.items()
        ]
    info = {"timing": {"confidence": 0.95, "same_within": 0.01}}
    return checks(Run(Path("nowhere"), info, records))


def one(*args: object, **more: object) -> Check:
    [found] = checked(*args, **more)  # type: ignore[arg-type]
    return found


def line(number: int, **figures: int) -> SourceLine:
    zeros = dict.fromkeys(("warps", "threads", "requests", "sectors", "wavefronts",
                           "wavefronts_ideal"), 0)  # fmt: skip
    return SourceLine(CASE, 0, "kernels/sum/v0.cu", number, **{**zeros, **figures})


def compiled(
    step: int, spill_bytes: int = 0, occupancy: float = 1.0, local_at: str = ""
) -> Compiled:
    return Compiled(CASE, step, f"kernel_{step}", "", "", 32, 0, spill_bytes, 0, 256, occupancy,
                    "warps", local_at=local_at)  # fmt: skip


def test_broken_spills_name_their_line_where_the_machine_code_tells() -> None:
    at = "/somewhere/kernels/sum/v0.cu:31"
    found = one({"spills": "none"}, more=[compiled(0, spill_bytes=8, local_at=at)])
    assert found.text == f"spills is 8, expected none (measured) at {at}"


def test_bank_conflicts_are_the_wavefronts_beyond_the_ideal_of_all_launches() -> None:
    kept = one({"bank_conflicts": "none"}, [{WAVES: 8, IDEAL: 8}, {WAVES: 1, IDEAL: 1}])
    assert (kept.status, kept.value, kept.provenance) == ("kept", 0, "emulator-exact")
    broken = one({"bank_conflicts": "none"}, [{WAVES: 8, IDEAL: 8}, {WAVES: 17, IDEAL: 1}])
    assert (broken.status, broken.value) == ("broken", 16)


def test_a_broken_budget_names_the_line_that_does_most_against_it() -> None:
    lines = [line(30, wavefronts=900, wavefronts_ideal=900, requests=9, sectors=36),
             line(31, wavefronts=40, wavefronts_ideal=8),
             line(32, requests=1, sectors=32, store_requests=1, store_sectors=4)]  # fmt: skip
    conflicts = one({"bank_conflicts": "none"}, [{WAVES: 940, IDEAL: 908}], more=lines)
    assert conflicts.where == "kernels/sum/v0.cu:31"
    assert conflicts.text == (
        "bank_conflicts is 32, expected none (emulator-exact) at kernels/sum/v0.cu:31"
    )
    figures = {**NO_GLOBAL, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 10.0,
               "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 68.0}  # fmt: skip
    sectors = one({"sectors_per_load": "<= 4"}, [figures], more=lines)
    assert (sectors.value, sectors.where) == (6.8, "kernels/sum/v0.cu:32")
    too_few = one({"sectors_per_load": ">= 16"}, [figures], more=lines)
    assert too_few.where == "kernels/sum/v0.cu:30"


def test_every_launch_keeps_what_is_expected_of_the_compiler_not_the_main_one_alone() -> None:
    made = [compiled(0), compiled(1, spill_bytes=8, occupancy=0.5)]
    found = checked({"spills": "none", "theoretical_occupancy": ">= 0.75", "registers": "== 32"},
                    [{}, {}], more=made)  # fmt: skip
    assert [(c.status, c.value, c.where) for c in found] == [
        ("broken", 8, "kernel kernel_1"), ("broken", 0.5, "kernel kernel_1"), ("kept", 32, ""),
    ]  # fmt: skip


def test_what_was_counted_in_ptx_or_modelled_judges_nothing_and_says_so() -> None:
    for provenance in ("ptx-level", "emulator-model"):
        found = one({"barriers": "none"}, [{"barrier_instructions": 8}], provenance)
        assert (found.status, found.value, found.provenance) == ("not checked", 8, provenance)
        assert found.reason
    assert one({"barriers": "none"}, [{"barrier_instructions": 8}], "ncu").status == "broken"


def test_a_counter_by_its_own_name_adds_up_over_launches_unless_it_is_a_ratio() -> None:
    amounts = [{"flops_fp64": 3.0}, {"flops_fp64": 4.0}]
    assert one({"flops_fp64": "== 7"}, amounts, "ncu").status == "kept"
    name = "smsp__thread_inst_executed_per_inst_executed.ratio"
    ratios = [{name: 20.0, "smsp__inst_executed.sum": 5.0},
              {name: 32.0, "smsp__inst_executed.sum": 9.0}]  # fmt: skip
    assert one({name: "== 32"}, ratios, "ncu").status == "kept"  # of the main launch


def test_what_was_not_collected_or_not_run_is_not_checked_with_the_reason() -> None:
    assert one({"bank_conflicts": "none"}).reason == "not collected"
    assert one({"bank_conflicts": "none"}, [{WAVES: 8}]).status == "not checked"
    skipped = Outcome(CASE, "skipped", "not counted: 64 MiB exceed\nmore")
    found = one({"bank_conflicts": "none"}, outcome=skipped)
    assert (found.status, found.reason) == ("not checked", "not counted: 64 MiB exceed")
    failed = one({"spills": "none"}, more=[compiled(0)], outcome=Outcome(CASE, "failed", "wrong"))
    assert (failed.status, failed.reason) == ("not checked", "the case failed")


def test_a_skipped_case_that_was_compiled_is_judged_by_what_was_compiled() -> None:
    skipped = Outcome(CASE, "skipped", "too large to be counted")
    found = one({"spills": "none"}, more=[compiled(0, spill_bytes=4)], outcome=skipped)
    assert (found.status, found.value) == ("broken", 4)


@pytest.mark.fault(
    "a budget in a journal that is none",
    outcome="Refused with the case and the text, as any line that the harness did not write.",
)
def test_a_budget_that_is_none_is_refused_with_its_case() -> None:
    with pytest.raises(JournalError, match=r"expects `<= many` of sum/v0/float32/n=64"):
        checked({"spills": "<= many"})


def test_a_run_that_expects_nothing_has_no_checks() -> None:
    assert checked({}, [{WAVES: 8, IDEAL: 1}]) == []


TMA_SECTORS = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"
WITH_A_COPY = {**NO_GLOBAL, TMA_SECTORS: 32.0}


def test_a_budget_on_copies_sums_launches_and_one_without_copies_has_none() -> None:
    kept = one({TMA_SECTORS: "<= 64"}, [WITH_A_COPY, NO_GLOBAL, WITH_A_COPY], "machine-exact")
    assert (kept.status, kept.value, kept.provenance) == ("kept", 64, "machine-exact")
    broken = one({TMA_SECTORS: ">= 1"}, [NO_GLOBAL], "machine-exact")
    assert broken.text == f"{TMA_SECTORS} is 0, expected at least 1 (machine-exact)"


@pytest.mark.parametrize("provenance", ["emulator-exact", "ncu"])
def test_copies_that_nobody_counted_are_not_none(provenance: Provenance) -> None:
    found = one({TMA_SECTORS: "none"}, [NO_GLOBAL], provenance)
    assert (found.status, found.reason) == ("not checked", "not collected")


def test_a_counter_that_every_launch_has_is_not_none_where_it_is_missing() -> None:
    found = one({WAVES: "none"}, [NO_GLOBAL], "machine-exact")
    assert (found.status, found.reason) == ("not checked", "not collected")
