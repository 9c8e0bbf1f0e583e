"""A module's `__device__` and `__constant__` variables: their addresses and initial values.

Variables come first in the address space of every launch, so a pointer to a variable, stored in
another one, stays valid from launch to launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory.address_space import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    AddressSpace,
    address_of_slot,
)
from harness.emulator.program.decode.operands import literal_bits
from harness.emulator.ptx.call_graph import function_address
from harness.emulator.ptx.kernel_names import find_name
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Masked,
    Module,
    Name,
    Number,
    Operand,
    Sum,
    Variable,
)

Array = NDArray[Any]
MOST_BYTES = 1 << 32


def place(memory: AddressSpace, module: Module, contents: dict[str, Array]) -> None:
    """Add every variable to an empty memory; `contents` keeps their bytes between launches."""
    variables = _variables(module)
    for variable in variables:
        data = contents.get(variable.name)
        if data is None:
            data = contents[variable.name] = _initial(module, variables, variable)
        memory.add(variable.name, data, variable.space != "const")


def named(contents: Mapping[str, Array], name: str, dtype: Any) -> Array:
    """Return a variable as an array of the given type, which shares the variable's memory.

    `contents`: the bytes of all variables. `name` is as in the machine code, or as in the source if
    only one variable has it.
    """
    if not isinstance(name, str):
        raise LaunchError(f"the variable is {shown(name)}; pass its name")
    name = find_name("variable", name, contents)
    data = contents[name]
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise LaunchError(f"the type of `{name}` is {shown(dtype)}; pass a NumPy type") from None
    if kind.hasobject or not kind.itemsize or data.size % kind.itemsize:
        raise LaunchError(f"variable `{name}` has {data.size} bytes, which is no array of {kind}")
    return data.view(kind)


def zeros(name: str, size: int) -> Array:
    """Return zeros for the bytes of a variable. Raises LaunchError if they are too many."""
    takes = f"variable `{name}` takes {size} bytes"
    if size > MOST_BYTES:
        raise LaunchError(f"{takes}; the emulator has at most {MOST_BYTES} for one")
    try:
        return np.zeros(size, np.uint8)
    except MemoryError:
        raise LaunchError(f"{takes}, which this machine does not have") from None


def writable(module: Module) -> list[str]:
    """The names of the variables that kernels may write: those in `__device__` memory."""
    return [v.name for v in _variables(module) if v.space == "global"]


def _variables(module: Module) -> list[Variable]:
    return [v for v in module.globals.values() if v.space in ("global", "const") and not v.extern]


def _initial(module: Module, variables: list[Variable], variable: Variable) -> Array:
    """Return a variable's initial contents."""
    data = zeros(variable.name, variable.size)
    size = TYPE_SIZES[variable.type]
    for i, item in enumerate(variable.initial):
        value = _value(module, variables, variable, item)
        raw = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        data[i * size : (i + 1) * size] = np.frombuffer(raw, np.uint8)
    return data


def _value(module: Module, variables: list[Variable], of: Variable, item: Operand) -> int:
    if isinstance(item, Masked):
        lowest = item.mask & -item.mask
        return (_value(module, variables, of, item.operand) & item.mask) // max(lowest, 1)
    if not isinstance(item, Number):
        return _address(module, variables, of, item)
    bits = literal_bits(item, of.type)
    if bits is None:
        raise LaunchError(f"variable `{of.name}` of type {of.type} starts as {item.value}")
    return bits


def _address(module: Module, variables: list[Variable], of: Variable, item: Operand) -> int:
    """A generic address in an initialiser: the address of a function, or of a variable plus an
    offset.
    """
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
