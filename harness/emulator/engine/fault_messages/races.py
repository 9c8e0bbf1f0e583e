"""Messages for races, and remarks on unordered accesses that are permitted."""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.engine import layout
from harness.emulator.engine.fault_messages.places import Launched, Place
from harness.emulator.results.remarks import Remark

_HAZARDS = {
    layout.READ_AFTER_WRITE: "read after write", layout.WRITE_AFTER_WRITE: "write after write",
    layout.WRITE_AFTER_READ: "write after read", layout.ATOMIC_AFTER_WRITE: "atomic after write",
    layout.ATOMIC_AFTER_ATOMIC: "atomic after atomic",
}  # fmt: skip


def race(
    p: Launched, own: int, hazard: int, width: int, at: int, memory: int, block: int, thread: int,
    site: int, same_warp: int, of_a_block: int, is_volatile: int, bare: int,
    changes_nothing: int,
) -> str:  # fmt: skip
    verb = "read" if hazard == layout.WRITE_AFTER_READ else "wrote"
    if memory == layout.SHARED_MEMORY:
        missing = "__syncwarp" if same_warp else "barrier"
        end = f" with no {missing} in between"
    elif block < 0:
        end = ", with no barrier in between"
    else:
        end = ", and nothing orders the two blocks"
    if of_a_block:
        end += (
            ": what is atomic for a block alone is not so between blocks; use the scope of "
            "the device (atomicAdd, not atomicAdd_block; cuda::thread_scope_device)"
        )
    elif bare >= 0:
        end += (
            f": between taking the lock in line {p.line(bare, own)} and what it guards there is no "
            "fence; put __threadfence() behind it (within a block, __threadfence_block())"
        )
    elif changes_nothing:
        between = "a barrier" if block < 0 else "a flag or a launch of its own"
        end += (
            ": the write left the value that was there, as it would not with other data; put "
            f"{between} between the two"
        )
    elif is_volatile:
        end += ": volatile orders nothing; use cuda::atomic_ref, or a fence on both sides of a flag"
    elif block >= 0:
        end += ": use atomics, or a flag with a fence on both sides, or a launch of its own"
    else:
        end += f": put {'__syncwarp()' if same_warp else '__syncthreads()'} between the two"
    return (
        f"{_HAZARDS[hazard]}: {width} bytes at {p.position(at, memory, own)}; "
        f"{p.block_of(block)}{p.thread(thread)} {verb} it in line {p.line(site, own)}{end}"
    )


def race_at_once(
    p: Place, site: int, width: int, at: int, memory: int, block: int, thread: int
) -> str:
    return (
        f"{_HAZARDS[layout.WRITE_AFTER_WRITE]}: {width} bytes at {p.position(at, memory, site)}; "
        f"{p.block_of(block)}{p.thread(thread)} wrote it in line {p.line(site, site)} at the same "
        "time with another value: give each thread a word of its own, let one of them write, or "
        "use an atomic"
    )


_UNORDERED = {
    layout.CHANGES_NOTHING: (
        "a write that changes nothing, and a read of the same word in line {} that nothing orders "
        "with it"
    ),
    layout.VOLATILE_FLAG: (
        "volatile accesses here and in line {} meet at a flag, and nothing orders them: volatile "
        "orders nothing between threads; cuda::atomic_ref does"
    ),
}


def remarks_on(let_pass: Sequence[int], place: Place) -> list[Remark]:
    """List permitted accesses that are unordered, each with the line of the other access.

    Several instructions on one line, as in an unrolled loop, are listed as one access. Two lines
    that access the same flag count as one pair, in either order.
    """
    times: dict[tuple[int, str, int, str], int] = {}
    for why, first, second, count in sorted(zip(*[iter(let_pass)] * 4, strict=True)):
        key, other = _met(place, why, first, second), _met(place, why, second, first)
        if why == layout.VOLATILE_FLAG and other in times:
            key = other
        times[key] = times.get(key, 0) + count
    return [Remark(_UNORDERED[why].format(second), file, line, count)
            for (why, file, line, second), count in times.items()]  # fmt: skip


def _met(place: Place, why: int, first: int, second: int) -> tuple[int, str, int, str]:
    location = place.program.sites[first].location
    file, line = (location.file, location.line) if location else ("", 0)
    return why, file, line, place.line(second, beside=first)
