"""The cases of two runs that form a pair."""

from __future__ import annotations

from two_runs import Kernel, name_of, run

from harness.comparison.pairs import Pair, between, within


def _names(pairs: list[Pair]) -> list[tuple[str | None, str | None]]:
    return [(p.base and p.base.case, p.new and p.new.case) for p in pairs]  # type: ignore[misc]


def test_two_runs_are_paired_by_case_and_what_one_side_lacks_is_kept() -> None:
    base, new = run({"v0": Kernel(), "old": Kernel()}), run({"young": Kernel(), "v0": Kernel()})
    v0, old, young = (name_of(x) for x in ("v0", "old", "young"))
    assert _names(between(base, new)) == [(None, young), (v0, v0), (old, None)]


def test_one_run_with_both_sides_is_paired_by_the_suffix_of_the_bases() -> None:
    kernels = {"v0": Kernel(), "v0__base": Kernel(), "v1": Kernel(), "v2__base": Kernel(),
               "torch": Kernel(is_library=True)}  # fmt: skip
    both = run(kernels, beside={"base": "git:main", "commit": "0" * 40, "suffix": "__base"})
    pairs = within(both)
    assert _names(pairs) == [
        (name_of("v0__base"), name_of("v0")),
        (None, name_of("v1")),
        (name_of("v2__base"), None),
    ]
    assert [p.name for p in pairs] == [name_of("v0"), name_of("v1"), name_of("v2")]
