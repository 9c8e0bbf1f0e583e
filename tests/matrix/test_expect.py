"""`expect:` as written: limits for counters and quantities by name; mistakes are rejected with
their line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import budgets
from harness.budgets import Budget
from harness.errors import ConfigError
from harness.matrix import model
from harness.matrix.variants import Variant

Own = Callable[..., Path]
DOCS = Path(__file__).parents[2] / "docs"


def variants(path: Path) -> dict[str, Variant]:
    return dict(model.load(path.parents[2] / "bench.yaml").problems["double"].variants)


def with_expect(own: Own, text: str) -> Path:
    return own("    builds_on: v0\n", f"    builds_on: v0\n    expect: {text}\n")


def test_a_budget_is_none_a_number_or_a_comparison(own: Own) -> None:
    path = with_expect(
        own, '{spills: none, registers: 32, shared: "<= 4 * 1024", waves: ">=0.5", '
        'launches: "< 3", sectors: "> 0", flops_fp64: 0}',
    )  # fmt: skip
    assert variants(path)["v1"].expect == {
        "spills": Budget("==", 0), "registers": Budget("==", 32), "shared": Budget("<=", 4096),
        "waves": Budget(">=", 0.5), "launches": Budget("<", 3), "sectors": Budget(">", 0),
        "flops_fp64": Budget("==", 0),
    }  # fmt: skip


def test_budgets_merge_with_the_defaults_by_name_and_null_lifts_one(own: Own) -> None:
    path = own("defaults:\n", "defaults:\n  expect: {spills: none, registers: 16}\n",
               "    let: {blocks: 7}\n",
               '    let: {blocks: 7}\n    expect: {registers: "<= 32", spills: ~}\n')  # fmt: skip
    found = variants(path)
    assert found["v0"].expect == {"spills": Budget("==", 0), "registers": Budget("==", 16)}
    assert found["v1"].expect == found["v0"].expect
    assert found["v2"].expect == {"registers": Budget("<=", 32)}
    assert found["v2"].place("expect", "registers").line == 22
    assert found["v0"].place("expect", "spills").line == 6


def test_a_budget_may_say_that_it_may_stay_unchecked(own: Own) -> None:
    text = '{l2_hits: {limit: ">= 0.5", may_be_unchecked: true}, ' \
           "spills: {limit: none, may_be_unchecked: false}}"  # fmt: skip
    found = variants(with_expect(own, text))["v1"].expect
    assert found == {
        "l2_hits": Budget(">=", 0.5, may_be_unchecked=True), "spills": Budget("==", 0),
    }  # fmt: skip
    assert [budgets.parse(str(budget)) for budget in found.values()] == list(found.values())


@pytest.mark.parametrize("text", ["{limit: none}", "{limit: none, may_be_unchecked: 1}",
                                  "{limit: none, may_be_unchecked: true, else: 1}"])  # fmt: skip
def test_a_mapping_that_is_no_budget_is_refused(own: Own, text: str) -> None:
    with pytest.raises(ConfigError, match="or the limit alone"):
        variants(with_expect(own, f"{{spills: {text}}}"))


def test_what_it_builds_on_hands_no_budget_down_as_it_hands_nothing_else(own: Own) -> None:
    found = variants(with_expect(own, "{spills: none}"))
    assert found["v1"].expect
    assert not found["v2"].expect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{bank_conflict: none}", "expect.bank_conflict: nothing counts `bank_conflict`; did you "
         "mean bank_conflicts"),
        ("{Spills: none}", "did you mean spills"),
        ("{occupancy: 1}", "did you mean"),
        ("{zebra: 1}", "there are bank_conflicts, wavefronts_over_ideal"),
        ("{spills: None}", "expect.spills: `None` is not a budget: write none, a number"),
        ("{spills: no}", "expect.spills: `False` is not a budget"),
        ('{registers: "<= many"}', "expect.registers: `<= many` is not a budget"),
        ('{registers: "=< 4"}', "expect.registers: `=< 4` is not a budget"),
        ('{registers: "!= 4"}', "expect.registers: `!= 4` is not a budget"),
        ("{registers: [1, 2]}", "expect.registers: `[1, 2]` is not a budget"),
        ("{registers: \"<= __import__('os')\"}", "expect.registers: `<= __import__('os')` is no"),
        ("{}", "write names with limits"),
        ("none", "write names with limits"),
    ],
)  # fmt: skip
def test_a_wrong_name_or_limit_is_refused_with_its_line(own: Own, text: str, expected: str) -> None:
    path = with_expect(own, text)
    with pytest.raises(ConfigError) as caught:
        model.load(path.parents[2] / "bench.yaml")
    assert f"{path}:16: variants.v1.expect" in str(caught.value)
    assert expected in str(caught.value)


def test_a_default_budget_that_each_variant_replaces_is_refused(own: Own) -> None:
    each = "    expect: {spills: ~}\n"
    path = own("defaults:\n", "defaults:\n  expect: {spills: none}\n",
               "    steps: [twice]\n", f"    steps: [twice]\n{each}",
               "    builds_on: v0\n", f"    builds_on: v0\n{each}",
               "    builds_on: v1\n", f"    builds_on: v1\n{each}")  # fmt: skip
    with pytest.raises(ConfigError, match=r"defaults\.expect\.spills: a default that no variant"):
        variants(path)


def test_a_library_has_no_budget(own: Own) -> None:
    path = own("variants:\n", "libraries:\n  lib: {python: \"f.py:f\", expect: {spills: none}}\n"
               "variants:\n")  # fmt: skip
    with pytest.raises(ConfigError, match="unknown key"):
        variants(path)


def test_the_names_of_counters_are_those_in_the_docs() -> None:
    table = re.findall(r"^\| (`.*?) \|", (DOCS / "counters.md").read_text(), re.MULTILINE)
    documented = {
        name for cell in table for text in re.findall("`(.*?)`", cell) for name in _expanded(text)
    }
    assert documented == set(budgets.COUNTERS)


def _expanded(text: str) -> list[str]:
    """Expand `a_{b,c}` as a shell would."""
    found = re.search(r"\{(.*?)\}", text)
    if not found:
        return [text]
    return [
        name
        for part in found[1].split(",")
        for name in _expanded(text[: found.start()] + part + text[found.end() :])
    ]


@pytest.mark.parametrize(
    ("text", "within", "beyond"),
    [
        ("none", [0.0], [1.0, -1.0, 1e-30]),
        ("== 4", [4.0, 4 * (1 + 1e-12)], [3.999, 4.001]),
        ("<= 0.3", [0.1 + 0.2, 0.0, -1.0], [0.31]),
        (">= 0.3", [0.1 + 0.2, 1.0], [0.29]),
        ("< 4", [3.9], [4.0, 4 * (1 - 1e-12), 5.0]),
        ("> 4", [4.1], [4.0, 4 * (1 + 1e-12), 3.0]),
    ],
)
def test_a_figure_is_within_its_budget_or_is_not_and_nan_never_is(
    text: str, within: list[float], beyond: list[float]
) -> None:
    budget = budgets.parse(text)
    assert budgets.parse(str(budget)) == budget
    assert all(budget.holds(value) for value in within)
    assert not any(budget.holds(value) for value in [*beyond, float("nan")])
