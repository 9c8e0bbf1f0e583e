"""Counters that got worse are listed, and some of them close a gate."""

from __future__ import annotations

import pytest
from two_runs import (
    IDEAL,
    INSTRUCTIONS,
    WAVEFRONTS,
    Kernel,
    emulated,
    line,
    memory,
    name_of,
    run,
)

from harness import quantities
from harness.analysis.readings import Reading
from harness.comparison import Change, judge
from harness.comparison.regression_metrics import GAUGES, Moved
from harness.journal.counter_records import Counted
from harness.report.comparison import words
from harness.tables import Run


def change(base: Run, new: Run, variant: str = "v1") -> Change:
    [found] = [c for c in judge(base, new).changes if c.name == name_of(variant)]
    return found


def _wide(wavefronts: float) -> Run:
    """A run whose ideal number of wavefronts comes from a model."""
    made = emulated({WAVEFRONTS: wavefronts})
    model = Counted(name_of("v1"), 0, "kernel", IDEAL, 100.0, "", "emulator-model")
    return Run(made.folder, made.info, [*made.records, model])


def keys(moved: Change) -> dict[str, Moved]:
    return {m.gauge.key: m for m in moved.moved}


def test_every_gauge_of_the_catalogue_has_its_place_among_what_is_told() -> None:
    assert sorted(g.key for g in GAUGES) == sorted(quantities.GAUGES)


def test_a_bank_conflict_is_worse_and_closes_the_gate() -> None:
    base = emulated({WAVEFRONTS: 1000.0, IDEAL: 1000.0})
    new = emulated({WAVEFRONTS: 16500.0, IDEAL: 1000.0})
    found = change(base, new)
    assert found.kind == "worse"
    moved = keys(found)["wavefronts-over-ideal"]
    assert (moved.base.value, moved.new.value, moved.decides) == (1.0, 16.5, True)
    assert "wavefronts" not in keys(found), "the same change is told once"
    assert judge(base, new).code == 1
    back = judge(new, base)
    assert (back.code, back.changes[0].kind) == (0, "better")


def test_the_first_use_of_shared_memory_is_worse_where_it_has_conflicts() -> None:
    without = emulated({WAVEFRONTS: 0.0, IDEAL: 0.0}, lines=[line(5, warps=1)])
    after = [line(5, warps=1), line(7, wavefronts=1650, wavefronts_ideal=100)]
    with_conflicts = emulated({WAVEFRONTS: 1650.0, IDEAL: 100.0}, lines=after)
    found = change(without, with_conflicts)
    assert found.kind == "worse"
    moved = keys(found)["wavefronts-over-ideal"]
    assert (moved.base, moved.new) == (None, Reading(16.5, "emulator-exact"))
    assert (moved.decides, str(moved.place)) == (True, "sum/v1.cu:7")
    assert judge(without, with_conflicts).code == 1
    said = "shared-memory wavefronts over the ideal none → 16.5× at sum/v1.cu:7"
    assert words.closing(found) == [said]
    back = change(with_conflicts, without)
    assert (back.kind, keys(back)["wavefronts-over-ideal"].new) == ("better", None)
    free = emulated({WAVEFRONTS: 100.0, IDEAL: 100.0})
    assert change(without, free).kind == "same"
    assert change(free, without).kind == "same"


def test_the_first_use_is_worse_where_only_the_passes_are_exact_too() -> None:
    found = change(emulated({WAVEFRONTS: 0.0, IDEAL: 0.0}), _wide(400))
    assert found.kind == "worse"
    assert keys(found)["wavefronts"].decides
    from_narrow = change(emulated({WAVEFRONTS: 100.0, IDEAL: 100.0}), _wide(400))
    assert from_narrow.kind == "worse", "an exact ideal before, a modelled one now"
    assert keys(from_narrow)["wavefronts"].decides


def test_what_was_not_collected_is_not_taken_for_none() -> None:
    found = change(emulated({}), emulated({WAVEFRONTS: 1650.0, IDEAL: 100.0}))
    assert found.moved == []


def test_more_passes_without_conflicts_are_no_conflict() -> None:
    found = change(emulated({WAVEFRONTS: 100.0, IDEAL: 100.0}),
                   emulated({WAVEFRONTS: 900.0, IDEAL: 900.0}))  # fmt: skip
    assert found.kind == "same"


def test_where_the_ideal_is_a_model_the_exact_passes_decide() -> None:
    found = change(_wide(100), _wide(400))
    assert found.kind == "worse"
    assert keys(found)["wavefronts"].decides


def test_scattered_loads_are_worse_and_wider_ones_are_not() -> None:
    base = emulated(memory(sectors=4000, requests=1000))
    scattered = change(base, emulated(memory(sectors=32000, requests=1000)))
    assert scattered.kind == "worse"
    moved = keys(scattered)["sectors-per-request"]
    assert (moved.base.value, moved.new.value) == (4.0, 32.0)
    wide = change(base, emulated(memory(sectors=4000, requests=250)))
    assert wide.kind == "better", "16 sectors per request and no more in all"
    assert set(keys(wide)) == {"requests"}


def test_loads_of_the_same_width_that_are_done_twice_are_worse() -> None:
    found = change(emulated(memory(4000, 1000)), emulated(memory(8000, 2000)))
    assert found.kind == "worse"
    assert set(keys(found)) == {"sectors", "requests"}


def test_what_is_counted_in_ptx_is_told_and_decides_nothing() -> None:
    base = emulated({INSTRUCTIONS: 1000.0}, provenance="ptx-level")
    found = change(base, emulated({INSTRUCTIONS: 5000.0}, provenance="ptx-level"))
    assert found.kind == "changed"
    assert keys(found)["instructions"].is_worse
    assert not keys(found)["instructions"].decides


def test_counters_counted_in_two_ways_are_not_compared() -> None:
    base = emulated({WAVEFRONTS: 1.0, IDEAL: 1.0})
    new = emulated({WAVEFRONTS: 9.0, IDEAL: 1.0}, provenance="emulator-model")
    assert change(base, new).moved == []


def test_where_both_were_timed_the_time_decides_and_counters_only_tell() -> None:
    conflicts = {WAVEFRONTS: 16500.0, IDEAL: 1000.0}
    base = run({"v0": Kernel(), "v1": Kernel(counters={WAVEFRONTS: 1e3, IDEAL: 1e3})}, 1)
    new = run({"v0": Kernel(), "v1": Kernel(counters=conflicts, sass="2", spill_bytes=8)}, 2)
    found = change(base, new)
    assert found.kind in {"same", "unclear"}
    assert keys(found)["wavefronts-over-ideal"].is_worse
    assert judge(base, new).code == 0


@pytest.mark.parametrize(
    ("was", "now", "kind"),
    [
        ({}, {"spill_bytes": 4}, "worse"),
        ({}, {"stack_bytes": 256}, "worse"),
        ({"stack_bytes": 256}, {}, "better"),
        ({"spill_bytes": 8, "stack_bytes": 8}, {"stack_bytes": 256}, "worse"),
        ({}, {"kernel": "another", "spill_bytes": 4}, "worse"),
        ({"kernel": "another", "stack_bytes": 8}, {}, "better"),
        ({}, {"occupancy": 0.75}, "worse"),
        ({}, {"registers": 40}, "changed"),
        ({"spill_bytes": 16}, {}, "better"),
        ({"registers": 40}, {}, "changed"),
    ],
)
def test_spills_local_memory_and_occupancy_decide_and_registers_are_told(
    was: dict[str, float], now: dict[str, float], kind: str
) -> None:
    base, new = emulated(source="ab", **was), emulated({"x": 1.0}, source="cd", **now)
    found = change(base, new)
    assert found.kind == kind
    assert found.facts
    assert judge(base, new).code == (kind == "worse")


def test_spills_are_told_with_their_line_and_once() -> None:
    after = emulated({"x": 1.0}, source="cd", spill_bytes=16, stack_bytes=24,
                     local_at="/somewhere/kernels/sum/v1.cu:31")  # fmt: skip
    found = change(emulated(), after)
    [fact] = found.facts
    assert (fact.what, str(fact.place)) == ("spilled bytes", "sum/v1.cu:31")
    assert words.closing(found) == ["spilled bytes of kernel 0\u202fB → 16\u202fB at sum/v1.cu:31"]
    [better] = change(after, emulated()).facts
    assert better.place is None


def test_a_function_that_nothing_of_ours_compiled_has_no_local_memory_to_compare() -> None:
    kernels = {"v0": Kernel(None), "v1": Kernel(None, is_library=True)}
    assert change(run(kernels), run(kernels)).facts == []
