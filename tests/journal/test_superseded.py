"""The valid records of a journal are those that no later record supersedes."""

from __future__ import annotations

from harness.journal.counter_records import Counted
from harness.journal.records import (
    Compiled,
    Conditions,
    Finished,
    Outcome,
    Planned,
    Record,
    Remark,
    Renewed,
    Round,
    Verified,
)
from harness.journal.superseded import current

SIZES, LAUNCH = {"n": 8}, {"block": 64}


def case(variant: str) -> str:
    return f"p/{variant}/float32/n=8/block=64"


def of(variant: str) -> list[Record]:
    """All records of a journal on one case."""
    name, where = case(variant), ("p", variant, "float32", SIZES, LAUNCH)
    return [
        Planned(name, *where, 1, 1, False, False),
        Compiled(name, 0, "k", "", "", 1, 0, 0, 0, 64, 1.0, "warps"),
        Verified("p", variant, "float32", {"n": 1}, LAUNCH, "test", 0, True, "", 0.0),
        Remark("p", variant, "float32", "reads a clock", "ptx-level"),
        Finished(f"qualify p/{variant}"),
        Round(name, "cold", 0, False, (1.0,)),
        Verified("p", variant, "float32", SIZES, LAUNCH, "after", 0, True, "", 0.0),
        Counted(name, 0, "k", "sectors", 4.0, "sector", "ncu"),
        Outcome(name, "ok"),
    ]


SHARED: list[Record] = [
    Finished("plan"),
    Conditions("p/float32/n=8", 0, 1, 1, 1, 1.0, ()),
]
JOURNAL = [*of("v0"), *of("v1"), *SHARED]


def renewed(variant: str, what: str) -> Renewed:
    return Renewed(case(variant), "p", variant, "float32", SIZES, LAUNCH, what, "changed")  # type: ignore[arg-type]


def test_without_a_renewed_case_everything_counts_as_it_stands() -> None:
    assert current(JOURNAL) == JOURNAL


def test_of_a_renewed_case_nothing_from_before_counts_and_of_the_others_everything() -> None:
    mark = renewed("v1", "case")
    assert current([*JOURNAL, mark]) == [mark, *of("v0")]


def test_a_case_that_is_timed_again_keeps_what_it_was_verified_at_and_its_counters() -> None:
    mark = renewed("v1", "times")
    kept = [r for r in of("v1") if not isinstance(r, Round | Outcome)
            and not (isinstance(r, Verified) and r.phase == "after")]  # fmt: skip
    plan = [r for r in (*of("v0"), *of("v1")) if isinstance(r, Planned)]
    rest = [r for r in (*of("v0"), *kept, Finished("plan")) if not isinstance(r, Planned)]
    assert current([*JOURNAL, mark]) == [mark, *plan, *rest]


def test_a_case_that_is_gone_leaves_the_conditions_of_its_group() -> None:
    found = current([*JOURNAL, renewed("v1", "gone")])
    assert SHARED[1] in found
    assert not [r for r in found if isinstance(r, Planned) and r.variant == "v1"]


def test_what_comes_after_counts_and_the_plan_stands_first_in_its_last_form() -> None:
    again = of("v1")
    last = [*[r for r in of("v0") if isinstance(r, Planned)], *again]
    found = current([*JOURNAL, renewed("v1", "case"), *last])
    assert [r.variant for r in found if isinstance(r, Planned)] == ["v0", "v1"]
    assert [type(r) for r in found[:3]] == [Renewed, Planned, Planned]
    assert found[-len(again) + 1 :] == again[1:]


def test_what_counts_is_the_same_when_it_is_asked_again() -> None:
    once = current([*JOURNAL, renewed("v1", "case"), *of("v1")])
    assert current(once) == once
    assert {r.variant for r in once if isinstance(r, Planned)} == {"v0", "v1"}
