"""The counters that only Hopper's asynchronous instructions and other blocks' shared memory add to,
by rules that an H100's readings confirm (reports/h100/{asynchronous,further}_counters.csv.gz)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.emulator.results.counters import MACHINE, MODEL, Counter, Provenance
from harness.emulator.sass.report import MachineCount

_SECTOR = 32
_IN_UNIT = ("UBLKCP", "UBLKRED", "UBLKPF", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL",
            "UTMACMDFLUSH")  # fmt: skip
_OF_BULK = (
    ("UBLKCP.S.G", "ld"), ("UTMALDG", "ld"), ("UBLKCP.G.S", "st"), ("UTMASTG", "st"),
    ("UBLKRED.G.S", "red"), ("UTMAREDG", "red"), ("UBLKCP.S.S", "remote_st"),
    ("UBLKRED.S.S", "remote_red"),
)  # fmt: skip
_OF_REMOTE = {
    "LD": "ld", "ST": "st", "ATOM": "atom", "ATOMG": "atom", "RED": "atom", "REDG": "atom",
    "STAS": "stas", "REDAS": "redas",
}  # fmt: skip
_EXECUTED: Final = "smsp__sass_inst_executed_op_{}.sum"
_WRITTEN: Final = "l1tex__m_l1tex2xbar_write_{}.sum"
_READ: Final = "l1tex__m_xbar2l1tex_read_{}.sum"


def of_asynchronous(instructions: Sequence[MachineCount]) -> Iterator[Counter]:
    """Yield these counters; none for a launch without such an instruction."""
    executed = [each for each in instructions if each.warps]
    copies = [each for each in executed if _is_in_unit(each)]
    remote = [each for each in executed if each.remote_requests]
    if copies or remote:
        yield from _of_instructions(copies, remote)
    if copies:
        yield from _of_copies(copies)
    if remote:
        yield from _of_remote(remote)


def _of_instructions(
    copies: Sequence[MachineCount], remote: Sequence[MachineCount]
) -> Iterator[Counter]:
    of_copies = {kind: _bulk_total(copies, kind) for kind in dict(_OF_BULK).values()}
    if copies:
        yield _inst(_EXECUTED.format("tma"), sum(of_copies.values()))
        for kind in ("ld", "st", "red"):
            yield _inst(_EXECUTED.format(f"tma_{kind}"), of_copies[kind])
        for kind in ("st", "red"):
            yield _inst(_EXECUTED.format(f"dshared_tma_{kind}"), of_copies[f"remote_{kind}"])
        yield _inst("smsp__inst_executed_pipe_tma.sum", sum(each.warps for each in copies))
        total = sum(each.warps for each in copies)
        yield Counter("l1tex__tmain_requests.sum", total, "request", MACHINE)
    found = dict.fromkeys(_OF_REMOTE.values(), 0)
    for each in remote:
        found[_OF_REMOTE[each.base]] += each.remote_requests
    sent = of_copies["remote_st"] + of_copies["remote_red"]
    word = _certainty(remote)
    yield Counter(_EXECUTED.format("dshared"), sum(found.values()) + sent, "inst", word)
    if remote:
        for kind, value in found.items():
            yield Counter(_EXECUTED.format(f"dshared_{kind}"), value, "inst", word)


def _of_copies(copies: Sequence[MachineCount]) -> Iterator[Counter]:
    def sectors(kind: str, multicast: bool | None = None) -> int:
        return sum(
            each.bulk_sectors
            for each in copies
            if _bulk_kind(each) == kind and multicast in (None, _is_multicast(each))
        )

    def word(*kinds: str) -> Provenance:
        uncertain = (each for each in copies if each.bulk_uncertain)
        return MODEL if any(_bulk_kind(each) in kinds for each in uncertain) else MACHINE

    loaded, several = sectors("ld"), sectors("ld", True)
    name = "mem_global_op_tma_ld"
    for suffix, value in (
        ("", loaded), ("_dest_self", loaded - several), ("_dest_multicast", several)
    ):  # fmt: skip
        yield Counter(_READ.format(f"sectors_{name}{suffix}"), value, "sector", word("ld"))
    for suffix, value in (("", loaded), ("_dest_multicast", several)):
        yield Counter(_READ.format(f"bytes_{name}{suffix}"), value * _SECTOR, "byte", word("ld"))
    requests = sum(each.multicast_requests for each in copies)
    multicast = "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum"
    yield Counter(multicast, requests, "request", word("ld"))
    for kind in ("st", "red"):
        value, name = sectors(kind), f"mem_global_op_tma_{kind}"
        yield Counter(_WRITTEN.format(f"sectors_{name}"), value, "sector", MACHINE)
        yield Counter(_WRITTEN.format(f"bytes_{name}"), value * _SECTOR, "byte", MACHINE)
    for kind in ("st", "red"):
        value, name = sectors(f"remote_{kind}"), f"sectors_mem_dshared_op_tma_{kind}"
        certainty = word(f"remote_{kind}")
        yield Counter(_WRITTEN.format(name), value, "sector", certainty)
        yield Counter(_READ.format(name), value, "sector", certainty)
    written = sum(sectors(kind) for kind in ("st", "red", "remote_st", "remote_red"))
    yield Counter(_WRITTEN.format("bytes_pipe_tma"), written * _SECTOR, "byte",
                  word("remote_st", "remote_red"))  # fmt: skip
    read = (loaded + sectors("remote_red")) * _SECTOR
    yield Counter(_READ.format("bytes_pipe_tma"), read, "byte", word("ld", "remote_red"))


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
    """Label a count: no reading shows the cost of a request whose lanes access several blocks,
    unless each accesses 4 bytes."""
    return MODEL if any(each.remote_uncertain for each in remote) else MACHINE


def _bulk_total(copies: Sequence[MachineCount], kind: str) -> int:
    """The number of copies whose predicate is on; the others count only as instructions of the
    unit."""
    return sum(each.bulk_copies for each in copies if _bulk_kind(each) == kind)


def _bulk_kind(each: MachineCount) -> str:
    return next((kind for opcode, kind in _OF_BULK if each.opcode.startswith(opcode)), "")


def _is_multicast(each: MachineCount) -> bool:
    return "MULTICAST" in each.opcode


def waits_in_a_loop(instructions: Sequence[MachineCount]) -> bool:
    """Return whether a loop asks an mbarrier for a phase, or the block's pool for registers: how
    often it does so depends on other threads and on copies."""
    return bool(_waiting_loops(instructions))


def accesses_memory_while_waiting(instructions: Sequence[MachineCount]) -> bool:
    """Return whether such a loop accesses memory in every iteration."""
    loops = _waiting_loops(instructions)
    return any(
        start <= each.address <= end
        for each in instructions
        if each.global_requests or each.shared_requests or each.remote_requests or _is_in_unit(each)
        for start, end in loops
    )


def _waiting_loops(instructions: Sequence[MachineCount]) -> list[tuple[int, int]]:
    """The first and last address of the innermost loop around each instruction that asks."""
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


def _inst(name: str, value: int) -> Counter:
    return Counter(name, value, "inst", MACHINE)
