"""A variant that was verified at fewer sizes than in the base closes the gate, with exit code 3."""

from __future__ import annotations

from collections.abc import Iterable

from two_runs import Kernel, run

from harness.comparison import Judgement, judge
from harness.journal.records import Phase, Verified
from harness.tables import Run

COUNTED = Kernel(None)


def verified(
    sizes: Iterable[int], variant: str = "v1", *, phase: Phase = "test", now: Kernel = COUNTED,
    **info: object,
) -> Run:  # fmt: skip
    """A run whose second variant was verified at these sizes, and its first at n = 33."""
    made = run({"v0": COUNTED, "v1": now})
    of = [("v0", 33), *((variant, n) for n in sizes)]
    records = [
        Verified("sum", name, "float32", {"n": n}, {"block": 256}, phase, 0, True, "", 0.0)
        for name, n in of
    ]
    return Run(made.folder, made.info, [*made.records, *records])


def untold(base: Run, new: Run) -> Judgement:
    judgement = judge(base, new)
    assert judgement.code == (3 if judgement.untold else 0)
    return judgement


def test_fewer_sizes_cannot_be_told_and_are_named_once_per_variant() -> None:
    judgement = untold(verified([1, 33, 1021]), verified([1021]))
    assert judgement.untold == [
        "sum/v1 was verified at n=1, n=33 in the base, and is not verified there now"
    ]


def test_a_size_that_is_a_timed_or_counted_one_is_missed_too() -> None:
    assert untold(verified([1000], phase="before"), verified([1024], phase="before")).untold


def test_as_many_sizes_or_more_are_fine() -> None:
    assert not untold(verified([1, 33]), verified([33, 1, 1021])).untold


def test_nothing_is_said_where_a_journal_does_not_tell_what_was_verified() -> None:
    without = run({"v0": COUNTED, "v1": COUNTED})
    assert not untold(without, verified([33])).untold
    assert not untold(verified([33]), without).untold


def test_a_size_that_the_base_found_wrong_is_missed_too() -> None:
    """Without the size, the variant would only seem mended."""
    base = verified([33], now=Kernel(None, status="failed", reason="wrong"))
    judgement = untold(base, verified([1021]))
    assert [change.kind for change in judgement.changes] == ["mended", "identical"]
    assert judgement.untold


def test_a_variant_that_is_newly_faulty_is_not_reported_as_unverified() -> None:
    judgement = judge(verified([1, 33]),
                      verified([1], now=Kernel(None, status="failed", reason="x")))  # fmt: skip
    assert judgement.code == 1
    assert not any("was verified at" in text for text in judgement.untold)
