"""The arguments of a machine-code launch, for parameters whose types a cubin does not record.

The types come from the kernel's PTX if it is available, or else from the arguments themselves.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.emulator.errors import LaunchError
from harness.emulator.memory import arguments
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.ptx.syntax import Kernel, Param
from harness.emulator.sass.code import Function

_INTEGERS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}
_ALIGNMENTS = tuple(1 << n for n in range(8))
_FLOATS = {2: "f16", 4: "f32", 8: "f64"}


def pack(
    function: Function, args: Any, names: Sequence[str] | None, memory: AddressSpace,
    kernel: Kernel | None, buffers: Sequence[Any] = (),
) -> bytes:  # fmt: skip
    """Build constant bank 0 up to the last parameter, with zeros before the first; place arrays
    among the arguments in memory."""
    given = args if isinstance(args, Sequence) else ()
    params = _of_ptx(function, kernel) if kernel else _guessed(function, given)
    named = Kernel(function.name, params)
    return arguments.pack(named, args, names, memory, function.parameter_base, buffers)


def _of_ptx(function: Function, kernel: Kernel) -> tuple[Param, ...]:
    at = first = function.parameter_base
    for number, param in enumerate(kernel.params):
        at += -at % param.align
        own = function.parameters[number : number + 1]
        if not own or (own[0].offset, own[0].size) != (at - first, param.size):
            raise LaunchError(
                f"kernel `{function.name}`: parameter {number} ({param.name}) of the PTX is not "
                "that of the machine code; compile both from the same source"
            )
        at += param.size
    return tuple(kernel.params)


def _guessed(function: Function, args: Sequence[Any]) -> tuple[Param, ...]:
    params = []
    at = function.parameter_base
    for number, each in enumerate(function.parameters):
        arg = args[number] if number < len(args) else None
        following = function.parameters[number + 1 : number + 2]
        # The smallest alignment that puts the parameter at its offset, after the previous one.
        begins = function.parameter_base + each.offset
        align = next((a for a in _ALIGNMENTS if at + -at % a == begins), 1)
        at = begins + each.size
        if following and each.offset + each.size > following[0].offset:
            raise LaunchError(f"kernel `{function.name}`: parameter {number} overlaps the next one")
        whole = isinstance(arg, (numbers.Integral, np.bool_))
        is_float = isinstance(arg, numbers.Real) and not whole
        kind = (_FLOATS if is_float else _INTEGERS).get(each.size)
        params.append(Param(f"parameter {number}", kind or "b8", each.size, align, kind is None))
    return tuple(params)
