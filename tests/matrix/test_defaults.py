"""A variant states only its differences from the problem's defaults, and every value has its
line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.matrix import model
from harness.matrix.variants import MergedStep, Variant

Own = Callable[..., Path]


def variants(path: Path) -> dict[str, Variant]:
    """The variants of the problem whose own file is at the path."""
    bench = model.load(path.parents[2] / "bench.yaml")
    return dict(bench.problems["double"].variants)


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        variants(path)
    return str(caught.value)


def shown(step: MergedStep) -> str:
    extents = (" × ".join(map(str, each)) for each in (step.grid, step.block))
    return (
        f"{step.kernel}<<<{', '.join(extents)}, {step.shared}>>>({', '.join(map(str, step.args))})"
    )


def test_without_steps_a_variant_launches_the_default_ones_in_their_order(own: Own) -> None:
    found = variants(own())["v1"]
    assert [shown(step) for step in found.steps] == [
        "twice<<<blocks, block, 4 * block>>>(input, output, n)",
        "check<<<1, 32, 0>>>(output)",
    ]
    assert {name: str(value) for name, value in found.let.items()} == {
        "blocks": "ceil_div(n, block)"
    }


def test_a_list_says_which_steps_there_are_and_a_mapping_what_differs_in_them(own: Own) -> None:
    found = variants(own())
    assert [str(step.kernel) for step in found["v0"].steps] == ["twice"]
    assert [shown(step) for step in found["v2"].steps] == [
        "twice<<<blocks, block, 0>>>(input, output, n)",
        "check<<<1, 32, 0>>>(output)",
    ]
    assert str(found["v2"].let["blocks"]) == "7"


def test_a_step_of_a_list_takes_what_it_does_not_say_from_the_default_of_its_kernel(
    own: Own,
) -> None:
    path = own("steps: [twice]", "steps: [check, {kernel: twice, grid: 3}, "
               "{kernel: more, grid: 1, block: 1, args: []}]")  # fmt: skip
    assert [shown(step) for step in variants(path)["v0"].steps] == [
        "check<<<1, 32, 0>>>(output)",
        "twice<<<3, block, 4 * block>>>(input, output, n)",
        "more<<<1, 1, 0>>>()",
    ]


def test_a_default_step_may_launch_a_kernel_of_another_name(own: Own) -> None:
    path = own("check: {grid", 'check: {kernel: "checks<{block}, 4>", grid')
    assert str(variants(path)["v1"].steps[1].kernel) == "checks<{block}, 4>"


def test_let_and_defines_merge_by_name_and_the_rest_is_replaced(own: Own) -> None:
    path = own("defaults:\n", "defaults:\n  flags: [-lineinfo]\n  when: block >= 64\n",
               "    steps: [twice]", "    steps: [twice]\n    defines: {BLOCK: block}\n"
               "    flags: [--fmad=false, -O1]\n    when: n > 1")  # fmt: skip
    found = variants(path)
    assert {k: str(v) for k, v in found["v0"].defines.items()} == {"FACTOR": "2", "BLOCK": "block"}
    assert found["v0"].flags == ("--fmad=false", "-O1")
    assert (str(found["v0"].when), str(found["v1"].when)) == ("n > 1", "block >= 64")


def test_a_variant_may_have_dtypes_and_launch_shapes_of_its_own(own: Own) -> None:
    path = own("    steps: [twice]", "    steps: [twice]\n    dtypes: [int8, bfloat16]\n"
               '    launch: {"block, items": [[64, 8], [32, 4]]}')  # fmt: skip
    found = variants(path)
    assert found["v0"].dtypes == ("int8", "bfloat16")
    assert found["v0"].launch == ({"block": 64, "items": 8}, {"block": 32, "items": 4})
    assert (found["v1"].dtypes, len(found["v1"].launch)) == (("float32",), 2)


def test_dtypes_and_launch_may_stand_in_the_defaults_but_not_twice(own: Own) -> None:
    moved = "defaults:\n  dtypes: [float64]\n  launch: {block: 32}\n"
    path = own("dtypes: [float32]\n", "", "launch: {block: [64, 128]}\n", "", "defaults:\n", moved)
    found = variants(path)["v1"]
    assert (found.dtypes, found.launch) == (("float64",), ({"block": 32},))
    path = own("defaults:\n", "defaults:\n  dtypes: [float64]\n")
    assert refusal(path).startswith(f"{path}:6: defaults.dtypes: also given on line 1\n")


def test_the_source_is_the_variants_name_unless_it_is_said(own: Own) -> None:
    found = variants(own())
    assert (found["v0"].source, found["v1"].source) == ("v0.cu", "v0.cu")
    path = own("  v2:\n    builds_on: v1\n    source: v0.cu\n", "  v2:\n    builds_on: v1\n")
    message = refusal(path)
    assert message.startswith(f"{path}:17: variants.v2.source: ")
    assert "v2.cu does not exist\n  the folder holds v0.cu" in message


def test_a_variant_of_which_nothing_is_said_is_all_defaults(own: Own) -> None:
    path = own("  v0:\n    steps: [twice]\n", "  v0:\n")
    assert len(variants(path)["v0"].steps) == 2


def test_every_value_knows_the_line_that_it_was_written_on(own: Own) -> None:
    found = variants(own())["v2"]
    lines = {at: found.place(*at).line for at in [
        ("steps", 0, "shared"), ("steps", 0, "grid"), ("steps", 1, "args", 0), ("let", "blocks"),
        ("source",), ("dtypes",), ("launch",), ("defines", "FACTOR"), ("builds_on",),
    ]}  # fmt: skip
    assert lines == {
        ("steps", 0, "shared"): 21, ("steps", 0, "grid"): 9, ("steps", 1, "args", 0): 10,
        ("let", "blocks"): 20, ("source",): 19, ("dtypes",): 1, ("launch",): 3,
        ("defines", "FACTOR"): 7, ("builds_on",): 18,
    }  # fmt: skip
    assert found.place("steps", 0, "grid").key == "defaults.steps.twice.grid"


def test_a_variant_says_its_idea_or_that_it_is_a_trap_and_where(own: Own) -> None:
    found = variants(own("builds_on: v0", "builds_on: v0\n    idea: traffic",
                         "builds_on: v1", "builds_on: v1\n    trap: coalescing"))  # fmt: skip
    assert [(v.idea, v.is_trap) for v in found.values()] == [
        ("", False), ("traffic", False), ("coalescing", True),
    ]  # fmt: skip
    assert found["v1"].place("idea").line == 16
    assert found["v2"].place("trap").line == 20


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("steps: [twice]", "steps: [twise]", "13: variants.v0.steps.0",
         "`twise` is not one of the steps in defaults; there are twice, check; did you mean twice"),
        ("steps: {twice: {shared: 0}}", "steps: {twise: {shared: 0}}",
         "21: variants.v2.steps.twise", "did you mean twice?"),
        ("steps: {twice: {shared: 0}}", "steps: {twice: {shred: 0}}",
         "21: variants.v2.steps.twice.shred", "unknown key; did you mean shared?"),
        ("steps: [twice]", "steps: [{grid: 1}]", "13: variants.v0.steps.0.kernel", "missing"),
        ("steps: [twice]", "steps: [{kernel: other, grid: 1, args: []}]",
         "13: variants.v0.steps.0.block", "missing"),
        ("    check: {grid: 1, block: 32, args: [output]}", "    check: {grid: 1, block: 32}",
         "10: defaults.steps.check.args", "this key is missing"),
        ("    check:", '    "che ck;":', "10: defaults.steps.che ck;",
         "not the name of a kernel"),
        # --- a ladder
        ("builds_on: v0", "builds_on: v9", "15: variants.v1.builds_on", "`v9` is not a variant"),
        ("builds_on: v0", "builds_on: v1", "15: variants.v1.builds_on", "itself: v1 → v1"),
        ("builds_on: v0", "builds_on: v2", "18: variants.v2.builds_on", "v1 → v2 → v1"),
        # --- its idea
        ("builds_on: v0", "builds_on: v0\n    idea: coalesing", "16: variants.v1.idea",
         "`coalesing` is not an idea; did you mean coalescing?"),
        ("builds_on: v0", "builds_on: v0\n    idea: traffic\n    trap: traffic",
         "17: variants.v1.trap", "a variant has an idea or is a trap, not both"),
        # --- values that nothing uses
        ("    steps: {twice: {shared: 0}}", "    steps: [twice]\n    launch: {n: 1}",
         "22: variants.v2.launch", "a launch key has the name of a size"),
        ("    let: {blocks: 7}", "    let: {bloks: 7}", "20: variants.v2.let.bloks",
         "nothing uses `bloks`; did you mean blocks?"),
        ('  let: {blocks: "ceil_div(n, block)"}', '  let: {blocks: "n", other: 1}',
         "6: defaults.let.other", "a default that no variant uses: nothing uses it"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_defaults_is_refused_with_its_line(
    own: Own, old: str, new: str, where: str, words: str
) -> None:
    path = own(old, new)
    message = refusal(path)
    assert message.startswith(f"{path}:{where}: "), message
    assert words in message


def test_a_default_that_every_variant_replaces_is_refused(own: Own) -> None:
    path = own("steps: [twice]", "steps: [{kernel: twice, shared: 1}]", "    source: v0.cu\n  v2:",
               "    source: v0.cu\n    steps: [{kernel: twice, shared: 2}]\n  v2:")  # fmt: skip
    message = refusal(path)
    assert message.startswith(f"{path}:9: defaults.steps.twice.shared: a default that no variant")
    assert "each variant has its own" in message


def test_a_default_step_that_no_variant_launches_is_refused(own: Own) -> None:
    path = own(
        "    source: v0.cu\n  v2:", "    source: v0.cu\n    steps: [twice]\n  v2:",
        "    steps: {twice: {shared: 0}}", "    steps: [{kernel: twice, shared: 0}]",
    )  # fmt: skip
    message = refusal(path)
    assert message.startswith(f"{path}:10: defaults.steps.check: ")
    assert "no variant launches it" in message


def test_a_limit_of_the_defaults_is_lifted_by_saying_null(own: Own) -> None:
    path = own("defaults:\n", "defaults:\n  when: block > 64\n", "    steps: [twice]",
               "    steps: [twice]\n    when: ~")  # fmt: skip
    found = variants(path)
    assert (found["v0"].when, str(found["v1"].when)) == (None, "block > 64")
