"""The `__device__` and `__constant__` variables of a module: where they are and how they start.

A module's variables come first in the address space of every launch, so that a pointer to one,
kept in another, is good from launch to launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.callgraph import function_address
from harness.emulator.errors import LaunchError
from harness.emulator.global_memory import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    GlobalMemory,
    address_of_slot,
)
from harness.emulator.ptx import TYPE_SIZES, Module, Name, Number, Operand, Sum, Variable

Array = NDArray[Any]


def place(memory: GlobalMemory, module: Module, contents: dict[str, Array]) -> None:
    """Add every variable to an empty memory; `contents` keeps their bytes between launches."""
    variables = _variables(module)
    for variable in variables:
        data = contents.get(variable.name)
        if data is None:
            data = contents[variable.name] = _initial(module, variables, variable)
        memory.add(variable.name, data, variable.space != "const")


def _variables(module: Module) -> list[Variable]:
    return [v for v in module.globals.values() if v.space in ("global", "const")]


def _initial(module: Module, variables: list[Variable], variable: Variable) -> Array:
    """The first contents of a variable."""
    data = np.zeros(max(variable.size, 0), np.uint8)
    size = TYPE_SIZES[variable.type]
    for i, item in enumerate(variable.initial):
        if isinstance(item, Number) and item.bits is not None:
            value = item.bits
        elif isinstance(item, Number):
            value = int(item.value)
        else:
            value = _address(module, variables, variable, item)
        raw = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        data[i * size : (i + 1) * size] = np.frombuffer(raw, np.uint8)
    return data


def _address(module: Module, variables: list[Variable], of: Variable, item: Operand) -> int:
    """A generic address in an initialiser: of a variable, plus an offset, or of a function."""
    name, offset = "", 0
    if isinstance(item, Name):
        name = item.text
    elif isinstance(item, Sum):
        name, offset = item.base, item.offset
    for slot, each in enumerate(variables):
        if each.name == name:
            return address_of_slot(slot) + offset
    if name in module.functions:
        return function_address(module, name)
    windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
    space = module.globals[name].space if name in module.globals else "nothing"
    raise LaunchError(
        f"variable `{of.name}` is initialised with the address of `{name}`, which is in {space} "
        f"memory; the emulator knows only addresses in global and constant memory"
        if space in windows
        else f"variable `{of.name}` is initialised with `{name}`, which the module does not define"
    )
