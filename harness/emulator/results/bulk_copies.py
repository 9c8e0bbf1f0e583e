"""Count what the bulk copy unit moves, for PTX and for machine code, by rules that an H100's
readings confirm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from harness.emulator.results.counters import MODEL, Counter, Executed, Provenance

Kind = Literal["ld", "st", "red", "remote_st", "remote_red", ""]
"""The effect of a copy: a load from global memory, a store to it, a reduction in it; a store or a
reduction in another block's shared memory; or none of these."""

EXECUTED: Final = "smsp__sass_inst_executed_op_{}.sum"
_SECTOR = 32
_WRITTEN: Final = "l1tex__m_l1tex2xbar_write_{}.sum"
_READ: Final = "l1tex__m_xbar2l1tex_read_{}.sum"


def of_copies(
    copies: Sequence[tuple[Kind, bool, Executed]], exact: Provenance
) -> Iterator[Counter]:
    """Count copies whose predicate is on, and their sectors. `copies`: for each of the unit's
    instructions, its kind, whether it is a multicast, and its counts; `exact`: the provenance of a
    copy that a rule covers."""

    def sectors(kind: Kind, *among: bool) -> int:
        return sum(each.bulk_sectors for own, many, each in copies if own == kind and many in among)

    def word(*kinds: Kind) -> Provenance:
        uncertain = {kind for kind, _, each in copies if each.bulk_uncertain}
        return exact if uncertain.isdisjoint(kinds) else MODEL

    yield from _executed(copies, exact)
    alone, several = sectors("ld", False), sectors("ld", True)
    loaded, name = alone + several, "mem_global_op_tma_ld"
    for suffix, value in (("", loaded), ("_dest_self", alone), ("_dest_multicast", several)):
        yield Counter(_READ.format(f"sectors_{name}{suffix}"), value, "sector", word("ld"))
    for suffix, value in (("", loaded), ("_dest_multicast", several)):
        yield Counter(_READ.format(f"bytes_{name}{suffix}"), value * _SECTOR, "byte", word("ld"))
    requests = sum(each.multicast_requests for _, _, each in copies)
    multicast = "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum"
    yield Counter(multicast, requests, "request", word("ld"))
    kinds: tuple[Kind, ...] = ("st", "red", "remote_st", "remote_red")
    written = {kind: sectors(kind, False) for kind in kinds}
    for kind in ("st", "red"):
        value, name = written[kind], f"mem_global_op_tma_{kind}"
        yield Counter(_WRITTEN.format(f"sectors_{name}"), value, "sector", exact)
        yield Counter(_WRITTEN.format(f"bytes_{name}"), value * _SECTOR, "byte", exact)
    remote: Kind
    for remote in ("remote_st", "remote_red"):
        name = f"sectors_mem_dshared_op_tma_{remote.removeprefix('remote_')}"
        yield Counter(_WRITTEN.format(name), written[remote], "sector", word(remote))
        yield Counter(_READ.format(name), written[remote], "sector", word(remote))
    yield Counter(_WRITTEN.format("bytes_pipe_tma"), sum(written.values()) * _SECTOR, "byte",
                  word("remote_st", "remote_red"))  # fmt: skip
    read = (loaded + written["remote_red"]) * _SECTOR
    yield Counter(_READ.format("bytes_pipe_tma"), read, "byte", word("ld", "remote_red"))


def _executed(
    copies: Sequence[tuple[Kind, bool, Executed]], exact: Provenance
) -> Iterator[Counter]:
    """Count the unit's instructions; a copy whose predicate is off counts only here."""

    def total(*kinds: str) -> int:
        return sum(each.bulk_copies for kind, _, each in copies if kind in kinds)

    everything = total("ld", "st", "red", "remote_st", "remote_red")
    yield Counter(EXECUTED.format("tma"), everything, "inst", exact)
    for kind in ("ld", "st", "red"):
        yield Counter(EXECUTED.format(f"tma_{kind}"), total(kind), "inst", exact)
    for kind in ("st", "red"):
        value = total(f"remote_{kind}")
        yield Counter(EXECUTED.format(f"dshared_tma_{kind}"), value, "inst", exact)
