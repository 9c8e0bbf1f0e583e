"""Find the buffers that a kernel may write; reads of all others need not be tracked.

An address is traced back through arithmetic to the parameters and variables it was computed from. A
pointer that was itself read from memory may point anywhere.
"""

from __future__ import annotations

from harness.emulator.program.ir import Constant, Op, Program, Register, SymbolAddress
from harness.emulator.program.tensor_map_fields import ADDRESS_AT, BYTES

ANYWHERE = "*"
_STORES = ("st", "atom", "copy_bulk", "discard")


def written_buffers(program: Program) -> frozenset[str]:
    """The buffers that the kernel may write: pointer parameters as `param+offset`, variables by
    name; ANYWHERE if an address is not known."""
    origins: dict[int, frozenset[str]] = {}
    changed = True
    while changed:
        changed = False
        for block in program.blocks:
            for op in block.ops:
                found = _origins(op, origins)
                for register in op.registers_written():
                    known = origins.get(register.slot, frozenset())
                    if not found <= known:
                        origins[register.slot] = known | found
                        changed = True
    out: set[str] = set()
    for block in program.blocks:
        for op in block.ops:
            if op.name in _STORES and op.variant[0] in (
                "global",
                "",
            ):
                found = _of(op.sources[0], origins)
                out |= found if found or op.variant[0] == "" else {ANYWHERE}
            elif op.name == "copy_tensor" and op.variant[0] == "global":
                maps = _of(op.sources[1], origins)
                whole = {p.name for p in program.params if p.size == BYTES}
                out |= {f"{n}+{ADDRESS_AT}" for n in maps} if maps <= whole else {ANYWHERE}
    return frozenset(out)


def _origins(op: Op, origins: dict[int, frozenset[str]]) -> frozenset[str]:
    if op.name == "param":
        offset = op.sources[0]
        assert isinstance(offset, Constant)
        return frozenset({f"{op.variant[0]}+{offset.bits}"}) if op.type == "u64" else frozenset()
    if op.name in ("ld", "atom"):
        return frozenset({ANYWHERE}) if op.type in ("u64", "s64") else frozenset()
    return frozenset().union(*(_of(source, origins) for source in op.sources))


def _of(source: object, origins: dict[int, frozenset[str]]) -> frozenset[str]:
    if isinstance(source, Register):
        return origins.get(source.slot, frozenset())
    if isinstance(source, SymbolAddress) and source.space in ("global", "const", "param"):
        return frozenset({source.name})
    return frozenset()
