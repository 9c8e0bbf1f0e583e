"""Messages for faults in asynchronous copies and MMAs, and in the mbarriers that track them."""

from __future__ import annotations

from harness.emulator.engine import layout
from harness.emulator.engine.fault_messages.places import VERBS, Launched, index_of
from harness.emulator.engine.layout import SHARED_MEMORY
from harness.silicon.tensor_maps import ELEMENTS

# In the order of TensorMap::Flaw in machine/memory/tensors/tensor_map.h.
_FLAWS = (
    "",
    "they do not begin as one does",
    "its rank is none",
    "its elements have no known type",
    "its tensor does not begin at a multiple of 16 bytes",
    "a stride is no multiple of its unit of 16 or 32 bytes",
    "the rows of its box are no multiple of 16 bytes",
    "the rows of its box are longer than its swizzle's pattern",
    "its interleaving is not one that is supported",
)


_UNIT = 16  # bytes that every swizzle keeps together
_BULK_IN_CODE = ("UBLK", "UTMA")


def _multiplies(opcode: str) -> bool:
    """Return whether an instruction is a warpgroup MMA, in PTX or in machine code."""
    return opcode.startswith("wgmma") or opcode.partition(".")[0].endswith("GMMA")


def under_way(
    p: Launched, own: int, verb: int, width: int, at: int, memory: int, thread: int, site: int,
    writes: int, mbarrier: int, same_thread: int,
) -> str:  # fmt: skip
    opcode = p.opcode(site)
    in_bulk = "bulk" in opcode or opcode.startswith(_BULK_IN_CODE)
    name = ".".join(opcode.split(".")[: 3 if "bulk" in opcode else 2])
    end = "is still writing" if writes else "is still reading"
    if _multiplies(opcode):
        ask = "wgmma.commit_group and wgmma.wait_group by its warp come first, and then a barrier"
    elif mbarrier >= 0:
        barrier = p.position(mbarrier, SHARED_MEMORY, own)
        ask = f"first test the mbarrier at {barrier} until the copy's phase is over"
    else:
        bulk = ".bulk" if in_bulk else ""
        read = "" if writes else ".read" if bulk else ""
        ask = f"cp.async{bulk}.wait_group{read} by that thread comes first"
        if not same_thread:
            ask += ", and then a barrier"
    return (
        f"{VERBS[verb]} of {width} bytes at {p.position(at, memory, own)}, which the "
        f"{name} that {p.thread(thread)} issued in line {p.line(site, own)} {end}: {ask}"
    )


def no_proxy_fence(
    p: Launched, own: int, width: int, at: int, memory: int, thread: int, site: int
) -> str:
    reader, readers = "a bulk copy", "copies"
    if _multiplies(p.opcode(own)):
        reader, readers = "wgmma", "products"
    return (
        f"{reader} reads {width} bytes at {p.position(at, memory, own)}, which "
        f"{p.thread(thread)} wrote in line {p.line(site, own)} with no fence.proxy.async in "
        f"between: {readers} need not see what threads have stored before that"
    )


def product_not_awaited(
    p: Launched, own: int, verb: int, product: int, maker: int, newer: int
) -> str:
    """`maker`: the instruction that computed the value from an accumulator; -1 if the value is an
    accumulator itself. `newer`: the number of groups committed after the group of the `wgmma`; -1
    if this group is not committed.
    """
    does = "reads" if verb == layout.READ else "overwrites"
    what = "a sum"
    if maker >= 0 and verb == layout.READ:
        what = f"what `{p.opcode(maker)}` in line {p.line(maker, own)} computed from a sum"
    missing = f"wgmma.wait_group {max(newer, 0)} comes first"
    if newer < 0:
        missing = f"wgmma.commit_group and {missing}"
    return (
        f"`{p.opcode(own)}` {does} {what} that the wgmma in line {p.line(product, own)} is still "
        f"writing: {missing}. By the PTX ISA this is undefined; ptxas may put a wait there, and "
        "then lets no two products overlap"
    )


def product_not_fenced(p: Launched, own: int, toucher: int) -> str:
    """`toucher`: the instruction that wrote a register after the last fence; -1 if there was no
    fence."""
    what = "this is the warpgroup's first product and no wgmma.fence comes before it"
    if toucher >= 0 and _multiplies(p.opcode(toucher)):
        what = (
            f"the wgmma in line {p.line(toucher, own)}, of another shape, has the same registers "
            "for its sums, with no wgmma.fence in between"
        )
    elif toucher >= 0:
        what = (
            f"it takes what `{p.opcode(toucher)}` in line {p.line(toucher, own)} computed from an "
            "earlier product, with no wgmma.fence in between"
        )
    return (
        f"{what}: put wgmma.fence.sync.aligned in front of the product. By the PTX ISA this is "
        "undefined, even where ptxas makes it right by letting no two products overlap"
    )


def other_swizzle(p: Launched, own: int, at: int, said: int, is_so: int, site: int) -> str:
    def swizzle(width: int) -> str:
        return "no swizzle" if width == _UNIT else f"a swizzle of {width} bytes"

    return (
        f"the product's descriptor says {swizzle(said)}, but the copy by a tensor map in line "
        f"{p.line(site, own)} wrote {p.position(at, SHARED_MEMORY, own)} with {swizzle(is_so)}, so "
        "it multiplies other elements than were meant: give both the same (bits 62 and 63 of the "
        "descriptor: 0 is none, 1 is 128 bytes, 2 is 64, 3 is 32)"
    )


def half_of_rows(p: Launched, site: int) -> str:
    return (
        f"`{p.opcode(site)}` has rows of 64 bytes in its second factor, and their descriptor "
        "swizzles rows of 32 bytes: NVIDIA does not say where the second halves are. Swizzle 64 or "
        "128 bytes"
    )


def phase_stuck(
    p: Launched, own: int, at: int, pending: int, arrivals: int, expected: int, came: int,
    expecting: int, coming: int, ended: int,
) -> str:  # fmt: skip
    """Describe the current phase of an mbarrier, and its missing arrivals and bytes."""
    lacks = []
    if pending:
        lacks.append(f"{arrivals - pending} of {arrivals} threads have arrived")
    if expected != came:
        told = f" (line {p.line(expecting, own)})" if expecting >= 0 else ""
        copied = f" (line {p.line(coming, own)})" if coming >= 0 else ""
        lacks.append(f"{expected} bytes are expected{told} and {came} have come{copied}")
    what = "; ".join(lacks) or "nobody has arrived since the last phase ended"
    return (
        f"threads wait for the mbarrier at {p.position(at, SHARED_MEMORY, own)}, and no thread "
        f"does what it waits for: {ended} phases have ended, and of this one {what}"
    )


def too_many_arrivals(_: Launched, __: int) -> str:
    return "more arrivals at an mbarrier than its phase waits for"


def not_a_count(p: Launched, own: int, count: int) -> str:
    return (
        f"`{p.opcode(own)}` sets an mbarrier up for {count} arrivals, which is not from 1 to "
        f"{(1 << 20) - 1}"
    )


def arrival_ends_phase(p: Launched, own: int) -> str:
    return (
        f"`{p.opcode(own)}` ends the mbarrier's phase, and says that it does not (noComplete): by "
        "the PTX ISA this is undefined"
    )


def mbarrier_elsewhere(p: Launched, own: int, target: int, mbarrier: int) -> str:
    return (
        f"`{p.opcode(own)}` fills shared memory of block {index_of(target, p.grid)} and reports to "
        f"an mbarrier of block {index_of(mbarrier, p.grid)}: both must be in one block's memory"
    )


def registers_used_up(
    _: Launched, __: int, asked: int, together: int, warps: int, most: int
) -> str:
    return (
        f"setmaxnreg.inc waits for {asked} registers a thread for ever: the block's warps ask for "
        f"{together} in all, and {warps} warps of at most {most} have {warps * most}: release more "
        "by setmaxnreg.dec, or ask for fewer"
    )


def copied_in_part(_: Launched, __: int, size: int, unit: int) -> str:
    return f"a bulk copy of {size} bytes, which is not a multiple of {unit}"


def not_a_tensor_map(p: Launched, site: int, address: int, flaw: int) -> str:
    return (
        f"`{p.opcode(site)}` by the {128} bytes at {address & (1 << 64) - 1:#x}, which are no "
        f"tensor map: {_FLAWS[flaw]}"
    )


def other_tensor_map(
    p: Launched, site: int, rank: int, im2col: int, dimensions: int, copies_im2col: int
) -> str:
    def words(count: int, by_pixels: int) -> str:
        return f"{count} dimensions{' of im2col' if by_pixels else ''}"

    return (
        f"`{p.opcode(site)}` is of {words(dimensions, copies_im2col)}, and its "
        f"tensor map is of {words(rank, im2col)}"
    )


def no_reduction_of_type(p: Launched, site: int, element: int) -> str:
    return f"`{p.opcode(site)}` has no form for elements of {list(ELEMENTS)[element]}"


def no_such_box(p: Launched, site: int, why: int, *numbers: int) -> str:
    """`why`: a value of TensorMap::Place. `numbers`: five coordinates or offsets, and how many of
    them are used."""
    listed = ", ".join(map(str, numbers[: numbers[-1]]))
    what = (
        f"at the coordinates {listed}, whose first is not at a multiple of 16 bytes: a GPU stops "
        "the kernel",
        f"at the coordinates {listed}, and a copy to global memory has none below zero: a GPU "
        "stops the kernel",
        f"at the coordinates {listed}, and this pixel is not in the map's box of pixels, from its "
        "lower to its upper corner: by the PTX ISA it must be",
        f"with the im2col offsets {listed}: with {numbers[-1]} of them, each is below "
        f"{1 << 16 // numbers[-1]}",
        f"at the coordinates {listed}, with an im2col map whose lower corner is negative: a GPU "
        "loads by it, but stops a kernel that stores by it. Store with a map whose corner is 0",
    )[why - 1]
    return f"`{p.opcode(site)}` {what}"
