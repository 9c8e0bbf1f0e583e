"""Messages for faults between threads: clusters, warp masks, barriers, control flow."""

from __future__ import annotations

from harness.emulator.engine import layout
from harness.emulator.engine.fault_messages import copies
from harness.emulator.engine.fault_messages.places import VERBS, Place, index_of
from harness.emulator.program.ir import Trap
from harness.silicon.architectures import WARP_SIZE


def no_such_block(_: Place, __: int, rank: int, blocks: int) -> str:
    return f"shared memory of the block with rank {rank} in a cluster of {blocks}"


def block_has_left(p: Place, _: int, verb: int, width: int, at: int, block: int) -> str:
    return (
        f"{VERBS[verb]} of {width} bytes at offset {at} of the shared memory of block "
        f"{index_of(block, p.grid)}, all of whose threads have left the kernel: wait for each "
        "other (cluster.sync()) before a block ends that others still use"
    )


def block_may_leave(p: Place, _: int, block: int) -> str:
    return (
        f"block {index_of(block, p.grid)} leaves the kernel without knowing that this access to "
        "its shared memory is over: wait for each other (cluster.sync()) after the last one"
    )


def arrived_twice(_: Place, __: int) -> str:
    return (
        "a thread arrives at the cluster's barrier again before it has waited "
        "(barrier.cluster.wait)"
    )


def not_arrived(_: Place, __: int) -> str:
    return "a thread waits at the cluster's barrier without barrier.cluster.arrive before"


def absent_lane(p: Place, own: int, lane: int, user: int) -> str:
    used = p.line(user, own)
    return f"shuffle from lane {lane}, which does not take part; it is used in line {used}"


def lane_missed(_: Place, __: int, lane: int) -> str:
    return (
        f"the mask of an instruction of a warp names lane {lane}, which is at a barrier of the "
        "block instead"
    )


def lane_elsewhere(p: Place, own: int, lane: int, there: int) -> str:
    return (
        f"the mask of a vote or shuffle names lane {lane}, which waits at another one in line "
        f"{p.line(there, own)}: lanes meet only at instructions of the same kind and type, with "
        "the same mask"
    )


def lane_not_named(_: Place, __: int, lane: int, mask: int) -> str:
    return (
        f"lane {lane} executes an instruction of its warp whose mask 0x{mask:08x} does not name it"
    )


def barriers_apart(p: Place, own: int, one: int, here: int, there: int, other: int) -> str:
    return (
        f"threads of one block wait at different barriers: {here} in line "
        f"{p.line_of_ending(one, own)}, {there} in line {p.line_of_ending(other, own)}"
    )


def no_such_barrier(_: Place, __: int, number: int, threads: int) -> str:
    if threads % WARP_SIZE:
        return f"a barrier of {threads} threads: they come in whole warps of {WARP_SIZE}"
    return f"barrier {number}: a block has barriers 0 to {layout.BLOCK_BARRIERS - 1}"


def barriers_of_a_warp(_: Place, __: int, one: int, other: int) -> str:
    return (
        f"threads of a warp come together to different barriers, or with other numbers of threads: "
        f"{one} and {other}"
    )


def barrier_left(_: Place, __: int, _number: int, waiting: int, gone: int) -> str:
    return (
        f"{waiting} threads wait at a barrier of the whole block, and {gone} have left the kernel"
    )


_MOST_PLACES = 8


def barrier_stuck(p: Place, own: int, _number: int, *places: int) -> str:
    texts = []
    for number, barrier, count, threads in zip(*[iter(places)] * 4, strict=True):
        need = f" for {count} threads" if count else ""
        line = p.line_of_ending(number, own)
        texts.append(f"{threads} at barrier {barrier}{need} in line {line}")
    if len(texts) > _MOST_PLACES:
        texts[_MOST_PLACES:] = [f"and others at {len(texts) - _MOST_PLACES} more"]
    return "threads wait at a barrier that can never complete: " + ", ".join(texts)


def loop_stuck(p: Place, own: int, *mbarrier: int) -> str:
    if mbarrier:
        return copies.phase_stuck(p, own, *mbarrier)
    return (
        "threads wait in a loop for something that no thread does, of their block or of those "
        "that execute together with it"
    )


def not_whole_warp(_: Place, __: int) -> str:
    return "a tensor-core instruction in a warp whose lanes are not all active"


def no_target(_: Place, __: int, index: int, count: int, _by: int, pointer: int = 0) -> str:
    """`_by`: 0 for a branch, 1 for a call through `pointer`, 2 for a call through a pointer whose
    value is unknown, except that it is not null."""
    if not _by:
        return f"indirect branch to entry {index} of {count}"
    if _by == 2:
        return "a call through a pointer that is no function of this module"
    if pointer == 0:
        return "a call through a null function pointer"
    return f"a call through {pointer & (1 << 64) - 1:#x}, which is no function of this module"


def trapped(p: Place, _: int, number: int) -> str:
    terminator = p.program.blocks[number].terminator
    assert isinstance(terminator, Trap)
    return terminator.reason


def undefined_metadata(p: Place, site: int) -> str:
    return (
        f"`{p.opcode(site)}` with metadata that name one place twice (with tf32: that are neither "
        "0b0100 nor 0b1110), in the lanes that hold this thread's row: by the PTX ISA the result "
        "is undefined"
    )
