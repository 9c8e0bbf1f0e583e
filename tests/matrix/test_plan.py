"""Every combination becomes a case, and a case that cannot run has a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from own_matrix import add_triple

from harness.cases import Case, Device, Step
from harness.errors import ExpressionError
from harness.matrix import model, plan
from harness.matrix.plan import Plan

Edited = Callable[[str, str], Path]


def resolved(path: Path, device: Device, backend: str = "cuda", *only: str) -> Plan:
    return plan.resolve(model.load(path), device, backend, only)


def cases(path: Path, device: Device) -> list[Case]:
    return list(resolved(path, device).cases)


def test_every_combination_is_a_case_in_the_matrixs_order(folder: Path, device: Device) -> None:
    found = cases(folder / "bench.yaml", device)
    assert [case.id for case in found] == [
        "double/v0/float32/n=1024/block=64", "double/v0/float32/n=1024/block=128",
    ]  # fmt: skip
    assert found[0].steps == (Step("twice", (16, 1, 1), (64, 1, 1), 0, ("input", "output", 1024)),)
    assert {case.group for case in found} == {"double/float32/n=1024"}


def test_the_test_sizes_are_their_own_cases(folder: Path, device: Device) -> None:
    found = resolved(folder / "bench.yaml", device).tests
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


@pytest.mark.parametrize(("limit", "fits"), [("n <= 2**10", True), ("n < 2**10", False)])
def test_sizes_for_which_its_integers_are_too_narrow_are_skipped(
    limit: str, fits: bool, edited: Edited, device: Device
) -> None:
    case, _ = cases(edited("source: v0.cu", f"source: v0.cu\n        fits: {limit}"), device)
    assert case.skip == ("" if fits else f"its integers are too narrow unless `{limit}`")
    assert bool(case.steps) == fits


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("grid: ceil_div(n, block)", "grid: n - 1024", "extent below 1"),
        ("grid: ceil_div(n, block)", "grid: [1, 65536]", "exceeds a device's"),
        ("grid: ceil_div(n, block)", "grid: 2**31", "exceeds a device's"),
        ("block: block\n", "block: [1, 1, 65]\n", "exceeds a device's"),
        ("block: block\n", "block: [32, 33]\n", "1056 threads per block; a device allows 1024"),
        ("block: block\n", "block: block\n            shared: -1\n", "-1 bytes"),
        (
            "block: block\n",
            "block: block\n            shared: 227 * 1024 + 1\n",
            "232,449 bytes of shared memory per block; no known card allows more than 232,448",
        ),
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
        ("source: v0.cu", "source: v0.cu\n        let: {a: c}\n        when: a", "let.a",
         "`c` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        defines: {A: x}", "defines.A", "`x` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        overwrites: [inptu]", "overwrites.0",
         "`inptu` is not a buffer"),
        ("kernel: twice", "kernel: twice<{m}>", "steps.0.kernel", "`m` is unknown"),
        ("source: v0.cu", "source: v0.cu\n        let: {a: b, b: 2 * a}\n        when: a", "let.a",
         "it needs itself: a → b → a"),
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
    last = key.split(".")[0 if key.startswith(("let", "defines", "overwrites")) else -1]
    word = "args" if last.isdigit() else last
    assert word in lines[int(place.rpartition(":")[2]) - 1]


def test_a_buffer_goes_before_an_expression_of_the_same_name(
    edited: Edited, device: Device
) -> None:
    path = edited("args: [input, output, n]", "args: [input, block, 2 * n, 7]")
    problem = path.parent / "kernels" / "double" / "problem.py"
    problem.write_text(problem.read_text().replace('Buffer("output"', 'Buffer("block"'))
    assert cases(path, device)[0].steps[0].args == ("input", "block", 2048, 7)


def test_the_library_has_one_case_a_group_and_no_launch(edited: Edited, device: Device) -> None:
    edited("[2**10]", "[2**10, 2**11]")
    found = resolved(edited("baseline: v0", "baseline: v0\n    library: torch"), device)
    libraries = [case for case in found.cases if case.is_library]
    assert [case.id for case in libraries] == [
        "double/torch/float32/n=1024",
        "double/torch/float32/n=2048",
    ]
    assert {case.kind for case in libraries} == {"library"}
    assert not any(case.steps for case in libraries)
    assert not any(test.is_library for test in found.tests)


def test_a_problem_without_a_library_has_no_library_case(folder: Path, device: Device) -> None:
    assert not any(case.is_library for case in resolved(folder / "bench.yaml", device).cases)


def test_an_expression_sees_this_devices_facts(edited: Edited, device: Device) -> None:
    path = edited("grid: ceil_div(n, block)", "grid: sm_count")
    assert cases(path, device)[0].steps[0].grid[0] == 132
    assert cases(path, replace(device, sm_count=7))[0].steps[0].grid[0] == 7


def test_an_expression_sees_the_size_of_the_cases_own_dtype(edited: Edited, device: Device) -> None:
    edited("[float32]", "[float32, float64]")
    path = edited("grid: ceil_div(n, block)", "grid: 100 * element_bytes")
    grids = {case.dtype: case.steps[0].grid[0] for case in cases(path, device)}
    assert grids == {"float32": 400, "float64": 800}


# --- numbers, templates, clusters ----------------------------------------------------------------


def test_arguments_and_macros_may_have_fractions(edited: Edited, device: Device) -> None:
    path = edited(
        "source: v0.cu",
        'source: v0.cu\n        let: {half: "0.5 * block"}\n'
        '        defines: {SCALE: "1.0 / n", BLOCK: block, HALF: half}',
    )
    path = edited("args: [input, output, n]", "args: [input, 1.5, half, -2e-3, n]")
    first = cases(path, device)[0]
    assert first.steps[0].args == ("input", 1.5, 32.0, -0.002, 1024)
    assert first.defines == {"SCALE": 1 / 1024, "BLOCK": 64, "HALF": 32.0}
    assert type(first.defines["BLOCK"]) is int


def test_a_fraction_where_an_integer_is_needed_names_where_it_comes_from(
    edited: Edited, device: Device
) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        let: {blocks: n / block}")
    path = edited("grid: ceil_div(n, block)", "grid: blocks")
    with pytest.raises(ExpressionError) as caught:
        cases(path, device)
    message = str(caught.value)
    assert message.startswith(f"{path}:18: problems.double.variants.v0.steps.0.grid: ")
    assert "`blocks` is 16.0, and an integer is needed here" in message
    assert "where `blocks` is defined, write //" in message


def test_names_of_let_may_use_each_other_in_any_order(edited: Edited, device: Device) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        let: {a: 2 * b, b: c + 1, c: block}")
    path = edited("grid: ceil_div(n, block)", "grid: a")
    assert cases(path, device)[0].steps[0].grid == (130, 1, 1)


def test_expressions_in_braces_become_part_of_a_kernels_name(
    edited: Edited, device: Device
) -> None:
    path = edited("kernel: twice", 'kernel: "ns::twice<DTYPE, {block}, {2 * n}>"')
    assert [case.steps[0].kernel for case in cases(path, device)] == [
        "ns::twice<DTYPE, 64, 2048>", "ns::twice<DTYPE, 128, 2048>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "arch", "words"),
    [
        ("[2, 1]", "sm_90", ""),
        ("3", "sm_90", "grid (16, 1, 1) is no multiple of its cluster (3, 1, 1)"),
        ("[1, 2]", "sm_90", "is no multiple of its cluster"),
        ("1", "sm_80", ""),
    ],
)
def test_a_cluster_divides_the_grid(
    edited: Edited, device: Device, cluster: str, arch: str, words: str
) -> None:
    path = edited("block: block\n", f"block: block\n            cluster: {cluster}\n")
    first = cases(path, replace(device, arch=arch))[0]
    assert words in first.refusal
    assert bool(first.refusal) == bool(words)


def test_a_launch_in_clusters_needs_no_gpu(edited: Edited, device: Device) -> None:
    path = edited("block: block\n", "block: block\n            cluster: 2\n")
    assert cases(path, device)[0].steps[0].cluster == (2, 1, 1)
    assert not resolved(path, device, "emulator").cases[0].skip


def test_what_the_compiler_is_told_travels_with_the_case(edited: Edited, device: Device) -> None:
    path = edited(
        "source: v0.cu",
        "source: v0.cu\n        flags: [--use_fast_math, -Xptxas=-v]\n"
        "        include: [headers, shared]\n        sources: [more.cu]",
    )
    kernels = path.parent / "kernels"
    (kernels / "double" / "headers").mkdir()
    (kernels / "shared").mkdir()
    (kernels / "double" / "more.cu").write_text("")
    first = cases(path, device)[0]
    assert first.flags == ("--use_fast_math", "-Xptxas=-v")
    assert first.include == ("double/headers", "shared")
    assert first.sources == ("more.cu",)


# --- launches that cannot be verified, or are not -------------------------------------------------


def test_a_launch_that_a_test_size_refuses_fails_the_shape_and_names_the_size(
    edited: Edited, device: Device
) -> None:
    found = resolved(edited("grid: ceil_div(n, block)", "grid: n // block"), device)
    assert not any(case.refusal for case in found.cases)
    refused = found.refused_tests()
    assert set(refused) == {case.shape for case in found.cases}
    assert set(refused.values()) == {
        "at the test size n = 1: twice: grid (0, 1, 1) has an extent below 1"
    }


def test_a_test_size_that_when_leaves_out_is_said_and_refuses_nothing(
    edited: Edited, device: Device
) -> None:
    edited("grid: ceil_div(n, block)", "grid: n // block")
    path = edited("n: [1, 33]", "n: [1, 33, 4096]")
    path = edited("source: v0.cu", "source: v0.cu\n        when: n >= block")
    found = resolved(path, device)
    assert found.refused_tests() == {}
    assert list(found.left_out()) == [
        "double/v0 is not verified at n = 1; n = 33: the variant is limited to `n >= block`"
    ]


def test_a_variant_that_when_leaves_without_any_test_size_is_said(
    edited: Edited, device: Device
) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        when: n >= 1024")
    assert list(resolved(path, device).left_out()) == [
        "double/v0 is not verified at n = 1; n = 33: the variant is limited to `n >= 1024`"
    ]


def test_nothing_is_left_out_where_every_size_is_verified(folder: Path, device: Device) -> None:
    assert list(resolved(folder / "bench.yaml", device).left_out()) == []


FAULTS = [
    ("def work(self, sizes, dtype):", "def work(self, sizes, dtype):\n        1 // 0",
     "problem.py:21: work(): ZeroDivisionError", "for n = 1024, float32"),
    ('        n = sizes["n"]\n', '        n = sizes["m"]\n',
     "problem.py:8: buffers(): KeyError: 'm'", "for n = 1024, float32"),
    ("class Double", "raise ValueError('no')\nclass Double",
     "problem.py:4: ValueError: no", "problem.py"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words", "case"), FAULTS)
def test_a_fault_in_one_problem_py_stops_that_problem_alone_and_names_the_case(
    folder: Path, device: Device, old: str, new: str, words: str, case: str
) -> None:
    path = folder / "bench.yaml"
    file = add_triple(path, path.read_text()) / "problem.py"
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    found = resolved(path, device)
    assert list(found.problems) == ["double"]
    assert {c.problem for c in found.cases if not c.refusal} == {"double"}
    faulty = [c for c in found.cases if c.problem == "triple"]
    assert [c.id for c in faulty] == [
        "triple/v0/float32/n=1024/block=64", "triple/v0/float32/n=1024/block=128",
    ]  # fmt: skip
    [reason] = {c.refusal for c in faulty}
    assert words in reason
    assert case in reason
    assert {t.problem for t in found.tests} == {"double"}
