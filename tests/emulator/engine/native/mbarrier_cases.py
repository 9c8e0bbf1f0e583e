"""Kernels whose threads wait at mbarriers: faulty ones, and nearly identical correct ones.

Thread %i of 96 has a word at %a1, and another thread's word at %a2. The mbarrier `a` waits for all
threads, `one` and `other` for one. %l6 points to the words that copies write to `buffer`, and %a4
to the thread's own word among these.
"""

from __future__ import annotations

BLOCK = 96

MEET = "mbarrier.arrive.shared.b64 %l4, [a];"
WAIT = "{0}: mbarrier.try_wait.parity.shared.b64 %p2, [{1}], {2}; @!%p2 bra {0};"
STORE, LOAD = "st.shared.u32 [%a1], %i;", "ld.shared.u32 %r2, [%a2];"
NEAR = "xor.b32 %r6, %i, 16; mad.wide.u32 %a2, %r6, 4, %l2; ld.shared.u32 %r2, [%a2];"
COPY = f"""mov.u32 %r8, one; mbarrier.arrive.expect_tx.shared.b64 _, [one], {4 * BLOCK};
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
        [%r3], [%l6], {4 * BLOCK}, [%r8];"""
BY_FIRST = "setp.eq.u32 %p1, %i, 0; @!%p1 bra {0};"
OWN = "cp.async.ca.shared.global [%a1], [%a4], 4;"
MEET_COPIED = "cp.async.mbarrier.arrive.noinc.shared.b64 [a];"
PLANTED = {
    "the block meets": (f"{STORE} {MEET} {WAIT.format('W', 'a', 0)} {LOAD}", ""),
    "by the state of its arrival": (
        f"{STORE} {MEET} W: mbarrier.try_wait.shared.b64 %p2, [a], %l4; @!%p2 bra W; {LOAD}", ""),
    "three times": (
        f"{STORE} {MEET} {WAIT.format('V', 'a', 0)} {LOAD} {MEET} {WAIT.format('W', 'a', 1)}"
        f"{STORE} {MEET} {WAIT.format('X', 'a', 0)} {LOAD}", ""),
    "it meets once too seldom": (
        f"{STORE} {MEET} {WAIT.format('V', 'a', 0)} {LOAD}"
        f"st.shared.u32 [%a1], 7; {MEET} {WAIT.format('X', 'a', 1)} {LOAD}", "race"),
    "nobody waits": (f"{STORE} {MEET} {LOAD}", "race"),
    "one warp does not wait": (
        f"{STORE} {MEET} setp.ge.u32 %p1, %i, 64; @%p1 bra W; {WAIT.format('V', 'a', 0)} W: {LOAD}",
        "race"),
    "for the phase after": (f"{STORE} {MEET} {WAIT.format('W', 'a', 1)} {LOAD}", "deadlock"),
    "for the phase before, and then for no other": (
        f"{STORE} {WAIT.format('W', 'a', 1)} {LOAD} {MEET} {WAIT.format('V', 'a', 0)}", "race"),
    "a store after the arrival": (f"{MEET} {STORE} {WAIT.format('W', 'a', 0)} {LOAD}", "race"),
    "a store into words of one's own after the arrival": (
        f"{STORE} {MEET} st.shared.u32 [%a1+384], 1; {WAIT.format('W', 'a', 0)} {LOAD}", ""),
    "a load after the arrival": (
        f"{STORE} bar.sync 0; {MEET} {LOAD} {WAIT.format('W', 'a', 0)} {STORE}", "race"),
    "a load before the arrival": (
        f"{STORE} bar.sync 0; {LOAD} {MEET} {WAIT.format('W', 'a', 0)} st.shared.u32 [%a1], 1;",
        ""),
    "one warp loads again after the arrival": (
        f"{STORE} bar.sync 0; ld.shared.u32 %r2, [buffer]; {MEET}"
        "setp.ge.u32 %p1, %i, 64; @!%p1 bra V; ld.shared.u32 %r2, [buffer]; V:"
        f"{WAIT.format('W', 'a', 0)} setp.eq.u32 %p1, %i, 32; @!%p1 bra X;"
        "st.shared.u32 [buffer], 1; X:", "race"),
    "an arrival that orders nothing": (
        f"{STORE} mbarrier.arrive.relaxed.cta.shared::cta.b64 %l4, [a]; {WAIT.format('W', 'a', 0)}"
        f"{LOAD}", "race"),
    "half of a warp's lanes arrive for all": (
        f"{STORE} and.b32 %r6, %i, 16; setp.ne.u32 %p1, %r6, 0; @%p1 bra V;"
        f"mbarrier.arrive.shared.b64 %l4, [a], 2; V: {WAIT.format('W', 'a', 0)} {NEAR}", "race"),
    "half of a warp's lanes wait": (
        f"{STORE} {MEET} and.b32 %r6, %i, 16; setp.ne.u32 %p1, %r6, 0; @%p1 bra V;"
        f"{WAIT.format('W', 'a', 0)} V: {NEAR}", "race"),
    "all lanes of a warp wait for all": (
        f"{STORE} {MEET} {WAIT.format('W', 'a', 0)} {NEAR}", ""),
    "a thread waits for itself": (
        f"{STORE} setp.eq.u32 %p1, %i, 0; @!%p1 bra V; mbarrier.arrive.shared.b64 %l4, [one];"
        f"{WAIT.format('W', 'one', 0)} ld.shared.u32 %r2, [buffer+256]; V:", "race"),
    "a store over what another lane of the warp has read": (
        "st.shared.u32 [%a1], 0; bar.sync 0; setp.eq.u32 %p1, %i, 0; @%p1 bra V;"
        "setp.gt.u32 %p1, %i, 32; @%p1 bra X; ld.shared.u32 %r2, [buffer];"
        "setp.ne.u32 %p1, %i, 32; @%p1 bra X; mbarrier.arrive.shared.b64 %l4, [one]; bra.uni X;"
        f"V: {WAIT.format('W', 'one', 0)} st.shared.u32 [buffer], 1; X:", "race"),
    "one arrival is missing": (
        f"{STORE} setp.eq.u32 %p1, %i, 70; @%p1 bra W; {MEET} {WAIT.format('W', 'a', 0)} {LOAD}",
        "deadlock"),
    "a warp leaves": (
        f"setp.ge.u32 %p1, %i, 64; @%p1 ret; {STORE} {MEET} {WAIT.format('W', 'a', 0)}",
        "deadlock"),
    "a warp leaves and is no longer waited for": (
        "setp.ge.u32 %p1, %i, 64; @!%p1 bra V; mbarrier.arrive_drop.shared.b64 %l4, [a]; ret;"
        f"V: {STORE} {MEET} {WAIT.format('W', 'a', 0)} xor.b32 %r1, %i, 32;"
        "mad.wide.u32 %a2, %r1, 4, %l2; " + LOAD, ""),
    "two mbarriers crossed": (
        f"setp.lt.u32 %p1, %i, 32; @%p1 bra V; {WAIT.format('W', 'one', 0)}"
        "mbarrier.arrive.shared.b64 %l4, [other]; bra.uni X;"
        f"V: {WAIT.format('U', 'other', 0)} mbarrier.arrive.shared.b64 %l4, [one]; X:", "deadlock"),
    "two mbarriers in turn": (
        "setp.ge.u32 %p1, %i, 32; @!%p1 bra V;"
        "setp.eq.u32 %p3, %i, 32; @!%p3 bra T; st.shared.u32 [buffer], 5;"
        "mbarrier.arrive.shared.b64 %l4, [one]; T:"
        f"{WAIT.format('W', 'other', 0)} ld.shared.u32 %r2, [buffer+4]; bra.uni X;"
        f"V: {WAIT.format('U', 'one', 0)} ld.shared.u32 %r2, [buffer];"
        "setp.eq.u32 %p3, %i, 9; @!%p3 bra X; st.shared.u32 [buffer+4], 6;"
        "mbarrier.arrive.shared.b64 %l4, [other]; X:", ""),
    "an answer of no is ignored": (
        f"{STORE} setp.ge.u32 %p1, %i, 64; @%p1 bra V; {MEET}"
        "V: mbarrier.test_wait.parity.shared.b64 %p2, [a], 0;" + LOAD, "race"),
    "an answer of no is ignored in the second phase": (
        f"{STORE} {MEET} {WAIT.format('W', 'a', 0)} setp.ge.u32 %p1, %i, 64; @%p1 bra V;"
        f"{STORE} {MEET} bra.uni X;"
        "V: mbarrier.test_wait.parity.shared.b64 %p2, [a], 1;" + LOAD + "X:", "race"),
    "a warp that has not waited loads after those that have": (
        "setp.eq.u32 %p1, %i, 0; @!%p1 bra U; st.shared.u32 [buffer], 5;"
        "mbarrier.arrive.shared.b64 %l4, [one]; U: shr.u32 %r6, %i, 5; setp.ne.u32 %p1, %r6, 1;"
        f"@%p1 bra V; {WAIT.format('W', 'one', 0)} V: mov.u32 %r5, 0;"
        "LOOP: and.b32 %r6, %i, 31; setp.ne.u32 %p1, %r6, 0; @%p1 bra NEXT;"
        "setp.ge.u32 %p1, %i, 64; setp.eq.and.u32 %p1, %r5, 0, %p1; @%p1 bra NEXT;"
        "ld.shared.u32 %r2, [buffer]; NEXT: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 2;"
        "@%p1 bra LOOP;", "race"),
    "all wait for a bulk copy": (
        f"{BY_FIRST.format('V')} {COPY} V: {WAIT.format('W', 'one', 0)} {LOAD}", ""),
    "nobody waits for a bulk copy": (f"{BY_FIRST.format('V')} {COPY} V: {LOAD}", "race"),
    "one thread waits for a bulk copy": (
        f"{BY_FIRST.format('V')} {COPY} {WAIT.format('W', 'one', 0)} V: {LOAD}", "race"),
    "one thread waits for a bulk copy, and then all meet": (
        f"{BY_FIRST.format('V')} {COPY} {WAIT.format('W', 'one', 0)} V: bar.sync 0; {LOAD}", ""),
    "one lane of each warp waits, and then its warp meets": (
        f"{BY_FIRST.format('V')} {COPY} V: and.b32 %r6, %i, 31; setp.ne.u32 %p1, %r6, 3;"
        f"@%p1 bra X; {WAIT.format('W', 'one', 0)} X: bar.warp.sync 0xffffffff; {LOAD}", ""),
    "one lane of each warp waits": (
        f"{BY_FIRST.format('V')} {COPY} V: and.b32 %r6, %i, 31; setp.ne.u32 %p1, %r6, 3;"
        f"@%p1 bra X; {WAIT.format('W', 'one', 0)} X: {LOAD}", "race"),
    "one thread waits after all have met": (
        f"{BY_FIRST.format('V')} {COPY} V: bar.sync 0; {BY_FIRST.format('X')}"
        f"{WAIT.format('W', 'one', 0)} X: {LOAD}", "race"),
    "one lane waits after its warp has met": (
        f"{BY_FIRST.format('V')} {COPY} V: bar.warp.sync 0xffffffff; setp.lt.u32 %p1, %i, 32;"
        "@!%p1 bra T; setp.eq.u32 %p1, %i, 3; @!%p1 bra X;"
        f"T: {WAIT.format('W', 'one', 0)} X: {LOAD}", "race"),
    "all meet before a bulk copy has come": (
        f"{BY_FIRST.format('V')} {COPY} V: bar.sync 0; {LOAD}", "race"),
    "a bulk copy into what is still read": (
        f"{STORE} bar.sync 0; {LOAD} {BY_FIRST.format('V')} {COPY} V: {WAIT.format('W', 'one', 0)}",
        "race"),
    "a store into what a bulk copy writes": (
        f"{BY_FIRST.format('V')} {COPY} V: {STORE} {WAIT.format('W', 'one', 0)}", "race"),
    "bulk copies in turn": (
        f"{BY_FIRST.format('T')} {COPY} T: {WAIT.format('S', 'one', 0)} {LOAD} {MEET}"
        f"{BY_FIRST.format('V')} {WAIT.format('R', 'a', 0)} {COPY.replace('%l6', '%l6+384')}"
        f"V: {WAIT.format('W', 'one', 1)}"
        f"{LOAD}", ""),
    "bulk copies in turn, the second too early": (
        f"{BY_FIRST.format('T')} {COPY} T: {WAIT.format('S', 'one', 0)} {LOAD}"
        f"{BY_FIRST.format('V')} {COPY.replace('%l6', '%l6+384')} V: {WAIT.format('W', 'one', 1)}"
        f"{LOAD}", "race"),
    "a bulk copy of which too few bytes are expected": (
        f"{BY_FIRST.format('V')} {COPY.replace(f'[one], {4 * BLOCK}', '[one], 16')}"
        f"V: {WAIT.format('W', 'one', 0)} {LOAD}", "deadlock"),
    "a warp by itself asks, and all ask it": (
        f"setp.lt.u32 %p1, %i, 64; @%p1 bra T; setp.ne.u32 %p1, %i, 64; @%p1 bra X;"
        f"{COPY} {WAIT.format('S', 'a', 0)} {COPY} bra.uni X;"
        f"T: {WAIT.format('R', 'one', 0)} {LOAD} mbarrier.arrive.shared.b64 %l4, [a];"
        "setp.lt.u32 %p1, %i, 32; @!%p1 bra U; mbarrier.arrive.shared.b64 %l4, [a];"
        f"U: {WAIT.format('W', 'one', 1)} {LOAD} X:", ""),
    "copies that report": (f"{OWN} {MEET_COPIED} {WAIT.format('W', 'a', 0)} {LOAD}", ""),
    "copies that report to nobody": (f"{OWN} {MEET} {WAIT.format('W', 'a', 0)} {LOAD}", "race"),
    "copies that report too early": (
        f"{MEET_COPIED} {OWN} {WAIT.format('W', 'a', 0)} {LOAD}", "race"),
    "copies that report, and one warp does not wait": (
        f"{OWN} {MEET_COPIED} setp.lt.u32 %p1, %i, 32; @%p1 bra V; {WAIT.format('W', 'a', 0)}"
        f"V: {LOAD}", "race"),
    "copies over what is still read": (
        f"{STORE} bar.sync 0; {LOAD} {OWN} {MEET_COPIED} {WAIT.format('W', 'a', 0)} {LOAD}",
        "race"),
    "a store over what a copy brought and another lane of the warp has read": (
        f"{OWN} {MEET_COPIED} {WAIT.format('V', 'a', 0)} and.b32 %r6, %i, 15;"
        f"mad.wide.u32 %a2, %r6, 4, %l2; {LOAD} {BY_FIRST.format('U')}"
        f"mbarrier.arrive.shared.b64 %l4, [one]; U: {WAIT.format('W', 'one', 0)}"
        "setp.eq.u32 %p1, %i, 64; @!%p1 bra X; st.shared.u32 [buffer], 77; X:", "race"),
    "for an arrival after the bulk copy, but not for its bytes": (
        f"{BY_FIRST.format('V')} {COPY} mbarrier.arrive.shared.b64 %l4, [other];"
        f"V: {WAIT.format('W', 'other', 0)} {LOAD}", "race"),
    "a clock is used": (f"mov.u64 %l5, %clock64; {STORE} {MEET} {WAIT.format('W', 'a', 0)} {LOAD}"
                        "and.b64 %l5, %l5, 0; cvt.u32.u64 %r4, %l5; add.u32 %r2, %r2, %r4;", ""),
}  # fmt: skip
"""What happens → the body of a kernel, and the kind of its fault."""
JUDGED = {"a clock is used"}
"""The correct kernels that are nevertheless left to the judge."""
