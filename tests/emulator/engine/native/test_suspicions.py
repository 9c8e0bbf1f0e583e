"""Random kernels full of races, uninitialised words and invalid masks: whatever the judge reports
must also be suspected by the fast run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from emulator_tools import ptx_kernel

from harness.emulator import Fault, Module, launch, parse

Access = Callable[[random.Random], list[str]]

WORDS = 24  # few, so that accesses collide
BLOCK = 96


def _address(r: random.Random, space: str, even: bool) -> list[str]:
    """%a1 ← an address that depends on the thread and, in global memory, possibly on the block."""
    number = "%r10" if space == "global" and r.random() < 0.5 else "%i"
    times, plus = r.choice((0, 0, 1, 1, 1, 2, 5)), r.choice((0, 0, 1, 3, 32))
    base = "%l1" if space == "global" else "%l2"
    return [
        f"mad.lo.u32 %r1, {number}, {times}, {plus};", f"rem.u32 %r1, %r1, {WORDS};",
        *(["and.b32 %r1, %r1, 0xfffffffe;"] if even else []),
        f"mad.wide.u32 %a1, %r1, 4, {base};",
    ]  # fmt: skip


def _vector(r: random.Random) -> list[str]:
    """Every access is to 8 bytes, so the fast run keeps one stamp for each pair of words."""
    space = r.choice(("shared", "shared", "global"))
    how = r.choice(("", "", "", ".volatile", ".relaxed.gpu"))
    what = r.choice((
        f"ld{how}.{space}.v2.u32 {{%r2, %r6}}, [%a1];", f"ld.{space}.u64 %l3, [%a1];",
        f"st{how}.{space}.v2.u32 [%a1], {{%r2, %i}};", f"st.{space}.u64 [%a1], %l3;",
        f"atom.{space}.add.u64 %l3, [%a1], 1;",
    ))  # fmt: skip
    return [*_address(r, space, even=True), what]


def _copy(r: random.Random) -> list[str]:
    """Global memory is only read; otherwise the fast run would leave all copies to the judge."""
    copy = "cp.async.ca.shared.global [%a1], [%l1], 4;"
    shared = (
        "ld.shared.u32 %r2, [%a1];",
        "st.shared.u32 [%a1], %i;",
        "red.shared.max.u32 [%a1], %i;",
    )
    how = r.random()
    if how < 0.35:
        return [*_address(r, "shared", even=False), copy]
    if how < 0.6:
        return [f"cp.async.commit_group; cp.async.wait_group {r.choice((0, 0, 1))};"]
    if how < 0.7:
        return ["cp.async.wait_all;"]
    return [*_address(r, "shared", even=False), r.choice(shared)]


def _access(r: random.Random) -> list[str]:
    space = r.choice(("shared", "shared", "global"))
    how = r.choice(("", "", "", ".volatile", ".relaxed.gpu"))
    type_, register = r.choice((("u32", "%r2"), ("u32", "%r2"), ("u8", "%r2"), ("u64", "%l3")))
    value = register if type_ == "u64" else r.choice(("%i", "%r5", "%r2"))
    kind = r.choice(("ld", "ld", "st", "st", "atom", "red"))
    what = {
        "ld": f"ld{how}.{space}.{type_} {register}, [%a1];",
        "st": f"st{how}.{space}.{type_} [%a1], {value};",
        "atom": f"atom.{space}.add.u32 %r2, [%a1], 1;",
        "red": f"red.{space}.max.u32 [%a1], %i;",
    }[kind]
    return [*_address(r, space, type_ == "u64"), what]


def _piece(r: random.Random, number: int, access: Access) -> list[str]:
    choice = r.random()
    if choice < 0.22:
        return ["bar.sync 0;"]
    if choice < 0.32:
        return ["bar.warp.sync 0xffffffff;"]
    if choice < 0.36:
        return ["shfl.sync.bfly.b32 %r2|%p3, %r2, 1, 31, 0xffffffff;"]
    if choice < 0.6:
        test = r.choice((
            f"setp.lt.u32 %p1, %i, {r.choice((1, 16, 32, 64))};", "setp.ge.u32 %p1, %i, 32;",
            "setp.eq.u32 %p1, %r10, 0;",
        ))  # fmt: skip
        return [test, f"@!%p1 bra $past{number};", *access(r), f"$past{number}:"]
    return access(r)


def _kernel(r: random.Random, access: Access) -> str:
    body = [
        "ld.param.u64 %l1, [p0];", "mov.u32 %r3, buffer;", "cvt.u64.u32 %l2, %r3;",
        "mov.u32 %r4, %ctaid.x;", f"mad.lo.u32 %r10, %r4, {BLOCK}, %i;", "mov.u32 %r2, 1;",
        "mov.u32 %r5, 7;", "mov.u64 %l3, 7;",
    ]  # fmt: skip
    if r.random() < 0.8:  # most kernels begin by writing all of shared memory
        body += [f"setp.ge.u32 %p2, %i, {WORDS};", *_ODD[access], "@%p2 bra $written;",
                 "mad.wide.u32 %a1, %i, 4, %l2;", _FIRST_WRITE[access], "$written:",
                 "bar.sync 0;"]  # fmt: skip
    for number in range(r.randint(2, 9)):
        body += _piece(r, number, access)
    body += ["bar.sync 0;"] if r.random() < 0.5 else []
    shared = f".shared .align 8 .b8 buffer[{4 * WORDS}];"
    return ptx_kernel("\n".join(body), ["u64"], shared)


_FIRST_WRITE = {
    _access: "st.shared.u32 [%a1], %i;",
    _copy: "st.shared.u32 [%a1], %i;",
    _vector: "st.shared.v2.u32 [%a1], {%i, %i};",
}
_ODD = {
    _access: [],
    _copy: [],
    _vector: ["and.b32 %r6, %i, 1;", "setp.ne.or.u32 %p2, %r6, 0, %p2;"],
}
"""Operation → the instructions by which odd threads skip it."""


def _faults(module: Module, **keywords: object) -> tuple[tuple[Fault, ...], str]:
    x = np.arange(WORDS, dtype=np.uint32)
    report = launch(module, "k", 3, BLOCK, [x], **keywords)  # type: ignore[arg-type]
    return report.faults, report.engine


@pytest.mark.parametrize(
    ("access", "seed"),
    [
        *((_access, seed) for seed in range(6)),
        *((_vector, s) for s in range(3)),
        *((_copy, s) for s in range(2)),
    ],
)
def test_whatever_the_judge_accuses_has_been_suspected(access: Access, seed: int) -> None:
    r = random.Random(seed)
    seen: Counter[str] = Counter()
    for _ in range(60):
        ptx = _kernel(r, access)
        module = parse(ptx)
        # A chunk of one block sees the same accesses in the same order as the fast run.
        for way in ({}, {"chunk_threads": 1}):
            expected, _ = _faults(module, engine="judge", **way)
            for jobs in (1, 3):
                found, engine = _faults(module, jobs=jobs, **way)
                assert found == expected, ptx
                seen[engine] += 1
        seen["accused"] += bool(expected)
    assert seen["native"] > 20  # and it does not suspect everything
    assert seen["accused"] > 15
