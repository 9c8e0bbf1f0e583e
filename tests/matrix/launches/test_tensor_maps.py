"""A tensor map among a step's arguments is evaluated to numbers if it is valid, and is rejected
otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import V0, line_of, refusal

from harness.cases import Device, TensorMap
from harness.commands.printed import resolved as printed
from harness.errors import ConfigError
from harness.judge import lent
from harness.matrix import model, plan
from harness.run.staleness import launched
from harness.silicon.tensor_maps import TensorLayout

Edited = Callable[[str, str], Path]

ARGS = "args: [input, output, n]"
MAP = "{tensor_map: input, shape: [32, n // 32], box: [32, 8], swizzle: 128B, l2: 256B}"


@pytest.fixture
def with_map(edited: Edited) -> Callable[..., Path]:
    """Write the matrix with a tensor map of the input: with_map(text, extras) → its path."""

    def write(text: str = MAP, more: str = "when: n >= 32") -> Path:
        edited("source: v0.cu", f"source: v0.cu\n        {more}")
        return edited(ARGS, f"args:\n              - {text}\n              - output\n")

    return write


def resolved(path: Path, device: Device) -> plan.Plan:
    return plan.resolve(model.load(path), device, "cuda")


def test_a_map_has_its_numbers_and_its_buffers_element_type(
    with_map: Callable[..., Path], device: Device
) -> None:
    found = resolved(with_map(), device)
    layout = TensorLayout("f32", (32, 32), (32, 8), swizzle="128B", l2="256B")
    assert found.cases[0].steps[0].args == (TensorMap("input", layout), "output")
    assert found.tests[-1].steps[0].args[0] == TensorMap("input", replace(layout, shape=(32, 1)))


def test_strides_may_leave_gaps_and_all_numbers_be_expressions(
    with_map: Callable[..., Path], device: Device
) -> None:
    text = (
        "{tensor_map: output, shape: [wide, 4], box: [block // 4, wide // 8], "
        'strides: ["max(256, 16)"], fill: nan}'
    )
    path = with_map(text, "when: n >= 64\n        let: {wide: 16}")
    layout = TensorLayout("f32", (16, 4), (16, 2), (256,), fill="nan")
    case = resolved(path, device).cases[0]
    assert case.steps[0].args[0] == TensorMap("output", layout)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[32, 8]", "[32, 257]", "box [32, 257]: each is from 1 to 256"),
        ("[32, 8]", "[3, 8]", "a box whose rows have 12 bytes: they are a multiple of 16"),
        ("[32, 8]", "[64, 8]", "a box whose rows have 256 bytes: a swizzle of 128 bytes takes no"),
        ("[32, 8]", "[32]", "box [32]: 2 numbers are wanted"),
        ("[32, n // 32]", "[33, n // 33]", "a stride of 132 bytes: it is a multiple of 16"),
        ("[32, n // 32]", "[32, n // 2**20]", "shape [32, 0]: each is from 1 to 2^32"),
        ("[32, n // 32]", "[32, n]", "a tensor of 131,072 bytes: `input` has 4,096"),
        ("swizzle: 128B", "strides: [128, 128]", "2 strides for 2 dimensions: all but the inner"),
        ("tensor_map: input", "tensor_map: inputs", "`inputs` is not a buffer of the problem (inp"),
        ("[32, 8]", "[wide, 8]", "`wide` is unknown"),
    ],
)
def test_what_the_driver_would_refuse_is_refused_by_its_line_and_size(
    with_map: Callable[..., Path], device: Device, old: str, new: str, said: str
) -> None:
    assert old in MAP
    path = with_map(MAP.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        resolved(path, device)
    text = str(caught.value)
    assert f"{path.name}:{line_of(path, '- {tensor_map')}" in text
    assert f"{V0}.steps.0.args.0" in text
    assert said in text
    if "wide" not in new and "inputs" not in new:
        assert "at n = 1024" in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("swizzle: 128B", "swizle: 128B", "unknown key; did you mean swizzle?"),
        ("swizzle: 128B", "swizzle: 16B", "`16B` is not one of none, 32B, 64B, 128B"),
        ("swizzle: 128B", "fill: nothing", "`nothing` is not one of zero, nan"),
        ("swizzle: 128B", "interleave: 16B", "unknown key"),
        ("box: [32, 8], ", "", "`box` is missing: write {tensor_map: a,"),
        ("shape: [32, n // 32]", "shape: []", "a tensor has one to 5 dimensions"),
        ("shape: [32, n // 32]", "shape: [1, 1, 1, 1, 1, 1]", "a tensor has one to 5 dimensions"),
        ("[32, 8]", "[32, 8.5]", "write an integer or an integer expression"),
        ("[32, 8]", "[32, n / 8]", "`n / 8` divides with /"),
        ("tensor_map: input", "tensor_map: 3", "write the name of a buffer"),
    ],
)
def test_what_is_written_wrongly_is_refused_by_its_line(
    with_map: Callable[..., Path], old: str, new: str, said: str
) -> None:
    assert old in MAP
    path = with_map(MAP.replace(old, new))
    text = refusal(path)
    assert f"{path.name}:{line_of(path, '- {tensor_map')}" in text
    assert said in text


def test_a_map_is_no_argument_of_a_host_function(edited: Edited) -> None:
    steps = """steps:
          - kernel: twice
            grid: ceil_div(n, block)
            block: block
            args: [input, output, n]"""
    path = edited(f"source: v0.cu\n        {steps}", f"host: v0.cu:twice\n        args: [{MAP}]")
    assert "an argument is the name of a buffer, a number or an expression" in refusal(path)


def test_names_that_only_a_map_uses_are_used(with_map: Callable[..., Path]) -> None:
    path = with_map(MAP.replace("[32, 8]", "[32, tall]"), "let: {tall: 4}")
    [variant] = model.load(path).problems["double"].variants.values()
    assert variant.used_names() >= {"tall", "n"}


def test_a_card_without_the_unit_skips_it_by_name(
    with_map: Callable[..., Path], device: Device
) -> None:
    ampere = replace(device, arch="sm_80", capability=(8, 0))
    reasons = {case.skip for case in resolved(with_map(), ampere).cases}
    assert reasons == {
        "twice: needs compute capability 9.0 (the tensor memory accelerator), sm_80 is 8.0"
    }


def test_another_box_is_another_launch(with_map: Callable[..., Path], device: Device) -> None:
    [case, _] = resolved(with_map(), device).cases
    [step] = case.steps
    smaller = TensorMap("input", TensorLayout("f32", (32, 32), (32, 4), swizzle="128B"))
    other = replace(step, args=(smaller, "output"))
    assert launched(case, 1) != launched(replace(case, steps=(other,)), 1)


def test_a_map_is_shown_and_lent_as_it_was_written(with_map: Callable[..., Path]) -> None:
    problem = model.load(with_map()).problems["double"]
    variant = problem.variants["v0"]
    rows = {key.strip(): value for key, value, _ in printed.rows(problem, variant)}
    assert rows["args"] == (
        "{tensor_map: input, shape: [32, n // 32], box: [32, 8], swizzle: 128B, fill: zero, "
        "l2: 256B}, output"
    )
    [step] = lent._variant(variant)["steps"]
    assert step["args"][0]["box"] == ["32", "8"]
    assert step["args"][0]["tensor_map"] == "input"
