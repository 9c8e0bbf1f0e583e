"""Kernels of one source whose results are known, launched as PTX or as machine code."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.emulator import Module, launch
from harness.emulator.sass import MachineCode, launch_machine_code


def check_results(
    form: Module | MachineCode, given: NDArray[np.int32], wanted: Mapping[str, NDArray[np.int64]]
) -> None:
    """Launch each kernel with one block, with a thread for each expected number; check that it
    stores these numbers without a fault."""
    for kernel, numbers in wanted.items():
        out = np.zeros(len(numbers), np.uint32)
        if isinstance(form, MachineCode):
            faults = launch_machine_code(form, kernel, 1, len(out), [given, out]).faults
        else:
            faults = launch(form, kernel, 1, len(out), [given, out]).faults
        assert (kernel, faults, out.tolist()) == (kernel, (), numbers.tolist())
