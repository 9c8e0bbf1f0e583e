"""Waits at mbarriers: the fast run has the same effects and counts as the judge, and suspects
whatever the judge reports.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from emulator_tools import ptx_kernel
from mbarrier_cases import BLOCK, JUDGED, PLANTED

from harness.emulator import LaunchReport, Module, launch, parse

WORDS = 24  # few, so that accesses collide
WARPS = BLOCK // 32
COUNTS = (BLOCK, 1, WARPS, 64)
"""For each mbarrier, the number of arrivals that complete a phase."""


@dataclass
class _Writer:
    """Write a random kernel that mostly waits for events that do happen."""

    r: random.Random
    faulty: bool
    copies: bool
    lines: list[str] = field(default_factory=list)
    parity: list[int] = field(default_factory=lambda: [0] * len(COUNTS))
    labels: int = 0

    def wrong(self) -> bool:
        return self.faulty and self.r.random() < 0.07

    def by(self, test: str, lines: list[str]) -> None:
        """Append lines for the threads that `test` (PTX that sets %p1) chooses, or for all."""
        self.labels += 1
        past = f"$past{self.labels}"
        self.lines += [test, f"@!%p1 bra {past};", *lines, f"{past}:"] if test else lines

    def arrive(self, number: int, test: str = "") -> None:
        if self.wrong():
            test = self.r.choice(("", "setp.lt.u32 %p1, %i, 32;", "setp.eq.u32 %p1, %i, 5;"))
        how = self.r.choice((".relaxed.cta.shared::cta", ".shared", ".shared", ".shared"))
        how = how if self.faulty else ".shared"
        self.by(test, [f"mbarrier.arrive{how}.b64 %l4, [b{number}];"])

    def wait(self, number: int, test: str = "") -> None:
        parity = self.parity[number]
        self.parity[number] ^= 1
        if self.wrong():
            return
        if self.wrong():
            parity ^= 1
        if self.wrong():
            test = self.r.choice(("setp.lt.u32 %p1, %i, 64;", "setp.ge.u32 %p1, %i, 32;"))
        tested = f"mbarrier.try_wait.parity.shared.b64 %p2, [b{number}], {parity};"
        if self.wrong():
            self.by(test, [tested, "selp.u32 %r2, 1, 0, %p2;"])
            return
        self.labels += 1
        again = f"$again{self.labels}"
        self.by(test, [f"{again}:", tested, f"@!%p2 bra {again};"])

    def access(self) -> None:
        """Append an access, mostly to a thread's own word or to a word that only its warp uses."""
        space, base = self.r.choice((("shared", "%l2"), ("shared", "%l2"), ("global", "%l1")))
        times, plus = self.r.choice(((1, 0), (1, 0), (1, 1), (1, 32), (0, 3), (5, 2)))
        where = [f"mad.lo.u32 %r1, %i, {times}, {plus};", f"rem.u32 %r1, %r1, {WORDS};",
                 f"mad.wide.u32 %a1, %r1, 4, {base};"]  # fmt: skip
        what = self.r.choice((
            f"ld.{space}.u32 %r2, [%a1];", f"ld.{space}.u32 %r2, [%a1];",
            f"st.{space}.u32 [%a1], %i;", f"red.{space}.add.u32 [%a1], 1;",
        ))  # fmt: skip
        tests = ("", "setp.lt.u32 %p1, %i, 24;", "setp.lt.u32 %p1, %i, 32;",
                 "setp.ge.u32 %p1, %i, 64;", "setp.eq.u32 %p1, %i, 40;")  # fmt: skip
        self.by(self.r.choice(tests), [*where, what])

    def accesses(self, most: int) -> None:
        for _ in range(self.r.randint(0, most)):
            self.access()

    def copy(self, number: int, of_warp: str) -> None:
        """Let one thread copy a few words, or each thread its own, and let threads wait for the
        copies."""
        if COUNTS[number] == BLOCK:
            copied = "cp.async.ca.shared.global [%a1], [%l6], 4;"
            own = [f"setp.lt.u32 %p1, %i, {WORDS};", "mad.wide.u32 %a1, %i, 4, %l2;"]
            if not self.wrong():
                self.by("\n".join(own), [copied])
            self.accesses(int(self.r.random() < 0.1))
            how = (
                "cp.async.mbarrier.arrive.noinc.shared.b64"
                if not self.wrong()
                else "mbarrier.arrive"
            )
            self.lines += [
                f"{how} [b{number}];" if "noinc" in how else f"{how}.shared.b64 _, [b{number}];"
            ]
            self.wait(number)
            self.read()
            return
        first, size = 16 * self.r.randrange(WORDS // 4 - 1), self.r.choice((16, 32))
        expected = size if not self.wrong() else 16
        self.lines += ["bar.warp.sync 0xffffffff;"] if self.r.random() < 0.3 else []
        self.by(f"setp.eq.u32 %p1, %i, {32 * self.r.randrange(WARPS)};", [
            f"mbarrier.arrive.expect_tx.shared.b64 _, [b{number}], {expected};",
            f"add.u32 %r7, %r3, {first}; mov.u32 %r8, b{number};",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            f"[%r7], [%l6], {size}, [%r8];",
        ])  # fmt: skip
        self.accesses(int(self.r.random() < 0.1))
        who = self.r.choice(("", "", of_warp))
        self.wait(number, who)
        if self.r.random() < 0.3:
            self.lines.append(self.r.choice(("bar.sync 0;", "bar.warp.sync 0xffffffff;")))
            who = ""
        self.read(who)

    def read(self, test: str = "") -> None:
        """Read copied data, but not always in threads that have waited for the copy to end."""
        plus = self.r.choice((0, 1, 5))
        where = [f"add.u32 %r1, %i, {plus}; rem.u32 %r1, %r1, {WORDS};",
                 "mad.wide.u32 %a1, %r1, 4, %l2; ld.shared.u32 %r2, [%a1];"]  # fmt: skip
        self.by("" if self.wrong() else test, where)

    def meet(self) -> None:
        """Let threads meet at a barrier, or let some arrive and others wait for them."""
        number, warp = self.r.randrange(len(COUNTS) + 1), 32 * self.r.randrange(WARPS)
        of_warp = f"sub.u32 %r1, %i, {warp}; setp.lt.u32 %p1, %r1, 32;"
        other = f"sub.u32 %r1, %i, {warp}; setp.ge.u32 %p1, %r1, 32;"
        if number == len(COUNTS):
            self.lines.append(self.r.choice(("bar.sync 0;", "bar.warp.sync 0xffffffff;")))
        elif self.copies and COUNTS[number] in (1, BLOCK):
            self.copy(number, of_warp)
        elif COUNTS[number] == BLOCK:
            self.arrive(number)
            self.accesses(int(self.r.random() < 0.2))
            self.wait(number)
        elif COUNTS[number] == 1:
            self.lines += ["bar.warp.sync 0xffffffff;"] if self.r.random() < 0.5 else []
            self.arrive(number, f"setp.eq.u32 %p1, %i, {self.r.choice((warp, warp + 7))};")
            self.accesses(int(self.r.random() < 0.2))
            self.wait(number, self.r.choice(("", other)))
        elif COUNTS[number] == WARPS:
            self.lines.append("bar.warp.sync 0xffffffff;")
            self.arrive(number, "and.b32 %r1, %i, 31; setp.eq.u32 %p1, %r1, 0;")
            self.wait(number, self.r.choice(("", "", of_warp)))
        else:
            self.arrive(number, other)
            self.wait(number, self.r.choice(("", of_warp)))


def _kernel(r: random.Random, faulty: bool, copies: bool) -> str:
    to = _Writer(r, faulty, copies)
    to.lines += [
        "ld.param.u64 %l1, [p0];", "ld.param.u64 %l6, [p2];", "mov.u32 %r3, buffer;",
        "cvt.u64.u32 %l2, %r3;",
        "mov.u32 %r2, 1;", "setp.ge.u32 %p1, %i, 24;", "@%p1 bra $written;",
        "mad.wide.u32 %a1, %i, 4, %l2;", "st.shared.u32 [%a1], %i;", "$written:",
        "setp.ne.u32 %p1, %i, 0;", "@%p1 bra $set;",
        *(f"mbarrier.init.shared.b64 [b{n}], {count};" for n, count in enumerate(COUNTS)),
        "$set:", "bar.sync 0;",
    ]  # fmt: skip
    for _ in range(r.randint(2, 7)):
        to.accesses(1 + (faulty and not copies))
        to.meet()
    to.lines += ["ld.param.u64 %l3, [p1];", "mad.wide.u32 %a1, %i, 4, %l3;",
                 "mov.u32 %r4, %ctaid.x;", f"mad.wide.u32 %a1, %r4, {4 * BLOCK}, %a1;",
                 "st.global.u32 [%a1], %r2;"]  # fmt: skip
    words = " ".join(f".shared .align 8 .b64 b{n};" for n in range(len(COUNTS)))
    shared = f".shared .align 16 .b8 buffer[{4 * WORDS}]; {words}"
    return ptx_kernel("\n".join(to.lines), ["u64", "u64", "u64"], shared)


def _launched(module: Module, **keywords: Any) -> tuple[LaunchReport, list[np.ndarray]]:
    given = np.arange(100, 100 + WORDS, dtype=np.uint32)
    arrays = [np.arange(WORDS, dtype=np.uint32), np.zeros(2 * BLOCK, np.uint32), given]
    return launch(module, "k", 2, BLOCK, arrays, **keywords), arrays


@pytest.mark.parametrize(
    ("faulty", "copies", "seed"),
    [*((faulty, copies, seed) for faulty in (True, False) for copies in (True, False)
       for seed in range(1 + 2 * faulty))],
)  # fmt: skip
def test_random_kernels_do_the_same_and_whatever_the_judge_accuses_has_been_suspected(
    faulty: bool, copies: bool, seed: int
) -> None:
    r = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(50):
        ptx = _kernel(r, faulty, copies)
        module = parse(ptx)
        expected, theirs = _launched(module, engine="judge")
        for jobs in (1, 2):
            found, mine = _launched(module, jobs=jobs)
            assert found.faults == expected.faults, ptx
            seen[found.engine] += 1
            if found.engine == "judge":
                continue
            assert all(map(np.array_equal, mine, theirs)), ptx
            assert found.instructions == expected.instructions, ptx
            assert found.counters == expected.counters, ptx
            assert not expected.remarks
            unchecked, others = _launched(module, jobs=jobs, checks=False)
            assert all(map(np.array_equal, mine, others)), ptx
            assert unchecked.counters == found.counters, ptx
        seen.update(fault.kind for fault in expected.faults)
    assert seen["native"] > 5  # and it does not suspect everything
    assert seen["race"] > 15
    assert seen["deadlock"] > 0 or not faulty


@pytest.mark.parametrize("what", PLANTED)
def test_of_two_kernels_that_are_nearly_the_same_only_the_wrong_one_is_accused(what: str) -> None:
    body, kind = PLANTED[what]
    begin = f"""ld.param.u64 %l1, [p0]; mov.u32 %r3, buffer; cvt.u64.u32 %l2, %r3; mov.u32 %r2, 0;
    mad.wide.u32 %a1, %i, 4, %l2; sub.u32 %r4, {BLOCK - 1}, %i; mad.wide.u32 %a2, %r4, 4, %l2;
    ld.param.u64 %l6, [p1]; mad.wide.u32 %a4, %i, 4, %l6;
    setp.ne.u32 %p1, %i, 0; @%p1 bra SET; mbarrier.init.shared.b64 [a], {BLOCK};
    mbarrier.init.shared.b64 [one], 1; mbarrier.init.shared.b64 [other], 1; SET: bar.sync 0;"""
    end = f"""mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, {BLOCK}, %i;
    mad.wide.u32 %a3, %r4, 4, %l1; st.global.u32 [%a3], %r2;"""
    words = " ".join(f".shared .align 8 .b64 {name};" for name in ("a", "one", "other"))
    shared = f".shared .align 16 .b8 buffer[{8 * BLOCK}]; {words}"
    module = parse(ptx_kernel(f"{begin} {body} {end}", ["u64", "u64"], shared))
    mine, theirs = np.zeros((2, 2 * BLOCK), np.uint32)
    given = np.arange(1, 1 + 2 * BLOCK, dtype=np.uint32)
    found = launch(module, "k", 2, BLOCK, [mine, given])
    expected = launch(module, "k", 2, BLOCK, [theirs, given], engine="judge")
    assert found.faults == expected.faults
    assert [fault.kind for fault in found.faults] == ([kind] if kind else [])
    assert found.engine == ("judge" if kind or what in JUDGED else "native")
    assert np.array_equal(mine, theirs)
    assert found.instructions == expected.instructions
    assert found.counters == expected.counters
