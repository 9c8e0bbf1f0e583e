"""The features found in a kernel's PTX without running it: clocks, half precision, cache hints.

A feature is a property of one instruction, whether or not the emulator can execute it and whether
or not a launch reaches it: `InstructionCount.ptx_line` shows which were reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from harness.emulator.ptx.call_graph import CallGraph
from harness.emulator.ptx.kernel_names import find_kernel
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Function, Instruction, Module, names_of

Kind = Literal[
    "clock", "branch on a clock", "multiprocessor", "launch number", "half", "tf32", "single",
    "to half", "to tf32", "to single", "hint", "prefetch", "float atomic",
]  # fmt: skip


@dataclass(frozen=True)
class Feature:
    """One instruction: `detail` is its opcode, or the special register that it reads."""

    kind: Kind
    detail: str
    file: str
    line: int
    ptx_line: int


_HALF_TYPES = frozenset(
    ["f16", "f16x2", "bf16", "bf16x2"]
    + [f"{small}{pair}" for small in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0")
       for pair in ("", "x2", "x4")]
)  # fmt: skip
_HALF_KINDS = ("kind::f16", "kind::f8f6f4", "kind::mx")  # of tcgen05.mma
_ROUNDED = frozenset(["add", "sub", "mul", "mad", "fma", "ex2", "tanh"])
_ROUNDED_SINGLE = _ROUNDED | {"div", "rcp", "sqrt", "rsqrt", "lg2", "sin", "cos"}
_MATRIX = frozenset(["mma", "mma_async"])
_FLOATS = _HALF_TYPES | {"f32", "f64"}
_CACHE_HINTS = ("L2::evict", "L2::cache_hint")
_PREFETCH_SIZES = ("L2::64B", "L2::128B", "L2::256B")
_NO_RESULT = frozenset(["st", "red", "bra", "brx", "call", "ret", "bar", "barrier"])


def features(module: Module, kernel: str) -> tuple[Feature, ...]:
    """The features of a kernel and of the functions that it may call, in the order of the PTX."""
    entry = find_kernel(module, kernel)
    called = CallGraph(module).called_from(entry)
    functions = [entry, *(f for name, f in module.functions.items() if name in called)]
    found = [feature for function in functions for feature in _of_function(function)]
    return tuple(sorted(found, key=lambda feature: feature.ptx_line))


def _of_function(function: Function) -> Iterator[Feature]:
    body = [each for each in function.body or () if isinstance(each, Instruction)]
    for instruction in body:
        for kind, detail in (*_by_opcode(instruction.opcode), *_by_registers(instruction)):
            yield _trait(kind, detail, instruction)
    for instruction in _branches_on(body, _from_clocks(body)):
        yield _trait("branch on a clock", instruction.opcode, instruction)


def _trait(kind: Kind, detail: str, instruction: Instruction) -> Feature:
    at = user_line(instruction.location)
    file, line = (at.file, at.line) if at else ("", 0)
    return Feature(kind, detail, file, line, instruction.ptx_line)


def _by_opcode(opcode: str) -> Iterator[tuple[Kind, str]]:
    name, *words = opcode.split(".")
    last = words[-1] if words else ""
    if name in ("mma", "wmma", "wgmma", "tcgen05"):
        if name == "mma" or _MATRIX.intersection(words):
            if _HALF_TYPES.intersection(words) or any(w.startswith(_HALF_KINDS) for w in words):
                yield "half", opcode
            elif "tf32" in words or "kind::tf32" in words:
                yield "tf32", opcode
    elif name in ("atom", "red"):
        if "add" in words and last in _FLOATS:
            yield "float atomic", opcode
    elif name == "cvt" and len(words) >= 2 and words[-1] in ("f32", "f64"):
        to: dict[str, Kind] = {"tf32": "to tf32"}
        to |= dict.fromkeys(_HALF_TYPES, "to half")
        to |= {"f32": "to single"} if last == "f64" else {}
        if words[-2] in to:
            yield to[words[-2]], opcode
    elif name in _ROUNDED and last in _HALF_TYPES:
        yield "half", opcode
    elif name in _ROUNDED_SINGLE and last == "f32":
        yield "single", opcode
    if name in ("createpolicy", "applypriority", "discard") or any(
        word.startswith(_CACHE_HINTS) for word in words
    ):
        yield "hint", opcode
    elif name.startswith("prefetch") or "prefetch" in words or any(
        word in _PREFETCH_SIZES for word in words
    ):  # fmt: skip
        yield "prefetch", opcode


_SPECIAL: dict[str, Kind] = {
    "%clock": "clock", "%globaltimer": "clock", "%pm": "clock", "%smid": "multiprocessor",
    "%nsmid": "multiprocessor", "%warpid": "multiprocessor", "%gridid": "launch number",
}  # fmt: skip


def _by_registers(instruction: Instruction) -> Iterator[tuple[Kind, str]]:
    for name in names_of(instruction.operands):
        for start, kind in _SPECIAL.items():
            if name.startswith(start) and _is_special(name, start):
                yield kind, name


def _is_special(name: str, start: str) -> bool:
    """Return whether a name is the special register or a part of it, rather than a name like
    `%pm_of_mine`."""
    rest = name[len(start) :]
    return rest in ("", "64", "_hi", "_lo") or (start == "%pm" and rest.isdigit())


# --- what depends on a clock --------------------------------------------------------------------


def _from_clocks(body: list[Instruction]) -> set[str]:
    """Find the registers whose value may come from a clock, anywhere in the function.

    Values are followed only through registers, not through memory.
    """
    found: set[str] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        for instruction in body:
            if instruction.opcode.split(".")[0] in _NO_RESULT:
                continue
            results, sources = names_of(instruction.operands[:1]), instruction.operands[1:]
            reads = {*names_of(sources), *_guard(instruction)}
            if reads & found or any(kind == "clock" for kind, _ in _by_registers(instruction)):
                found.update(results)
    return found


def _branches_on(body: list[Instruction], registers: set[str]) -> Iterator[Instruction]:
    """Instructions whose execution or selection depends on one of the registers."""
    for instruction in body:
        name = instruction.opcode.split(".")[0]
        chooses = names_of(instruction.operands[-1:]) if name in ("selp", "slct") else []
        chooses += names_of(instruction.operands[:1]) if name == "brx" else []
        if registers.intersection([*chooses, *_guard(instruction)]):
            yield instruction


def _guard(instruction: Instruction) -> list[str]:
    return names_of((instruction.guard,)) if instruction.guard is not None else []
