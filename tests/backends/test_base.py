"""The behaviour that both backends share: arguments by signature, poison, inputs, contracts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from harness.backends.base import broken_promises, contents, poisoned, scalar_or_buffer
from harness.cases import Case, Step
from harness.errors import LaunchError
from harness.problem import Buffer


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str


def bound(types: list[str], *args: str | int) -> list[str | np.generic]:
    parameters = [Parameter(f"p{i}", kind) for i, kind in enumerate(types)]
    return scalar_or_buffer(parameters, Step("k", (1, 1, 1), (1, 1, 1), 0, args), "v0.cu")


def test_buffers_stay_names_and_integers_take_the_parameters_type() -> None:
    found = bound(["u64", "s32", "u32", "f32", "u64"], "input", -1, 7, 3, 2**63)
    assert found == ["input", -1, 7, 3.0, 2**63]
    assert [type(value) for value in found[1:]] == [np.int32, np.uint32, np.float32, np.uint64]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("u8", 255), ("s8", -128), ("u16", 65535), ("u32", 2**32 - 1), ("s32", -(2**31)),
     ("s64", 2**63 - 1), ("b32", 0), ("b64", 2**64 - 1)],
)  # fmt: skip
def test_the_largest_and_least_that_fit_are_passed_exactly(kind: str, value: int) -> None:
    [found] = bound([kind], value)
    assert int(found) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [("u8", 256), ("u32", -1), ("u32", 2**32), ("s32", 2**31), ("s32", -(2**31) - 1), ("u64", -1),
     ("s64", 2**63), ("b16", 65536)],
)  # fmt: skip
def test_an_integer_that_does_not_fit_is_refused_by_its_place(kind: str, value: int) -> None:
    with pytest.raises(LaunchError, match=rf"v0\.cu: k, argument 2: {value} does not fit a {kind}"):
        bound(["u64", kind], "input", value)


@pytest.mark.parametrize("args", [(), ("input",), ("input", 1, 2)])
def test_a_wrong_number_of_arguments_shows_both_lists(args: tuple[str | int, ...]) -> None:
    with pytest.raises(LaunchError) as caught:
        bound(["u64", "s32"], *args)
    assert "k takes 2 arguments (u64, s32)" in str(caught.value)
    assert f"args: lists {len(args)} ({', '.join(map(str, args))})" in str(caught.value)


@pytest.mark.parametrize("kind", ["s32", "f32", "u32"])
def test_a_buffer_where_the_kernel_takes_no_pointer_is_refused(kind: str) -> None:
    with pytest.raises(
        LaunchError, match=f"argument 1: `input` is a buffer, but .* takes a {kind}"
    ):
        bound([kind], "input")


def test_a_parameter_of_a_type_without_a_number_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"a parameter of type \.b128 cannot be passed"):
        bound(["b128"], 1)


def test_an_output_and_scratch_start_as_poison_which_is_no_number() -> None:
    for role in ("output", "scratch"):
        array = poisoned(Buffer("x", role, "float32", 5))  # type: ignore[arg-type]
        assert array.dtype == np.float32
        assert array.size == 5
        assert np.all(np.isnan(array))
        assert np.all(array.view(np.uint8) == 0xFF)
    assert list(poisoned(Buffer("x", "output", "int32", 2))) == [-1, -1]


def test_what_is_promised_zero_starts_zero() -> None:
    assert not poisoned(Buffer("x", "zeroed", "uint32", 3)).any()


INPUT = Buffer("input", "input", "float32", 3)


def test_only_inputs_are_uploaded_flat_and_contiguous() -> None:
    given = np.arange(6, dtype=np.float32)[::2].reshape(3, 1)
    found = contents([INPUT, Buffer("output", "output", "float32", 3)], {"input": given})
    assert list(found) == ["input"]
    assert found["input"].flags.c_contiguous
    assert list(found["input"]) == [0, 2, 4]


@pytest.mark.parametrize(
    "given", [np.zeros(2, np.float32), np.zeros(4, np.float32), np.zeros(3), np.zeros(3, np.int32)]
)
def test_an_input_that_is_not_what_its_buffer_promises_is_refused(given: np.ndarray) -> None:
    with pytest.raises(LaunchError) as caught:
        contents([INPUT], {"input": given})
    assert f"inputs()['input'] is {given.size} × {given.dtype}" in str(caught.value)
    assert "promises 3 × float32" in str(caught.value)


BUFFERS = [INPUT, Buffer("output", "output", "float32", 3), Buffer("ticket", "zeroed", "uint32", 1)]


def broken(
    case: Case, after: list[float] | None = None, ticket: int = 0, before: float = 1.0
) -> tuple[str, ...]:
    values = np.array([before, 2.0, 3.0], np.float32)
    return broken_promises(
        BUFFERS,
        case.overwrites,
        {"input": values},
        {
            "input": values if after is None else np.array(after, np.float32),
            "output": np.zeros(3, np.float32),
            "ticket": np.array([ticket], np.uint32),
        },
    )


def test_kept_promises_are_no_faults(double: Callable[..., Case]) -> None:
    assert broken(double()) == ()
    assert broken(double(), before=np.nan) == ()  # compared by bits: an unchanged NaN is kept


def test_a_changed_input_is_named_with_its_element_and_the_remedy(
    double: Callable[..., Case],
) -> None:
    [fault] = broken(double(), [1.0, 2.0, 4.0])
    assert "`input` was changed at element 2" in fault
    assert "overwrites: [input]" in fault


def test_a_sign_of_zero_that_changes_is_a_change(double: Callable[..., Case]) -> None:
    assert len(broken(double(), [-0.0, 2.0, 3.0], before=0.0)) == 1


def test_an_input_may_change_where_the_variant_says_so(double: Callable[..., Case]) -> None:
    case = replace(double(), overwrites=("input",))
    assert broken(case, [9.0, 9.0, 9.0]) == ()


def test_a_zeroed_buffer_left_dirty_is_a_fault(double: Callable[..., Case]) -> None:
    [fault] = broken(double(), ticket=1)
    assert fault == "`ticket` must be zero after the launch, and is not"
