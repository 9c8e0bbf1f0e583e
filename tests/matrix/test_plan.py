"""Every combination becomes a case, and what cannot run says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Case, Device, Step
from harness.errors import ExpressionError, UsageError
from harness.matrix import model
from harness.matrix.plan import library_cases, matching, plan

Edited = Callable[[str, str], Path]
BUFFERS = {"double": frozenset({"input", "output"})}


def cases(path: Path, device: Device, which: str = "bench") -> list[Case]:
    return plan(model.load(path), device, (), which, BUFFERS)


def test_every_combination_is_a_case_in_the_matrixs_order(folder: Path, device: Device) -> None:
    found = cases(folder / "bench.yaml", device)
    assert [case.id for case in found] == [
        "double/v0/float32/n=1024/block=64", "double/v0/float32/n=1024/block=128",
    ]  # fmt: skip
    assert found[0].steps == (Step("twice", (16, 1, 1), (64, 1, 1), 0, ("input", "output", 1024)),)
    assert {case.group for case in found} == {"double/float32/n=1024"}


def test_the_test_sizes_are_their_own_cases(folder: Path, device: Device) -> None:
    found = cases(folder / "bench.yaml", device, "test")
    assert [case.sizes["n"] for case in found] == [1, 1, 33, 33]
    assert [case.steps[0].grid[0] for case in found] == [1, 1, 1, 1]


def test_ids_differ_between_cases(edited: Edited, device: Device) -> None:
    edited("[float32]", "[float32, float64]")
    path = edited("[2**10]", "[2**10, 2**11]")
    found = [case.id for case in cases(path, device)]
    assert len(found) == len(set(found)) == 8


def test_device_facts_let_and_defines_are_worked_out(edited: Edited, device: Device) -> None:
    path = edited(
        "source: v0.cu",
        'source: v0.cu\n        let: {a: "6 * sm_count", b: a + warp_size}\n'
        "        defines: {BLOCK: block, B: b}",
    )
    path = edited("grid: ceil_div(n, block)", "grid: [a, b]")
    path = edited("block: block\n", "block: [block, 2]\n            shared: 4 * block\n")
    [first, _] = cases(path, device)
    assert first.steps[0].grid == (792, 824, 1)  # 6 × 132; + 32
    assert first.steps[0].block == (64, 2, 1)
    assert first.steps[0].threads_per_block == 128
    assert first.steps[0].shared_bytes == 256
    assert first.defines == {"BLOCK": 64, "B": 824}


def test_a_limited_variant_is_skipped_with_its_reason(edited: Edited, device: Device) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        when: block >= 128")
    skipped, kept = cases(path, device)
    assert skipped.skip == "the variant is limited to `block >= 128`"
    assert skipped.steps == ()
    assert (kept.skip, kept.refusal, len(kept.steps)) == ("", "", 1)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("grid: ceil_div(n, block)", "grid: n - 1024", "extent below 1"),
        ("grid: ceil_div(n, block)", "grid: [1, 65536]", "exceeds a device's"),
        ("grid: ceil_div(n, block)", "grid: 2**31", "exceeds a device's"),
        ("block: block\n", "block: [1, 1, 65]\n", "exceeds a device's"),
        ("block: block\n", "block: [32, 33]\n", "1056 threads a block; a device allows 1024"),
        ("block: block\n", "block: block\n            shared: 227 * 1024 + 1\n", "232449 bytes"),
        ("block: block\n", "block: block\n            shared: -1\n", "-1 bytes"),
    ],
)
def test_a_launch_over_the_devices_limits_is_refused_by_name(
    edited: Edited, device: Device, old: str, new: str, words: str
) -> None:
    found = cases(edited(old, new), device)
    assert len(found) == 2
    for case in found:
        assert words in case.refusal
        assert case.refusal.startswith("twice: ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("block: block\n", "block: [32, 32]\n"),
        ("block: block\n", "block: block\n            shared: max_shared_bytes\n"),
        ("grid: ceil_div(n, block)", "grid: [2**31 - 1, 65535, 65535]"),
    ],
)
def test_a_launch_at_the_devices_limits_is_kept(
    edited: Edited, device: Device, old: str, new: str
) -> None:
    assert [case.refusal for case in cases(edited(old, new), device)] == ["", ""]


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("args: [input, output, n]", "args: [input, outptu, n]", "steps.0.args.1",
         "`outptu` is neither a buffer of the problem (input, output)"),
        ("args: [input, output, n]", "args: [input, output, n // 0]", "steps.0.args.2",
         "divides by zero"),
        ("grid: ceil_div(n, block)", "grid: ceil_div(m, block)", "steps.0.grid", "`m` is unknown"),
        ("block: block\n", "block: block // 0\n", "steps.0.block", "divides by zero"),
        ("source: v0.cu", "source: v0.cu\n        when: blok > 1", "when", "`blok` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        let: {n: 1}", "let.n", "already has a meaning"),
        ("source: v0.cu", "source: v0.cu\n        let: {a: b, b: 1}", "let.a", "`b` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        defines: {A: x}", "defines.A", "`x` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        overwrites: [inptu]", "overwrites",
         "`inptu` is not a buffer"),
    ],
)  # fmt: skip
def test_a_name_that_means_nothing_is_refused_with_its_line_and_key(
    edited: Edited, device: Device, old: str, new: str, key: str, words: str
) -> None:
    path = edited(old, new)
    lines = path.read_text().splitlines()
    with pytest.raises(ExpressionError) as caught:
        cases(path, device)
    place, _, rest = str(caught.value).partition(f": problems.double.variants.v0.{key}: ")
    assert words in rest
    assert place.startswith(f"{path}:")
    last = key.split(".")[0 if key.startswith(("let", "defines")) else -1]
    word = "args" if last.isdigit() else last
    assert word in lines[int(place.rpartition(":")[2]) - 1]


def test_a_buffer_goes_before_an_expression_of_the_same_name(
    edited: Edited, device: Device
) -> None:
    bench = model.load(edited("args: [input, output, n]", "args: [input, block, 2 * n, 7]"))
    found = plan(bench, device, (), "bench", {"double": frozenset({"input", "block"})})
    assert found[0].steps[0].args == ("input", "block", 2048, 7)


@pytest.fixture
def two_problems(folder: Path) -> model.Bench:
    path = folder / "bench.yaml"
    text = path.read_text()
    variant = text[text.index("      v0:") : text.index("timing:")]
    again = variant.replace("v0:", "v1_other:") + variant.replace("v0:", "w2:")
    text = text.replace("timing:", again + "timing:")
    body = text[text.index("  double:") : text.index("timing:")]
    path.write_text(text.replace("timing:", body.replace("  double:", "  triple:") + "timing:"))
    triple = folder / "kernels" / "triple"
    triple.mkdir()
    for name in ("problem.py", "v0.cu"):
        (triple / name).write_text((folder / "kernels" / "double" / name).read_text())
    return model.load(path)


def names(pairs: list[tuple[str, str]]) -> list[str]:
    return ["/".join(pair) for pair in pairs]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], ["double/v0", "double/v1_other", "double/w2",
              "triple/v0", "triple/v1_other", "triple/w2"]),
        (["double"], ["double/v0", "double/v1_other", "double/w2"]),
        (["d*"], ["double/v0", "double/v1_other", "double/w2"]),
        (["triple/v?"], ["triple/v0"]),
        (["*/w2"], ["double/v0", "double/w2", "triple/v0", "triple/w2"]),
        (["triple/w2", "double/v1*"], ["double/v0", "double/v1_other", "triple/v0", "triple/w2"]),
    ],
)  # fmt: skip
def test_a_pattern_chooses_variants_and_brings_the_baseline(
    two_problems: model.Bench, patterns: list[str], expected: list[str]
) -> None:
    assert names(matching(two_problems, patterns)) == expected


@pytest.mark.parametrize("pattern", ["duble", "double/v9", "DOUBLE", "double/", "", "*/*/*"])
def test_a_pattern_that_matches_nothing_lists_what_there_is(
    two_problems: model.Bench, pattern: str
) -> None:
    with pytest.raises(UsageError, match="matches nothing; there are\n  double/v0\n"):
        matching(two_problems, ["triple", pattern])


def test_the_library_has_one_case_a_group_and_no_launch(edited: Edited, device: Device) -> None:
    edited("[2**10]", "[2**10, 2**11]")
    path = edited("baseline: v0", "baseline: v0\n    library: torch")
    bench = model.load(path)
    found = library_cases(bench, plan(bench, device, (), "bench", BUFFERS))
    assert [case.id for case in found] == [
        "double/torch/float32/n=1024",
        "double/torch/float32/n=2048",
    ]
    assert all(case.is_library and not case.steps for case in found)


def test_a_problem_without_a_library_has_no_library_case(folder: Path, device: Device) -> None:
    bench = model.load(folder / "bench.yaml")
    assert library_cases(bench, plan(bench, device, (), "bench", BUFFERS)) == []


def test_an_expression_sees_this_devices_facts(edited: Edited, device: Device) -> None:
    path = edited("grid: ceil_div(n, block)", "grid: sm_count")
    assert cases(path, device)[0].steps[0].grid[0] == 132
    assert cases(path, replace(device, sm_count=7))[0].steps[0].grid[0] == 7
