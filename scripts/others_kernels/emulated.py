"""Run a launch of kernels.yaml in the emulator, as PTX and as machine code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import launches as listed
import numpy as np
import sources

from harness.emulator import launch, parse
from harness.emulator import variable as ptx_variable
from harness.emulator.engine.report import LaunchReport
from harness.emulator.sass import MachineReport, launch_machine_code, variable
from harness.emulator.sass import read as read_cubin

MOST = 2**34
"""The maximum number of thread instructions that a launch may execute."""


@dataclass(frozen=True)
class Results:
    """The buffers after a launch, and the report of each front end."""

    buffers: Mapping[str, listed.Array]
    report: Any


class Launcher:
    """A launch with its compiled files."""

    def __init__(
        self, launch: listed.Launch, folder: Path, entry: Mapping[str, Any],
        arch: str = listed.ARCH,
    ) -> None:  # fmt: skip
        self.launch, self._symbol, self.arch = launch, entry["symbol"], arch
        self.cubin = folder / f"{entry['file']}.cubin"
        self.ptx = folder / f"{entry['file']}.ptx"

    @cached_property
    def _module(self) -> Any:
        return parse(self.ptx.read_text(encoding="utf-8"))

    def from_ptx(self) -> Results:
        given, module = self._arguments(), self._module
        for each in self.launch.variables:
            ptx_variable(module, each.name, each.dtype)[:] = each.contents(self.launch.name)
        report: LaunchReport = launch(
            module, self._symbol, self.launch.grid, self.launch.block, list(given.values()),
            self.launch.shared_bytes, names=list(given), arch=self.arch,
            max_thread_instructions=MOST,
        )  # fmt: skip
        return Results(self._buffers(given), report)

    def from_machine_code(self, cubin: Path | None = None) -> Results:
        """Run the machine code. `cubin`: a different cubin to run, assembled from the same PTX."""
        given = self._arguments()
        code = read_cubin(cubin) if cubin else sources.read_listed(self.cubin)
        for each in self.launch.variables:
            variable(code, each.name, each.dtype)[:] = each.contents(self.launch.name)
        report: MachineReport = launch_machine_code(
            code, self._symbol, self.launch.grid, self.launch.block, list(given.values()),
            self.launch.shared_bytes, names=list(given),
            signature=self._module.kernels[self._symbol], max_thread_instructions=MOST,
        )  # fmt: skip
        return Results(self._buffers(given), report)

    def _arguments(self) -> dict[str, Any]:
        """The arguments by name, in order: arrays, numbers, and structs as bytes."""
        given: dict[str, Any] = {}
        for arg in self.launch.args:
            if isinstance(arg, listed.Buffer):
                given[arg.name] = arg.contents(self.launch.name)
            elif len(arg.values) > 1:
                given[arg.name] = arg.packed()
            else:
                given[arg.name] = np.dtype(arg.dtype).type(arg.values[0]).item()
        return given

    def _buffers(self, given: Mapping[str, Any]) -> dict[str, listed.Array]:
        return {
            each.name: self.launch.in_order(each.name, given[each.name])
            for each in self.launch.buffers
        }


def launchers(folder: Path, arch: str = listed.ARCH) -> list[Launcher]:
    """Every launch of the list whose kernel has been compiled into the folder for this
    architecture."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [
        Launcher(each, folder, manifest[each.name], arch)
        for each in listed.read()
        if each.name in manifest
    ]
