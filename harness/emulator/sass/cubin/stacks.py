"""Determine how much local memory a thread needs, including the stack beyond its known frames.

A cubin states the size of the deepest chain of frames. Recursion adds more frames, and `alloca`
moves the stack pointer (R1) by an amount that the program computes.
"""

from __future__ import annotations

from bisect import bisect

from harness.emulator.sass.code import Function, Instruction

STACK_BYTES = 1 << 15
"""The stack's size, the same as for PTX."""
_RELATIVE_CALL = "CALL.REL.NOINC"
_POINTER = 1
_STORES = ("STL", "STG", "STS", "ST")


def local_bytes(function: Function) -> int:
    """A thread's local memory in bytes, rounded up so that every thread's local memory is
    aligned."""
    frames = -(-function.local_bytes // 16) * 16
    return frames + STACK_BYTES if function.once(grows) else frames


def grows(function: Function) -> bool:
    """Return whether the stack may need more than the frames whose size the cubin states."""
    return _recursive(function) or any(
        _moves_by_register(each) or _through_pointer(each) for each in function.instructions
    )


def _through_pointer(each: Instruction) -> bool:
    """Return whether the kernel calls a function whose address is in a register."""
    return each.name == _RELATIVE_CALL and each.operands[0].kind == "register"


def overflow(function: Function, instruction: Instruction, address: int) -> str:
    """The message of a fault at this address if the stack is exhausted; otherwise empty."""
    if instruction.opcode not in ("LDL", "STL") or not function.once(grows) or address < 1 << 31:
        return ""
    return (
        f"`{instruction.text}` at {instruction.address:#x} is beyond a thread's stack of "
        f"{STACK_BYTES} bytes: calls nest too deep, or alloca takes too much"
    )


def _moves_by_register(each: Instruction) -> bool:
    named = [operand.number for operand in each.operands if operand.kind == "register"]
    return (
        named[:1] == [_POINTER]
        and each.opcode not in _STORES
        and any(number != _POINTER and number < 255 for number in named[1:])
    )


def _recursive(function: Function) -> bool:
    """Return whether a function that the kernel calls can be reached from itself."""
    calls = [each for each in function.instructions if each.opcode == "CALL" and each.operands]
    if not calls:
        return False
    entries = sorted({0, *function.entries.values()})
    callees: dict[int, set[int]] = {}
    for each in calls:
        caller = entries[bisect(entries, each.address) - 1]
        target = function.entries.get(each.operands[0].text)
        callees.setdefault(caller, set()).update(() if target is None else (target,))
    return any(_calls_itself(callees, each) for each in callees)


def _calls_itself(callees: dict[int, set[int]], function: int) -> bool:
    """Return whether a function can be reached from itself, directly or through others."""
    found: set[int] = set()
    waiting = list(callees.get(function, ()))
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(callees.get(each, ()))
    return function in found
