"""`--only` selects what `list` prints: a case, or a prefix of its id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from own_matrix import add_triple

from harness.cases import Device
from harness.errors import UsageError
from harness.matrix import model, plan, selection

Edited = Callable[[str, str], Path]


@pytest.fixture
def two_problems(folder: Path) -> model.Bench:
    path = folder / "bench.yaml"
    text = path.read_text().replace("[2**10]", "[2**10, 2**11]")
    text = text.replace("    baseline: v0", "    library: torch\n    baseline: v0")
    variant = text[text.index("      v0:") : text.index("timing:")]
    again = variant.replace("v0:", "v1_other:") + variant.replace("v0:", "w2:")
    text = text.replace("timing:", again + "timing:")
    add_triple(path, text)
    return model.load(path)


def chosen(bench: model.Bench, device: Device, patterns: Sequence[str]) -> plan.Plan:
    return plan.resolve(bench, device, "cuda", patterns)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], "double: v0 v1_other w2; triple: v0 v1_other w2"),
        (["double"], "double: v0 v1_other w2"),
        (["d*"], "double: v0 v1_other w2"),
        (["triple/v?"], "triple: v0"),
        (["*/w2"], "double: v0 w2; triple: v0 w2"),
        (["triple/w2", "double/v1*"], "double: v0 v1_other; triple: v0 w2"),
        (["*/*/float32"], "double: v0 v1_other w2; triple: v0 v1_other w2"),
    ],
)
def test_a_pattern_chooses_variants_and_brings_the_baseline(
    two_problems: model.Bench, device: Device, patterns: list[str], expected: str
) -> None:
    found: dict[str, dict[str, None]] = {}
    for case in chosen(two_problems, device, patterns).cases:
        if not case.is_library:
            found.setdefault(case.problem, {})[case.variant] = None
    assert "; ".join(f"{p}: {' '.join(vs)}" for p, vs in found.items()) == expected


def test_every_id_that_is_listed_chooses_its_case_the_baseline_and_the_library(
    two_problems: model.Bench, device: Device
) -> None:
    for case in chosen(two_problems, device, []).cases:
        found = chosen(two_problems, device, [case.id]).cases
        assert case.id in {each.id for each in found}
        assert {each.group for each in found} == {case.group}
        assert {each.variant for each in found} == {"v0", "torch", case.variant}


def test_one_case_is_verified_at_the_test_sizes_of_its_own_launch_shape(
    two_problems: model.Bench, device: Device
) -> None:
    found = chosen(two_problems, device, ["double/w2/float32/n=2048/block=128"])
    own = [case.id for case in found.cases if case.variant == "w2"]
    assert own == ["double/w2/float32/n=2048/block=128"]
    tests = [test.id for test in found.tests if test.variant == "w2"]
    assert tests == ["double/w2/float32/n=1/block=128", "double/w2/float32/n=33/block=128"]


def test_the_parts_of_an_id_may_have_wildcards(two_problems: model.Bench, device: Device) -> None:
    found = chosen(two_problems, device, ["*/w2/*/n=1*/block=64"]).cases
    own = [case.id for case in found if case.variant == "w2"]
    assert own == ["double/w2/float32/n=1024/block=64", "triple/w2/float32/n=1024/block=64"]


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("duble", "did you mean double"),
        ("DOUBLE", "did you mean double"),
        ("double/v1", "did you mean double/v1_other or"),
        ("double/v1_oter", "did you mean double/v1_other"),
        ("double/w2/float32/n=1024/block=63", "did you mean double/w2/float32/n=1024/block=64"),
        ("double/w2/float32/n=1024/block=64/x", "did you mean double/w2/float32/n=1024/block=64"),
        ("double/", "did you mean double/v0"),
        ("xyz", "there are\n  double/v0\n"),
        ("", "there are\n  double/v0\n"),
    ],
)
def test_a_pattern_that_matches_nothing_names_what_is_near(
    two_problems: model.Bench, device: Device, pattern: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        chosen(two_problems, device, ["triple", pattern])
    assert str(caught.value).startswith(f"--only {pattern!r} matches nothing; ")
    assert hint in str(caught.value)


def test_a_folder_that_is_no_problem_yet_is_told_what_it_lacks(
    two_problems: model.Bench, folder: Path, device: Device
) -> None:
    (folder / "kernels" / "scale").mkdir()
    with pytest.raises(UsageError, match=r"kernels/scale has no bench\.yaml"):
        selection.rows(two_problems, ["scale"])
