"""Run the launches in the emulator, from PTX and from machine code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from one_launch import Launch, digest

from harness.compiler.compile import Built
from harness.emulator import LaunchReport, Module, TensorMap, launch, parse
from harness.emulator.sass import MachineCode, MachineReport, launch_machine_code, read
from harness.silicon.tensor_maps import TensorLayout

_OF_ELEMENTS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True)
class Outcome:
    """A digest of the buffers after a launch, and the launch's report."""

    digest: str
    report: LaunchReport | MachineReport


def of_machine_code(built: Built, each: Launch) -> Outcome:
    report, buffers = left_by_machine_code(built, each)
    return Outcome(digest(buffers), report)


def left_by_machine_code(built: Built, each: Launch) -> tuple[MachineReport, list[np.ndarray]]:
    """Run a launch from machine code; return its report, and all buffers afterwards."""
    buffers = each.buffers()
    ptx = _module(built.ptx)
    report = launch_machine_code(
        _code(built.cubin), each.kernel, each.grid, each.block, _arguments(each, buffers),
        each.shared, signature=ptx.kernels[each.kernel], ptx=ptx,
    )  # fmt: skip
    return report, buffers


def of_ptx(built: Built, each: Launch) -> Outcome:
    buffers = each.buffers()
    report = launch(
        _module(built.ptx), each.kernel, each.grid, each.block, _arguments(each, buffers),
        each.shared, arch="sm_90a",
    )  # fmt: skip
    return Outcome(digest(buffers), report)


@cache
def _module(ptx: Path) -> Module:
    return parse(ptx.read_text(encoding="utf-8"))


@cache
def _code(cubin: Path) -> MachineCode:
    return read(cubin)


def _arguments(each: Launch, buffers: list[np.ndarray]) -> list[Any]:
    maps = [
        _map(layout, data) for layout, data in zip(each.maps, buffers[2:], strict=True)
    ]  # fmt: skip
    return [*maps, *buffers[:2], *each.scalars]


def _map(layout: TensorLayout, data: np.ndarray) -> TensorMap:
    return TensorMap(
        data.view(_OF_ELEMENTS[layout.element_bytes]), layout.box, layout.shape,
        layout.byte_strides, layout.element, layout.step_sizes, layout.swizzle, layout.interleave,
        layout.fill, layout.l2, layout.lower, layout.upper,
    )  # fmt: skip
