"""Variants whose comments state that the compiler generates the same machine code for them, or that
it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compiler.compile import build
from harness.compiler.units import Unit

KERNELS = Path(__file__).parents[2] / "kernels"


def machine_code(source: str) -> str:
    (kernel,) = build(Unit(KERNELS / f"{source}.cu", (KERNELS,), (), "sm_90")).kernels.values()
    assert kernel.sass_sha256
    return kernel.sass_sha256


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vector_add_coarsening/v0_one_element", "vector_add_coarsening/v0b_through_registers"),
        ("parity_branch/v1_select_arithmetic", "parity_branch/v2_conditional"),
    ],
)
def test_the_compiler_makes_the_same_of_two_sources(one: str, other: str) -> None:
    assert machine_code(one) == machine_code(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("parity_branch/v0_if_else", "parity_branch/v2_conditional"),
        ("parity_branch/v0_if_else", "parity_branch/t1_branch_kept"),
    ],
)
def test_the_compiler_makes_two_things_of_two_sources(one: str, other: str) -> None:
    assert machine_code(one) != machine_code(other)
