"""The counters of Hopper's asynchronous instructions and of other blocks' shared memory, by rules
that an H100's readings confirm (reports/h100/{asynchronous,further}_counters.csv.gz)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.emulator.results.bulk_copies import EXECUTED, Kind, of_copies
from harness.emulator.results.counters import MACHINE, MODEL, Counter, Provenance
from harness.emulator.sass.report import MachineCount

_IN_UNIT = ("UBLKCP", "UBLKRED", "UBLKPF", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL",
            "UTMACMDFLUSH")  # fmt: skip
_OF_BULK: tuple[tuple[str, Kind], ...] = (
    ("UBLKCP.S.G", "ld"), ("UTMALDG", "ld"), ("UBLKCP.G.S", "st"), ("UTMASTG", "st"),
    ("UBLKRED.G.S", "red"), ("UTMAREDG", "red"), ("UBLKCP.S.S", "remote_st"),
    ("UBLKRED.S.S", "remote_red"),
)  # fmt: skip
_OF_REMOTE = {
    "LD": "ld", "ST": "st", "ATOM": "atom", "ATOMG": "atom", "RED": "atom", "REDG": "atom",
    "STAS": "stas", "REDAS": "redas",
}  # fmt: skip


def of_asynchronous(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    """Yield the counters of this module; none for a launch that executes no such instruction."""
    executed = [each for each in instructions if each.warps]
    copies = [each for each in executed if _is_in_unit(each)]
    remote = [each for each in executed if each.remote_requests]
    if copies or remote:
        yield from _of_instructions(copies, remote)
    if copies:
        kinds = [(_bulk_kind(each), _is_multicast(each), each) for each in copies]
        yield from of_copies(kinds, MACHINE)
    if remote:
        yield from _of_remote(remote)


def _of_instructions(
    copies: Sequence[MachineCount], remote: Sequence[MachineCount]
) -> Iterator[Counter]:
    if copies:
        total = sum(each.warps for each in copies)
        yield Counter("smsp__inst_executed_pipe_tma.sum", total, "inst", MACHINE)
        yield Counter("l1tex__tmain_requests.sum", total, "request", MACHINE)
    found = dict.fromkeys(_OF_REMOTE.values(), 0)
    for each in remote:
        found[_OF_REMOTE[each.base]] += each.remote_requests
    sent = sum(each.bulk_copies for each in copies if _bulk_kind(each).startswith("remote"))
    word = _certainty(remote)
    yield Counter(EXECUTED.format("dshared"), sum(found.values()) + sent, "inst", word)
    if remote:
        for kind, value in found.items():
            yield Counter(EXECUTED.format(f"dshared_{kind}"), value, "inst", word)


def _of_remote(remote: Sequence[MachineCount]) -> Iterator[Counter]:
    """Yield the counters of other blocks' shared memory. Stores that signal an mbarrier count as
    stores."""
    for kind in ("ld", "st", "atom", "redas"):
        own = [each for each in remote if _OF_REMOTE[each.base].replace("stas", "st") == kind]
        for what, field in (("requests", "remote_requests"), ("sectors", "remote_sectors")):
            value = sum(getattr(each, field) for each in own)
            name = f"l1tex__t_{what}_pipe_lsu_mem_dshared_op_{kind}.sum"
            yield Counter(name, value, what[:-1], _certainty(own))


def _certainty(remote: Sequence[MachineCount]) -> Provenance:
    """Return the provenance of a count. No reading shows the cost of a request whose lanes access
    several blocks, unless each lane accesses 4 bytes."""
    return MODEL if any(each.remote_uncertain for each in remote) else MACHINE


def _bulk_kind(each: MachineCount) -> Kind:
    return next((kind for opcode, kind in _OF_BULK if each.opcode.startswith(opcode)), "")


def _is_multicast(each: MachineCount) -> bool:
    return "MULTICAST" in each.opcode


def waits_in_a_loop(instructions: Sequence[MachineCount]) -> bool:
    """Return whether a loop tests an mbarrier's phase or requests registers from the block's pool.
    How often it does so depends on other threads and on copies."""
    return bool(_waiting_loops(instructions))


def accesses_memory_while_waiting(instructions: Sequence[MachineCount]) -> bool:
    """Return whether a loop that `waits_in_a_loop` finds accesses memory in every iteration."""
    loops = _waiting_loops(instructions)
    return any(
        start <= each.address <= end
        for each in instructions
        if each.global_requests or each.shared_requests or each.remote_requests or _is_in_unit(each)
        for start, end in loops
    )


def _waiting_loops(instructions: Sequence[MachineCount]) -> list[tuple[int, int]]:
    """The first and last address of the innermost loop around each test of an mbarrier's phase, and
    around each request for registers."""
    asks = [
        each.address
        for each in instructions
        if each.opcode.startswith(("SYNCS.PHASECHK", "USETMAXREG.TRY_ALLOC"))
    ]
    if not asks:
        return []
    jumps = [
        (int(to[1], 16), each.address)
        for each in instructions
        if each.opcode.startswith("BRA") and (to := re.search(r"0x([0-9a-f]+)", each.text))
    ]
    around = ([jump for jump in jumps if jump[0] <= ask <= jump[1]] for ask in asks)
    return [min(each, key=lambda jump: jump[1] - jump[0]) for each in around if each]


def _is_in_unit(each: MachineCount) -> bool:
    """Return whether the bulk copy unit executed the instruction."""
    return bool(each.warps) and each.base in _IN_UNIT
