"""Random kernels, launches and inputs that are within the limits of the PTX ISA and CUDA.

A kernel is a prologue that initialises every register, a body made of `pieces`, and an epilogue
that stores every register. Threads leave early only after the last barrier or collective.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from reference.kernel import (
    LOCAL,
    LOCAL_BYTES,
    SHARED,
    Collective,
    Kernel,
    Leave,
    Load,
    Loop,
    Nested,
    Reg,
    Statement,
    Store,
    registers,
    statements,
)
from reference.pieces import (
    ADDRESS,
    BARRIER,
    EDGES,
    GLOBAL,
    INDEX,
    INPUT,
    LANES,
    LOCAL_BASE,
    MASK,
    ORDER,
    OUTPUT,
    OUTPUT_STRIDE,
    OWN,
    OWN_SHARED,
    SHARED_ADDRESS,
    SHARED_BASE,
    SHARED_TOTALS,
    SLOT,
    THREAD,
    THREADS,
    TOTAL_BYTES,
    TOTAL_SLOTS,
    TOTALS,
    WORDS,
    Body,
    Context,
    bodies,
    do,
    phases,
)


@dataclass(frozen=True)
class Case:
    """A kernel with everything that its launch needs; it is printed without the kernel, which is
    long."""

    kernel: Kernel = field(repr=False)
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seed: int
    scalar: int

    @property
    def threads(self) -> int:
        """The number of threads in all blocks."""
        return int(np.prod(self.grid)) * int(np.prod(self.block))

    @property
    def shared_bytes(self) -> int:
        return SLOT * int(np.prod(self.block)) + TOTAL_BYTES

    def buffers(self) -> list[np.ndarray]:
        """Input, output, totals and the threads' own slots: half of the values are edge values,
        half random bits."""
        random = np.random.default_rng(self.seed)
        sizes = (64, self.threads * OUTPUT_STRIDE // 8, TOTAL_SLOTS, self.threads)
        made = []
        for size in sizes:
            edges = random.choice(np.array(EDGES, np.uint64), size)
            pairs = edges << np.uint64(32) ^ random.choice(np.array(EDGES, np.uint64), size)
            bits = random.integers(0, 2**64, size, dtype=np.uint64)
            made.append(np.choose(random.integers(0, 4, size), [edges, pairs, bits, bits]))
        return made


def _linear(result: Reg, index: str) -> Body:
    """The linear index from %tid or %ctaid; special registers are valid only in `mov`."""
    out = [do("mov.b32", result, f"%{index}.z")]
    for axis in "yx":
        out += [
            do("mov.b32", INDEX, f"%n{index}.{axis}"),
            do("mul.lo.u32", result, result, INDEX),
            do("mov.b32", INDEX, f"%{index}.{axis}"),
            do("add.u32", result, result, INDEX),
        ]
    return tuple(out)


def _prologue(used: set[Reg]) -> Body:
    """The thread's index, the addresses of its memory, and an initial value for every register
    used."""

    def reg(name: str) -> Reg:
        return Reg("b32", name)

    out: list[Statement] = [
        *_linear(THREAD, "tid"),
        do("mov.b32", THREADS, 1),
        *(
            s
            for axis in "xyz"
            for s in (
                do("mov.b32", INDEX, f"%ntid.{axis}"),
                do("mul.lo.u32", THREADS, THREADS, INDEX),
            )
        ),
        *_linear(GLOBAL, "ctaid"),
        do("mad.lo.u32", GLOBAL, GLOBAL, THREADS, THREAD),
        Load("param", "u64", INPUT, "input"),
        Load("param", "u32", WORDS, "input_words"),
        Load("param", "u64", OUTPUT, "output"),
        do("mad.wide.u32", OUTPUT, GLOBAL, OUTPUT_STRIDE, OUTPUT),
    ]
    if TOTALS in used:
        out.append(Load("param", "u64", TOTALS, "totals"))
    if OWN in used:
        out += [Load("param", "u64", OWN, "own"), do("mad.wide.u32", OWN, GLOBAL, SLOT, OWN)]
    if MASK in used:
        out += [Collective("activemask.b32", MASK, ()), do("popc.b32", LANES, MASK)]
    if LOCAL_BASE in used:
        out.append(do("mov.b64", LOCAL_BASE, LOCAL))
        for offset in range(0, LOCAL_BYTES, SLOT):
            out += [do("mul.wide.u32", ADDRESS, GLOBAL, 0x27D4EB2F + offset),
                    Store("local", "u64", LOCAL_BASE, ADDRESS, offset)]  # fmt: skip
    special = {"%r0": "%tid.x", "%r1": "%laneid", "%r2": "%ctaid.x"}
    for n, register in enumerate(r for r in ORDER if r in used):
        at = (
            do("mad.lo.u32", INDEX, GLOBAL, 7, 5 * n),
            do("rem.u32", INDEX, INDEX, WORDS),
            do("mad.wide.u32", ADDRESS, INDEX, 8, INPUT),
        )
        if register.name in special:
            out.append(do("mov.b32", register, special[register.name]))
        elif register.name == "%r3":
            out.append(Load("param", "u32", register, "scalar"))
        elif register.kind == "pred":
            out += [*at, Load("global", "s32", INDEX, ADDRESS),
                    do("setp.lt.s32", register, INDEX, 0)]  # fmt: skip
        else:
            type_ = {"b16": "u16", "b32": "u32", "b64": "u64", "f32": "f32"}[register.kind]
            out += [*at, Load("global", type_, register, ADDRESS)]
    if used & {SHARED_BASE, OWN_SHARED, SHARED_TOTALS}:
        body = (
            do("mad.lo.u32", SHARED_ADDRESS, reg("%count0"), SLOT, SHARED_TOTALS),
            do("mul.wide.u32", ADDRESS, reg("%count0"), 0x9E3779B9),
            Store("shared", "u64", SHARED_ADDRESS, ADDRESS),
        )
        out += [
            do("mov.b32", SHARED_BASE, SHARED),
            do("mad.lo.u32", OWN_SHARED, THREAD, SLOT, SHARED_BASE),
            do("mad.lo.u32", SHARED_TOTALS, THREADS, SLOT, SHARED_BASE),
            do("mul.wide.u32", ADDRESS, GLOBAL, 0x85EBCA6B),
            Store("shared", "u64", OWN_SHARED, ADDRESS),
            Loop(reg("%count0"), Reg("pred", "%test0"), THREAD, TOTAL_SLOTS, THREADS, body),
            BARRIER,
        ]
    return tuple(out)


def _epilogue(used: set[Reg]) -> Body:
    """Store every register that the body may have changed, in 8 bytes of `output` each."""
    out: list[Statement] = []
    for n, register in enumerate(ORDER):
        if register not in used:
            continue
        if register.kind == "pred":
            out += [do("selp.b32", INDEX, 1, 0, register),
                    Store("global", "u32", OUTPUT, INDEX, 8 * n)]  # fmt: skip
        else:
            type_ = {"b16": "u16", "b32": "u32", "b64": "u64", "f32": "f32"}[register.kind]
            out.append(Store("global", type_, OUTPUT, register, 8 * n))
    return tuple(out)


@st.composite
def _shapes(draw: st.DrawFn) -> tuple[tuple[int, int, int], tuple[int, int, int], bool]:
    """A grid, a block, and whether all warps are full; about 128 threads in all."""
    full = [(32, 1, 1), (64, 1, 1), (16, 2, 1), (8, 4, 2), (4, 8, 3), (96, 1, 1), (2, 8, 2)]
    odd = [(1, 1, 1), (31, 1, 1), (33, 1, 1), (7, 1, 1), (5, 7, 1), (3, 5, 3), (45, 1, 2)]
    block = draw(st.sampled_from(full + odd) | st.tuples(
        st.integers(1, 40), st.integers(1, 3), st.integers(1, 2)))  # fmt: skip
    threads = block[0] * block[1] * block[2]
    most = max(1, 128 // threads)
    x = draw(st.integers(1, min(5, most)))
    y = draw(st.integers(1, max(1, min(3, most // x))))
    z = draw(st.integers(1, max(1, min(2, most // x // y))))
    return (x, y, z), block, threads % 32 == 0


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A kernel, its launch and its inputs."""
    grid, block, full_warps = draw(_shapes())
    plain = draw(st.booleans())
    body = list(draw(phases(full_warps, plain)))
    if body and draw(st.integers(0, 3)) == 0:
        # Every thread has the same number of iterations, so the loop may contain a barrier.
        counter, test = Reg("b32", "%uniform"), Reg("pred", "%uniformtest")
        body = [Loop(counter, test, 0, draw(st.integers(1, 3)), 1, tuple(body))]
    leaves = draw(st.sampled_from([(), (), ("ret", "exit")]))
    body += draw(bodies(Context("read", plain, (), leaves), 1, 10))
    used = registers(body)
    whole = (*_prologue(used), *body, *_epilogue(used))
    return Case(
        Kernel(whole), grid, block, draw(st.integers(0, 2**16)), draw(st.sampled_from(EDGES[:24]))
    )


def opcodes(kernel: Kernel) -> set[str]:
    """The opcodes of a kernel, except branches."""
    return {s.opcode for s, _ in statements(kernel.body) if not isinstance(s, Nested | Leave)}
