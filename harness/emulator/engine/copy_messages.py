"""The wording of faults of asynchronous copies, and of the mbarriers that tell of them."""

from __future__ import annotations

from harness.emulator.engine.faults import VERBS, Place


def under_way(
    p: Place, own: int, verb: int, width: int, at: int, memory: int, thread: int, site: int,
    writes: int, mbarrier: int, same_thread: int,
) -> str:  # fmt: skip
    opcode = p.program.sites[site].opcode
    name = ".".join(opcode.split(".")[: 3 if "bulk" in opcode else 2])
    end = "is still writing" if writes else "is still reading"
    if mbarrier >= 0:
        ask = f"first test the mbarrier at offset {mbarrier} until the copy's phase is over"
    else:
        bulk = ".bulk" if "bulk" in opcode else ""
        read = "" if writes else ".read" if bulk else ""
        ask = f"cp.async{bulk}.wait_group{read} by that thread comes first"
        if not same_thread:
            ask += ", and then a barrier"
    return (
        f"{VERBS[verb]} of {width} bytes at offset {at} of {p.name(memory)}, which the {name} that "
        f"{p.thread(thread)} issued in line {p.line(site, own)} {end}: {ask}"
    )


def no_proxy_fence(
    p: Place, own: int, width: int, at: int, memory: int, thread: int, site: int
) -> str:
    return (
        f"a bulk copy reads {width} bytes at offset {at} of {p.name(memory)}, which "
        f"{p.thread(thread)} wrote in line {p.line(site, own)} with no fence.proxy.async in "
        "between: copies need not see what threads have stored before that"
    )


def phase_stuck(
    p: Place, own: int, at: int, pending: int, arrivals: int, expected: int, came: int,
    expecting: int, coming: int, ended: int,
) -> str:  # fmt: skip
    """The phase that an mbarrier is in, and what it lacks."""
    lacks = []
    if pending:
        lacks.append(f"{arrivals - pending} of {arrivals} threads have arrived")
    if expected != came:
        told = f" (line {p.line(expecting, own)})" if expecting >= 0 else ""
        copied = f" (line {p.line(coming, own)})" if coming >= 0 else ""
        lacks.append(f"{expected} bytes are expected{told} and {came} have come{copied}")
    what = "; ".join(lacks) or "nobody has arrived since the last phase ended"
    return (
        f"threads wait for the mbarrier at offset {at} of shared memory, and no thread does what "
        f"it waits for: {ended} phases have ended, and of this one {what}"
    )


def too_many_arrivals(_: Place, __: int) -> str:
    return "more arrivals at an mbarrier than its phase waits for"


def copied_in_part(_: Place, __: int, size: int, unit: int) -> str:
    return f"a bulk copy of {size} bytes, which is not a multiple of {unit}"
