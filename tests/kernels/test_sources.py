"""The files of the collection and its matrix name each other."""

from __future__ import annotations

import pytest
from own_repository import BENCH, ROOT

from harness.backends.emulated_device import emulated_device
from harness.cases import IDEAS
from harness.matrix import plan
from harness.run.planning import over_budget

PROBLEMS = BENCH.problems


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_source_of_a_problem_belongs_to_a_variant(problem: str) -> None:
    matrix = PROBLEMS[problem]
    rows = (*matrix.variants.values(), *matrix.libraries.values())
    folder = ROOT / "kernels" / problem
    used = {folder / row.source for row in rows if row.source}
    assert set(folder.glob("*.cu")) == used


def test_every_kernel_is_counted_without_a_gpu_at_some_size() -> None:
    found = plan.resolve(BENCH, emulated_device("sm_90"), "emulator")
    counted = {
        (case.problem, case.variant)
        for case in found.cases
        if not (case.skip or case.refusal or over_budget(case, BENCH, found))
    }
    kernels = {
        (problem, variant.name)
        for problem, matrix in PROBLEMS.items()
        for variant in matrix.variants.values()
        if variant.kind == "kernel"
    }
    assert kernels <= counted, sorted(kernels - counted)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_variant_but_the_first_says_what_it_builds_on(problem: str) -> None:
    variants = PROBLEMS[problem].variants
    roots = [name for name, variant in variants.items() if not variant.builds_on]
    assert roots == list(variants)[:1]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_variant_but_the_first_says_its_idea_in_a_word(problem: str) -> None:
    silent = [v.name for v in PROBLEMS[problem].variants.values() if v.builds_on and not v.idea]
    assert not silent


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_variant_is_a_trap_in_the_matrix_where_the_head_of_its_file_says_so(problem: str) -> None:
    for variant in PROBLEMS[problem].variants.values():
        if variant.source:
            head = (ROOT / "kernels" / problem / variant.source).read_text().split("\n\n")[0]
            assert variant.is_trap == ("// A trap: " in head), variant.name


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_head_of_every_source_says_operation_idea_contract_and_origin(problem: str) -> None:
    for path in (ROOT / "kernels" / problem).glob("v*.cu"):
        head = path.read_text().split("\n\n")[0]
        for word in ("// Idea: ", "// Contract: ", "// From: ", "// Measured: "):
            assert word in head, f"{path}: no `{word.strip()}`"


def test_the_page_on_adding_a_kernel_lists_every_idea_in_the_same_words() -> None:
    page = (ROOT / "docs" / "adding-a-kernel.md").read_text()
    assert "\n".join(f"| `{idea}` | {words} |" for idea, words in IDEAS.items()) in page
