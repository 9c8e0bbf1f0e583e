"""Modifiers of machine instructions that change no result in the emulator, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Reasons = Mapping[str, str]


def _words(words: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), reason)


FORMS: Final = {
    **_words("MOV SHL IADD", "the same product and sum, named for what they are used as"),
    **_words("DIVIDE", "nothing else is checked"),
    **_words("C", "the mask ends at the last bit, as it does here without"),
    **_words("SPIN", "says that the code tries again where it failed"),
}
SAME_LOW_BITS: Final = _words(
    "U32", "the lower half of a product is the same with and without sign"
)
PIPES: Final = _words("MMA", "says which unit computes the same")
EXACT: Final = _words("RN RZ RM RP", "a wider type has every number of the narrower one")
CACHES: Final = {
    **_words("EF EL EU LU NA LTC64B LTC128B LTC256B BYPASS", "says how caches keep the line"),
    **_words("CONSTANT PRIVATE", "promises that nobody else writes there"),
    **_words("STRONG WEAK GPU SYS CTA SM CLUSTER MMIO", "all see the one memory, in one order"),
    **_words("ACCESS", "says by which cache a copy goes"),
}
NEAREST: Final = _words("RN", "atomics round in no other way")
FLUSHED: Final = _words("FTZ", "sums of floats in memory always flush subnormals")
ONE_LEVEL: Final = _words("CL", "there is one level, which none can lie beyond")
ORDERS: Final = {
    **_words("ALL SC GPU SYS CTA VC", "accesses are done in order, and all see the one memory"),
    **_words("IVALL E C", "no cache is emulated that could be stale"),
    **_words("LE ARRIVE DEPBAR", "nothing is left to wait for: it is done where it is issued"),
    **_words("VIEW ASYNC S G", "accesses are done in order, and all see the one memory"),
}
TURING: Final = _words("U", "Turing's loads from shared memory all have it, and load what PTX's do")
SCHEDULING: Final = _words("DEFER_BLOCKING", "a hint to the scheduler")
MEETING: Final = _words("RECONVERGENT RELIABLE", "lanes meet where BSYNC says, with and without")
AWAKES: Final = _words(
    "SYNCS", "it ends earlier where a phase does: nothing depends on how long it is"
)
OF_PREFETCHES: Final = _words("IM2COL", "nothing is moved but between caches")
PREFETCHES: Final = {
    **_words("PF1 PF2 PML2", "nothing is moved but between caches"),
    **_words("DML2", "says how caches keep the line"),
}
