"""Find where lanes of a warp synchronise, and with which other lanes.

Lanes synchronise at the beginning of a basic block, before its operations. A block is therefore
split at such instructions where it matters: in programs with loops that may wait, where lanes may
meet at different instructions, and where a block computes the mask itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from harness.emulator.program.analysis.control_flow import edges_of, loop_of, reachable
from harness.emulator.program.analysis.uniformity import parts_threads, varying_in
from harness.emulator.program.ir import (
    Barrier,
    Block,
    Constant,
    Mark,
    Op,
    Register,
    Site,
    Source,
    To,
)

_WARP_SYNCS = frozenset({"syncwarp", "shfl", "vote", "match", "redux", "elect"})
_TELL = _WARP_SYNCS - {"syncwarp", "elect"}
_WHOLE_WARP = ("wgmma.", "mma.", "wmma.", "ldmatrix.", "stmatrix.", "movmatrix.", "setmaxnreg.")
_EVERYBODY = Constant(0xFFFFFFFF)

Code = list[Mark | To | tuple[Op, int | None]]


@dataclass(frozen=True)
class WarpSync:
    """A synchronisation of a warp's lanes in a block.

    `site`: the instruction's site if its result depends on the other lanes, else -1. `kind`: the
    number of the instruction's opcode; lanes at different instructions of one kind meet each other.
    -1 if all lanes must execute the same instruction.
    """

    mask: Source
    site: int
    kind: int


def warp_syncs(
    blocks: Sequence[Block], sites: Sequence[Site], *, with_computed: bool
) -> Mapping[int, WarpSync]:
    """Map each block in which lanes synchronise to its last such instruction. `with_computed`:
    include masks that the block itself computes."""
    kinds: dict[frozenset[str], int] = {}
    found = {}
    for number, block in enumerate(blocks):
        syncs = _syncs_in(block, sites)
        for op, mask in syncs:
            known = mask if with_computed else _at_start(mask, block, op)
            kind = _kind(op, sites, kinds) if len(syncs) == 1 else -1
            if known is not None:
                found[number] = WarpSync(known, op.site if op.name in _TELL else -1, kind)
    return found


def split_at_warp_syncs(code: Code, sites: Sequence[Site], new_label: Callable[[], str]) -> Code:
    """Begin a new block wherever lanes synchronise."""
    out: Code = []
    last: int | None = None
    starts = {
        entry[0].site
        for entry in code
        if isinstance(entry, tuple) and _mask_of(entry[0], sites) is not None
    }
    for entry in code:
        site = entry[0].site if isinstance(entry, tuple) else None
        if site in starts and site != last:
            out.append(Mark(new_label()))
        last = site
        out.append(entry)
    return out


def need_splitting(blocks: Sequence[Block], sites: Sequence[Site]) -> bool:
    """Return whether lanes may have to wait at an instruction in the middle of a block: because
    others may meet them at a different one, or because the block computes the mask."""
    syncing = {
        number: own for number, block in enumerate(blocks) if (own := _named_syncs(block, sites))
    }
    for number, own in syncing.items():
        if any(_at_start(mask, blocks[number], op) is None for op, mask in own):
            return True
    if len(syncing) < 2 or all(len(own) == 1 for own in syncing.values()):
        return False
    varying, syncs = varying_in(blocks), set(syncing)
    onwards = {n: () if _stops(blocks[n]) else ts for n, ts in edges_of(blocks).items()}
    return any(
        parts_threads(block, varying) and _meet_after(onwards, number, syncs)
        for number, block in enumerate(blocks)
    )


def _stops(block: Block) -> bool:
    """Return whether lanes leave a block only after the warp's other lanes have reached its end."""
    return isinstance(block.terminator, Barrier) and not block.terminator.arrives


def _meet_after(onwards: Mapping[int, Sequence[int]], branch: int, syncs: Set[int]) -> bool:
    """Return whether lanes that a branch has separated may synchronise in different blocks: on its
    two sides, some on one side and some after the branch, or some in a loop and some after the
    loop."""
    targets = set(onwards[branch])
    once = {n: () if n == branch else ts for n, ts in onwards.items()}
    ways = [({target} | reachable(once, [target])) for target in targets]
    together = set.intersection(*ways)
    apart = sum(bool((way - together) & syncs) for way in ways)
    if apart > 1 or (apart and together & syncs):
        return True
    loop = loop_of(onwards, branch)
    left = [target for target in targets if target not in loop]
    after = set(left) | reachable(onwards, left)
    return bool(loop & syncs and after & syncs)


def _named_syncs(block: Block, sites: Sequence[Site]) -> list[tuple[Op, Source]]:
    """The instructions in a block that specify the lanes to synchronise in a mask."""
    return [each for each in _syncs_in(block, sites) if each[0].name in _WARP_SYNCS]


def _syncs_in(block: Block, sites: Sequence[Site]) -> list[tuple[Op, Source]]:
    return [(op, mask) for op in block.ops if (mask := _mask_of(op, sites)) is not None]


def _mask_of(op: Op, sites: Sequence[Site]) -> Source | None:
    """The mask of the lanes that an operation synchronises: all of them for a warp-wide
    instruction."""
    if op.name in _WARP_SYNCS:
        return op.sources[-1]
    return _EVERYBODY if sites[op.site].opcode.startswith(_WHOLE_WARP) else None


def _at_start(mask: Source, block: Block, user: Op) -> Source | None:
    """The mask of `user` as it is known when its block begins; None if the block computes it."""
    if not isinstance(mask, Register):
        return mask
    before = block.ops[: block.ops.index(user)]
    makers = [op for op in before if any(r.slot == mask.slot for r in op.registers_written())]
    if not makers:
        return mask
    made = makers[-1].sources[0] if makers[-1].name == "mov" else None
    return made if isinstance(made, Constant) else None


def _kind(op: Op, sites: Sequence[Site], kinds: dict[frozenset[str], int]) -> int:
    """The number of an opcode, whatever the order of its qualifiers (see `WarpSync`)."""
    if op.name not in _WARP_SYNCS:
        return -1
    return kinds.setdefault(frozenset(sites[op.site].opcode.split(".")), len(kinds))
