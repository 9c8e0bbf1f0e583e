"""Execute a kernel's tree thread by thread, according to the PTX ISA's programming model.

Threads are independent except at collectives, where each waits (a Python generator that yields)
until all threads of its block have arrived. Kernels are generated so that no other order gives a
different result. A dynamic instruction is counted for a thread if its guard is true; for a warp,
once for each position in the tree, including the iterations of the loops around it, that any of its
lanes reaches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from reference.kernel import (
    LOCAL,
    LOCAL_BYTES,
    PARAMETERS,
    SHARED,
    Atomic,
    Collective,
    Guard,
    If,
    Instr,
    Kernel,
    Leave,
    Load,
    Loop,
    Operand,
    Reg,
    Statement,
    Store,
    Switch,
)
from reference.semantics import OPCODES, WIDTHS, atomic, number, shuffle_source, unsigned

WARP = 32
REGION = 1 << 36  # buffers are this far apart, so that none can be reached from another
Dim3 = tuple[int, int, int]
Place = tuple[object, ...]
Results = tuple[int, ...]


@dataclass
class Outcome:
    """The reference's counts; memory is changed in place."""

    by_opcode: Counter[str] = field(default_factory=Counter)
    warp_instructions: int = 0


@dataclass
class Memory:
    """The memory that one thread can access: global buffers by number, its block's shared memory,
    and its local memory."""

    buffers: list[bytearray]
    shared: bytearray
    local: bytearray

    def locate(self, space: str, address: int, size: int) -> tuple[bytearray, int]:
        buffer, at = self.local if space == "local" else self.shared, address
        if space == "global":
            buffer, at = self.buffers[address // REGION - 1], address % REGION
        assert at + size <= len(buffer), f"the generator made an address out of range: {address}"
        assert at % size == 0, f"the generator made a misaligned address: {address}"
        return buffer, at

    def read(self, space: str, address: int, size: int) -> int:
        buffer, at = self.locate(space, address, size)
        return int.from_bytes(buffer[at : at + size], "little")

    def write(self, space: str, address: int, size: int, value: int) -> None:
        buffer, at = self.locate(space, address, size)
        buffer[at : at + size] = unsigned(value, 8 * size).to_bytes(size, "little")


@dataclass
class Thread:
    """One thread: its registers, its special registers, and its counts."""

    lane: int
    named: dict[str, int]
    memory: Memory
    by_opcode: Counter[str]
    warp_places: set[Place]
    values: dict[str, int] = field(default_factory=dict)

    def read(self, operand: Operand | Guard) -> int:
        if isinstance(operand, Reg):
            return self.values[operand.name]
        if isinstance(operand, Guard):
            return self.values[operand.register.name] ^ operand.negated
        return self.named[operand] if isinstance(operand, str) else operand

    def write(self, register: Reg, value: int) -> None:
        self.values[register.name] = unsigned(value, WIDTHS[register.kind])

    def issue(self, opcode: str, place: Place, on: bool = True) -> None:
        self.warp_places.add(place)
        if on:
            self.by_opcode[opcode] += 1

    def run(
        self, body: Sequence[Statement], path: Place
    ) -> Generator[tuple[Place, Collective], Results, str]:
        """Execute; yield at collectives. Return how the body was left; "" if it ran to its end."""
        for at, each in enumerate(body):
            place = (path, at)
            if isinstance(each, If | Loop | Switch):
                walk = {If: self.branch, Loop: self.loop, Switch: self.switch}[type(each)]
                left = yield from walk(each, place)  # type: ignore[operator]
                if left:
                    return left
            elif isinstance(each, Leave):
                on = bool(self.read(each.condition))
                name = each.what if each.what in ("ret", "exit") else "bra"
                self.issue(name, place, on)
                if on:
                    return each.what
            elif isinstance(each, Collective):
                self.issue(each.opcode, place)
                results = yield place, each
                for register, value in zip((each.result, each.second), results, strict=False):
                    if register is not None:
                        self.write(register, value)
            else:
                on = each.guard is None or bool(self.read(each.guard))
                self.issue(each.opcode, place, on)
                if on:
                    self.execute(each)
        return ""

    def branch(self, each: If, place: Place) -> Generator[tuple[Place, Collective], Results, str]:
        holds = bool(self.read(each.condition))
        self.issue("bra", (*place, "if"), not holds)
        if not holds:
            return (yield from self.run(each.otherwise, (*place, "else")))
        left = yield from self.run(each.then, (*place, "then"))
        if not left and each.otherwise:
            self.issue("bra", (*place, "end of then"))
        return left

    def switch(
        self, each: Switch, place: Place
    ) -> Generator[tuple[Place, Collective], Results, str]:
        self.issue("brx.idx", (*place, "switch"))
        chosen = self.read(each.index)
        left = yield from self.run(each.cases[chosen], (*place, chosen))
        if not left:
            self.issue("bra", (*place, "end of case", chosen))
        return left

    def loop(self, each: Loop, place: Place) -> Generator[tuple[Place, Collective], Results, str]:
        self.issue("mov.b32", (*place, "start"))
        self.write(each.counter, self.read(each.start))
        iteration = 0
        while True:
            here = (*place, iteration)
            if not each.bottom:
                done = self.read(each.counter) >= self.read(each.limit)
                self.issue("setp.ge.u32", (*here, "test"))
                self.write(each.test, done)
                self.issue("bra", (*here, "leave"), done)
                if done:
                    return ""
            left = yield from self.run(each.body, here)
            if left == "break":
                return ""
            if left in ("ret", "exit"):
                return left
            self.issue("add.u32", (*here, "step"))
            self.write(each.counter, self.read(each.counter) + self.read(each.step))
            more = True
            if each.bottom:
                more = self.read(each.counter) < self.read(each.limit)
                self.issue("setp.lt.u32", (*here, "test"))
                self.write(each.test, more)
            self.issue("bra", (*here, "again"), more)
            if not more:
                return ""
            iteration += 1

    def execute(self, each: Instr | Load | Store | Atomic) -> None:
        if isinstance(each, Instr):
            self.write(each.result, OPCODES[each.name](*map(self.read, each.sources)))
            return
        size = int(each.type[1:]) // 8
        if isinstance(each, Load) and each.space == "param":
            self.write(each.result, self.read(each.address))
            return
        address = self.read(each.address)
        if isinstance(each, Load | Store):
            address += each.offset
            whole = size if each.second is None else 2 * size
            assert address % whole == 0, f"the generator made a misaligned vector: {address}"
        if isinstance(each, Load):
            for register in (each.result, each.second):
                if register is not None:
                    value = self.memory.read(each.space, address, size)
                    self.write(register, number(value, each.type))
                address += size
        elif isinstance(each, Store):
            for source in (each.source, each.second):
                if source is not None:
                    self.memory.write(each.space, address, size, self.read(source))
                address += size
        else:
            old = self.memory.read(each.space, address, size)
            operands = (self.read(each.source),)
            if each.compared is not None:
                operands = (self.read(each.compared), *operands)
            self.memory.write(
                each.space, address, size, atomic(each.operation, each.type, old, *operands)
            )
            if each.result is not None:
                self.write(each.result, old)


def collective(each: Collective, threads: Sequence[Thread]) -> list[Results]:
    """The results of an instruction that these threads, of one warp or block, execute together."""
    name, *modifiers = each.opcode.split(".")
    together = len(threads)
    if name == "activemask":
        return [(sum(1 << t.lane for t in threads),)] * together
    values = [[t.read(s) for s in each.sources] for t in threads]
    first = [v[0] for v in values]
    if name == "bar" and "red" in modifiers:
        held = sum(v[1] for v in values)
        found = {"popc": held, "and": int(held == together), "or": int(held > 0)}
        return [(found[modifiers[1]],)] * together
    if name == "bar":
        return [()] * together
    if name == "shfl":
        out = []
        for thread, (_, b, c, _) in zip(threads, values, strict=True):
            source, valid = shuffle_source(modifiers[1], thread.lane, b, c)
            assert source < together, "the generator made a shuffle from a lane that is not there"
            out.append((first[source], int(valid)))
        return out
    if name == "vote":
        held = sum(first)
        ballot = sum(p << t.lane for t, p in zip(threads, first, strict=True))
        found = {"all": int(held == together), "any": int(held > 0),
                 "uni": int(held in (0, together)), "ballot": ballot}  # fmt: skip
        return [(found[modifiers[1]],)] * together
    if name == "match" and modifiers[0] == "all":
        same = len(set(first)) == 1
        mask = sum(1 << t.lane for t in threads)
        return [(mask if same else 0, int(same))] * together
    if name == "match":
        return [
            (sum(1 << t.lane for t, v in zip(threads, first, strict=True) if v == own),)
            for own in first
        ]
    assert name == "redux", each.opcode
    total = first[0]
    for value in first[1:]:
        total = atomic(modifiers[1], modifiers[2], total, value)
    return [(total,)] * together


def execute(
    kernel: Kernel, grid: Dim3, block: Dim3, buffers: list[bytearray], scalars: dict[str, int],
    shared_bytes: int,
) -> Outcome:  # fmt: skip
    """Run the blocks one after another; `buffers` belong to the u64 parameters, in order."""
    outcome = Outcome()
    pointers = [name for type_, name in PARAMETERS if type_ == "u64"]
    named = dict(scalars)
    named.update({name: (n + 1) * REGION for n, name in enumerate(pointers)})
    named[SHARED] = named[LOCAL] = 0
    for number_, index in enumerate(_indices(grid)):
        shared = bytearray(b"\xcc" * shared_bytes)
        size = block[0] * block[1] * block[2]
        warps: list[set[Place]] = [set() for _ in range(-(-size // WARP))]
        threads = []
        for linear, inside in enumerate(_indices(block)):
            own = dict(named)
            for axis, *parts in zip("xyz", index, inside, grid, block, strict=True):
                for special, value in zip(("ctaid", "tid", "nctaid", "ntid"), parts, strict=True):
                    own[f"%{special}.{axis}"] = value
            memory = Memory(buffers, shared, bytearray(b"\xcc" * LOCAL_BYTES))
            lane = linear % WARP
            own["%laneid"] = lane
            places = warps[linear // WARP]
            threads.append(Thread(lane, own, memory, outcome.by_opcode, places))
        _run_block(kernel, threads, number_)
        outcome.warp_instructions += sum(map(len, warps))
    return outcome


def _indices(extent: Dim3) -> list[Dim3]:
    return [(x, y, z) for z in range(extent[2]) for y in range(extent[1]) for x in range(extent[0])]


def _run_block(kernel: Kernel, threads: list[Thread], number_: int) -> None:
    running = [t.run(kernel.body, ()) for t in threads]
    answers: list[Results | None] = [None] * len(threads)
    while True:
        asked = []
        for thread, generator, answer in zip(threads, running, answers, strict=True):
            try:
                asked.append(generator.send(answer))  # type: ignore[arg-type]
            except StopIteration as end:
                if not end.value:
                    thread.issue("ret", ("end",))
        if not asked:
            return
        assert len(asked) == len(threads), f"block {number_}: a collective that not all reach"
        assert len({place for place, _ in asked}) == 1, "threads at different collectives"
        each = asked[0][1]
        width = len(threads) if each.opcode.startswith("bar.") else WARP
        answers = []
        for start in range(0, len(threads), width):
            answers += collective(each, threads[start : start + width])
