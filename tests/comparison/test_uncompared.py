"""A change that was not compared exactly, or a budget that was not checked, closes the gate, with
exit code 3."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from two_runs import IDEAL, INSTRUCTIONS, WAVEFRONTS, Kernel, emulated, memory, name_of, run

from harness.comparison import Judgement, judge
from harness.comparison.uncompared import BY_A_MODEL
from harness.journal.counter_records import Counted
from harness.journal.records import IN_PTX_ALONE, Compiled, Planned, Remark
from harness.report.comparison import files
from harness.tables import Run

TOO_LARGE = "verified at the test sizes, but not counted: 2,048 MiB"
UNCOUNTED = Kernel(None, status="skipped", reason=TOO_LARGE)
COUNTED = Kernel(None, {INSTRUCTIONS: 1000.0}, "machine-exact")


def of_v1(was: Kernel, now: Kernel) -> Judgement:
    return judge(run({"v0": COUNTED, "v1": was}), run({"v0": COUNTED, "v1": now}))


def at_two_sizes(small: Kernel, large: Kernel) -> Run:
    one, other = (run({"v1": k}, n=n) for k, n in ((small, 1024), (large, 2**28)))
    return Run(one.folder, one.info, [*one.records, *other.records])


def with_budget(made: Run, text: str, name: str = "bank_conflicts") -> Run:
    records = [
        replace(r, expect={name: text}) if isinstance(r, Planned) and r.variant == "v1" else r
        for r in made.records
    ]
    return Run(made.folder, made.info, records)


@pytest.mark.fault(
    "a kernel of a pull request changed, and none of its sizes is counted",
    outcome="`--gate` exits with 3 and names the variant and why nothing was counted",
)
@pytest.mark.parametrize(
    "changed",
    [
        {"sass": "another"}, {"launched": "another argument"}, {"data": "another constant"},
        {"waves": 1.0}, {"made_from": {"sum/problem.py": "other inputs"}},
    ],
    ids=["code", "argument", "constant", "grid", "inputs"],
)  # fmt: skip
def test_what_changed_and_was_not_counted_closes_with_3(changed: dict[str, object]) -> None:
    judgement = of_v1(UNCOUNTED, replace(UNCOUNTED, **changed))  # type: ignore[arg-type]
    assert judgement.code == 3
    assert judgement.untold == [f"sum/v1 changed, and was not compared: {TOO_LARGE} (1 case)"]
    assert judgement.untold_cases == {name_of("v1"): f"was not compared: {TOO_LARGE}"}
    [told] = [c for c in files.as_data(judgement)["cases"] if c["variant"] == "v1"]
    assert told["cannot_tell"] == f"was not compared: {TOO_LARGE}"
    assert of_v1(UNCOUNTED, UNCOUNTED).code == 0, "nothing changed"


def test_one_size_that_was_counted_speaks_for_the_others_at_which_the_same_changed() -> None:
    base = at_two_sizes(COUNTED, UNCOUNTED)
    everywhere = at_two_sizes(replace(COUNTED, sass="2"), replace(UNCOUNTED, sass="2"))
    assert judge(base, everywhere).code == 0
    only_large = at_two_sizes(COUNTED, replace(UNCOUNTED, sass="2"))
    assert judge(base, only_large).code == 3
    other_launch = at_two_sizes(replace(COUNTED, sass="2"),
                                replace(UNCOUNTED, sass="2", launched="64 rounds"))  # fmt: skip
    assert judge(base, other_launch).code == 3


def test_another_launch_speaks_for_no_other_size_nor_does_code_that_is_not_known() -> None:
    base = at_two_sizes(COUNTED, UNCOUNTED)
    launched = {"launched": "64 rounds if n is large"}
    changed = at_two_sizes(replace(COUNTED, **launched), replace(UNCOUNTED, **launched))
    assert judge(base, changed).code == 3
    unknown = {"sass": "", "made_from": {"sum/v1.cu": "2"}}
    changed = at_two_sizes(replace(COUNTED, **unknown), replace(UNCOUNTED, **unknown))  # type: ignore[arg-type]
    assert judge(base, changed).code == 3


@pytest.mark.fault(
    "a changed kernel is counted in PTX alone, as its machine code cannot be read",
    outcome="`--gate` exits with 3 and says why the machine code was not counted",
)
def test_what_changed_and_was_counted_in_ptx_closes_with_3_and_says_why() -> None:
    base = emulated(provenance="machine-exact")
    new = emulated({"x": 1.0}, provenance="ptx-level")
    noted = Remark("sum", "v1", "float32", f"{IN_PTX_ALONE}: no nvdisasm", "ptx-level")
    judgement = judge(base, Run(new.folder, new.info, [*new.records, noted]))
    assert judgement.code == 3
    assert judgement.untold[0].startswith("sum/v1 changed, and was counted in PTX alone")
    assert "no nvdisasm" in judgement.untold[0]
    suite = ElementTree.fromstring(files.junit(judgement))[0]
    [skipped] = suite.findall("testcase/skipped")
    assert "counted in PTX alone" in skipped.attrib["message"], "no system takes it for passed"
    assert judge(Run(new.folder, new.info, [*new.records, noted]), base).code == 3, "either side"
    assert judge(new, new).code == 0, "nothing changed"


def test_what_waits_for_others_is_counted_by_a_model_and_cannot_be_told() -> None:
    modelled = replace(COUNTED, provenance="emulator-model")
    judgement = of_v1(modelled, replace(modelled, sass="2"))
    assert judgement.untold == [f"sum/v1 changed, and {BY_A_MODEL} (1 case)"]
    assert judgement.code == 3


@pytest.mark.parametrize(("base", "code"), [(100.0, 3), (400.0, 0), (800.0, 0)])
@pytest.mark.parametrize("was", ["machine-exact", "emulator-model"])
def test_what_only_a_model_calls_worse_cannot_be_told(base: float, code: int, was: str) -> None:
    """The kernels use asynchronous copies, whose shared-memory rule is not known."""

    def made(wavefronts: float, provenance: str, sass: str) -> Run:
        known = emulated({IDEAL: 100.0}, provenance="machine-exact")
        shared = Counted(name_of("v1"), 0, "kernel", WAVEFRONTS, wavefronts, "", provenance)  # type: ignore[arg-type]
        own = {"sass_sha256": sass, "loaded_sha256": sass}
        records = [
            replace(r, **own) if isinstance(r, Compiled) and r.case == name_of("v1") else r
            for r in known.records
        ]
        return Run(known.folder, known.info, [*records, shared])

    judgement = judge(made(base, was, "1"), made(400.0, "emulator-model", "2"))
    assert judgement.code == code
    if code:
        assert "wavefronts over the ideal got worse by a model" in judgement.untold[0]


def test_what_was_not_counted_at_all_is_not_taken_for_the_same() -> None:
    judgement = of_v1(replace(COUNTED, counters={}), replace(COUNTED, counters={}, sass="2"))
    assert judgement.untold == ["sum/v1 changed, and was not counted on both sides (1 case)"]
    assert judgement.code == 3


def test_a_kernel_that_was_changed_and_is_as_faulty_as_before_cannot_be_told() -> None:
    faulty = Kernel(None, status="failed", reason="wrong result\nat 7")
    judgement = of_v1(faulty, replace(faulty, sass="2"))
    assert judgement.code == 3
    assert judgement.untold == ["sum/v1 changed, and is as faulty as before: wrong result (1 case)"]
    assert of_v1(faulty, faulty).code == 0


def test_the_same_texts_and_launches_are_no_change_whatever_was_compiled() -> None:
    same = {"made_from": {"sum/v1.cu": "1", "nvcc": "13.0"}}
    one, other = (replace(UNCOUNTED, sass=sass, **same) for sass in "12")  # type: ignore[arg-type]
    assert of_v1(one, other).code == 0


def test_what_the_compiler_made_of_an_uncounted_kernel_is_judged_too() -> None:
    judgement = of_v1(UNCOUNTED, replace(UNCOUNTED, sass="2", occupancy=0.5))
    assert judgement.code == 1
    assert judgement.changes[0].kind == "worse"


def test_a_time_that_may_not_be_compared_closes_with_3_where_the_kernel_changed() -> None:
    kernels = {"v0": Kernel(), "v1": Kernel(9e4)}
    changed = {"v0": Kernel(), "v1": Kernel(9e4, sass="2")}
    judgement = judge(run(kernels, 1, placements=1), run(changed, 2, placements=1))
    assert judgement.code == 3
    assert any(text.startswith("sum/v1 changed, and was not compared") for text in judgement.untold)


@pytest.mark.parametrize(
    ("gauge", "was", "now"),
    [
        ("instructions", {INSTRUCTIONS: 1000.0}, {INSTRUCTIONS: 1020.0}),
        ("barriers", {"barrier_instructions": 1000.0}, {"barrier_instructions": 1001.0}),
        ("requests", memory(4000, 1000), memory(4000, 4000)),
    ],
)
def test_more_of_what_may_be_traded_is_worse_unless_something_else_got_better(
    gauge: str, was: dict[str, float], now: dict[str, float]
) -> None:
    def made(counters: dict[str, float], wavefronts: float) -> Run:
        shared = {WAVEFRONTS: wavefronts, f"{WAVEFRONTS}_ideal": 100.0}
        return emulated(shared | counters, provenance="machine-exact")

    alone = judge(made(was, 100.0), made(now, 100.0))
    assert (alone.changes[0].kind, alone.code) == ("worse", 1)
    assert [m.gauge.key for m in alone.changes[0].moved if m.decides] == [gauge]
    paid = judge(made(was, 200.0), made(now, 100.0))
    assert (paid.changes[0].kind, paid.code) == ("traded", 3)
    assert paid.untold == [
        "sum/v1: something got better and something else worse, and only a time weighs them"
    ]
    less = judge(made(now, 200.0), made(was, 100.0))
    assert (less.changes[0].kind, less.code) == ("better", 0)


def test_one_per_cent_more_instructions_are_called_the_same_as_of_times() -> None:
    one, other = (emulated({INSTRUCTIONS: n, "x": n}, provenance="machine-exact")
                  for n in (1000.0, 1009.0))  # fmt: skip
    assert judge(one, other).code == 0


def test_a_grid_that_fills_less_of_the_machine_is_worse() -> None:
    judgement = of_v1(replace(COUNTED, waves=0.9), replace(COUNTED, waves=0.1, launched="1 block"))
    assert (judgement.changes[0].kind, judgement.code) == ("worse", 1)


def test_a_grid_of_which_more_blocks_fit_at_once_is_not_worse() -> None:
    judgement = of_v1(replace(COUNTED, waves=0.2, occupancy=0.5),
                      replace(COUNTED, waves=0.1, occupancy=1.0, sass="2"))  # fmt: skip
    assert (judgement.changes[0].kind, judgement.code) == ("better", 0)


def test_less_occupancy_is_found_also_where_the_kernel_has_another_name() -> None:
    judgement = of_v1(COUNTED, replace(COUNTED, kernel="renamed", sass="2", occupancy=0.5))
    assert judgement.code == 1


@pytest.mark.fault(
    "a budget of bench.yaml that nothing checks",
    outcome="`--gate` exits with 3 and names it, unless `may_be_unchecked` is said of it",
)
def test_a_budget_that_nothing_checked_closes_with_3_unless_it_may_be() -> None:
    base = emulated()
    judgement = judge(base, with_budget(emulated(), "none"))
    assert judgement.code == 3
    assert judgement.untold == [
        "budget bank_conflicts of sum/v1 could not be checked: not collected"
    ]
    assert judge(base, with_budget(emulated(), "none if counted")).code == 0


def test_a_budget_that_one_size_checked_is_checked() -> None:
    exact = {WAVEFRONTS: 1.0, f"{WAVEFRONTS}_ideal": 1.0}
    base = at_two_sizes(replace(COUNTED, counters={INSTRUCTIONS: 1.0} | exact), UNCOUNTED)
    assert judge(base, with_budget(base, "none")).code == 0
    assert judge(base, with_budget(at_two_sizes(UNCOUNTED, UNCOUNTED), "none")).code == 3


def test_where_times_decide_a_budget_on_counters_is_told_by_the_run_and_closes_nothing() -> None:
    kernels = {"v0": Kernel(), "v1": Kernel(9e4)}
    base = run(kernels, 1)
    assert judge(base, with_budget(run(kernels, 2), "none")).code == 0
