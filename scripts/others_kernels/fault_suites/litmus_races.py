"""Determine whether a litmus test races: in all its executions, in some, or in none.

The executions considered are sequentially consistent interleavings: if none of them races, no other
execution races. The ordering rules follow "Memory Consistency Model" of the PTX manual: a release
pattern is ordered with the acquire pattern that reads from it, each `fence.sc` with the next, and
threads that meet at a barrier are ordered too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fault_suites.litmus import Instruction, Test

Clock = tuple[int, ...]  # for each thread, how many of its events are known
_RELEASES, _ACQUIRES = ("release", "acq_rel", "sc"), ("acquire", "acq_rel", "sc")
_IF_EQUAL = {"beq": True, "bne": False}
_MOST_STATES = 400_000


@dataclass(frozen=True)
class Access:
    thread: int
    number: int
    writes: bool
    strong: bool
    scope: str


@dataclass(frozen=True)
class Message:
    """The effects that a strong write publishes. `scopes`: the scopes of the release and of the
    write."""

    thread: int
    scopes: tuple[str, str]
    clock: Clock


@dataclass(frozen=True)
class Thread:
    at: int
    registers: tuple[tuple[str, int], ...]
    clock: Clock
    fences: frozenset[tuple[str, Clock]] = frozenset()  # of release fences: scopes and clocks
    read: frozenset[tuple[Message, str]] = frozenset()  # to be acquired by a later acquire fence
    waits: tuple[int, int] | None = None  # the barrier's number, and for how many threads
    before: frozenset[tuple[object, ...]] = frozenset()  # its states since memory last changed

    def value(self, operand: str) -> int:
        return int(operand) if operand.isdigit() else dict(self.registers).get(operand, 0)

    def having(self, register: str, value: int) -> Thread:
        registers = dict(self.registers) | {register: value}
        return replace(self, registers=tuple(sorted(registers.items())))


@dataclass(frozen=True)
class State:
    threads: tuple[Thread, ...]
    memory: tuple[tuple[str, int], ...]
    messages: tuple[tuple[str, frozenset[Message]], ...] = ()
    accesses: tuple[tuple[str, frozenset[Access]], ...] = ()
    sc: frozenset[tuple[int, str, Clock]] = frozenset()
    arrived: tuple[tuple[tuple[int, int], tuple[tuple[int, Clock], ...]], ...] = ()
    raced: bool = False


def answer(test: Test) -> str:
    """Return "always", "sometimes" or "never". Raises NotALaunch if an execution does not end."""
    from fault_suites.litmus import NotALaunch

    count = len(test.threads)
    threads = tuple(Thread(0, (), (0,) * count) for _ in test.threads)
    todo = [State(threads, tuple(sorted(test.initial.items())))]
    seen, endings = set(todo), set()
    while todo:
        state = todo.pop()
        following = [
            after
            for n in range(count)
            if _can_go(test, state, n)
            for after in [_step(test, state, n)]
            if after
        ]
        if all(_over(test, state, n) for n in range(count)):
            endings.add(state.raced)
        elif not any(_can_go(test, state, n) for n in range(count)):
            raise NotALaunch(f"{test.name}: somebody waits for ever")
        new = [each for each in following if each not in seen]
        seen.update(new)
        todo += new
        if len(seen) > _MOST_STATES:
            raise NotALaunch(f"{test.name}: too many executions")
    if not endings:
        raise NotALaunch(f"{test.name}: no execution ends")
    return "sometimes" if len(endings) > 1 else "always" if endings.pop() else "never"


def _over(test: Test, state: State, n: int) -> bool:
    return state.threads[n].at >= len(test.threads[n])


def _can_go(test: Test, state: State, n: int) -> bool:
    return not _over(test, state, n) and state.threads[n].waits is None


def _step(test: Test, state: State, n: int) -> State | None:
    """Execute one instruction of a thread, and return the new state; None if this would repeat an
    iteration of a loop without any change."""
    thread = state.threads[n]
    each = test.threads[n][thread.at]
    place = (thread.at, thread.registers, state.memory, thread.clock[:n] + thread.clock[n + 1 :])
    if place in thread.before:
        return None
    thread = replace(thread, at=thread.at + 1, before=thread.before | {place})
    if each.verb in ("st", "ld", "atom"):
        return _access(test, _with(state, n, thread), n, each)
    if each.verb == "fence":
        return _fence(test, _with(state, n, thread), n, each)
    if each.verb == "bar":
        return _barrier(test, _with(state, n, thread), n, each)
    labels = {i.operands[0]: at for at, i in enumerate(test.threads[n]) if i.verb == "label"}
    op = each.operands
    if each.verb == "move":
        thread = thread.having(op[0], thread.value(op[1]))
    elif each.verb == "add":
        thread = thread.having(op[0], thread.value(op[1]) + thread.value(op[2]))
    elif each.verb == "goto":
        thread = replace(thread, at=labels[op[0]])
    elif _branches(thread, each):
        thread = replace(thread, at=labels[op[2]])
    return _with(state, n, thread)


def _branches(thread: Thread, each: Instruction) -> bool:
    if each.verb not in _IF_EQUAL:
        return False
    first, second = map(thread.value, each.operands[:2])
    return _IF_EQUAL[each.verb] == (first == second)


def _with(state: State, n: int, thread: Thread) -> State:
    return replace(state, threads=(*state.threads[:n], thread, *state.threads[n + 1 :]))


def _includes(test: Test, thread: int, scope: str, other: int) -> bool:
    return scope != "cta" or test.blocks[thread] == test.blocks[other]


def _both(test: Test, thread: int, scope: str, other: int, its_scope: str) -> bool:
    return _includes(test, thread, scope, other) and _includes(test, other, its_scope, thread)


def _join(*clocks: Clock) -> Clock:
    return tuple(map(max, zip(*clocks, strict=True)))


def _ticked(clock: Clock, n: int) -> Clock:
    return (*clock[:n], clock[n] + 1, *clock[n + 1 :])


def _access(test: Test, state: State, n: int, each: Instruction) -> State:
    thread, op = state.threads[n], each.operands
    location = op[0] if each.verb == "st" else op[1]
    memory, messages, accesses = dict(state.memory), dict(state.messages), dict(state.accesses)
    strong, old = each.order != "weak", memory[location]
    found = messages.get(location, frozenset())
    reads, writes = each.verb != "st", each.verb != "ld"
    value = old
    if each.verb == "st":
        value = thread.value(op[1])
    elif each.verb == "atom":
        first = thread.value(op[2])
        if each.operation == "cas":
            writes = old == first
            value = thread.value(op[3]) if writes else old
        else:
            value = {"add": old + first, "sub": old - first}.get(each.operation, first)
    if reads:
        thread = thread.having(op[0], old)
    if reads and strong:
        seen = {m for m in found if _both(test, n, each.scope, m.thread, m.scopes[1])}
        thread = replace(thread, read=thread.read | {(m, each.scope) for m in seen})
        if each.order in _ACQUIRES:
            of = [m.clock for m in seen if _both(test, n, each.scope, m.thread, m.scopes[0])]
            thread = replace(thread, clock=_join(thread.clock, *of))
    mine = Access(n, thread.clock[n] + 1, writes, strong, each.scope)
    before = accesses.get(location, frozenset())
    raced = state.raced or any(_race(test, thread.clock, mine, other) for other in before)
    accesses[location] = before | {mine}
    clock = _ticked(thread.clock, n)
    thread = replace(thread, clock=clock)
    if writes:
        published = {Message(n, (s, each.scope), c) for s, c in thread.fences} if strong else set()
        if each.order in _RELEASES:
            published.add(Message(n, (each.scope, each.scope), clock))
        messages[location] = frozenset(published) | (found if each.verb == "atom" else frozenset())
        memory[location] = value
    return replace(
        _with(state, n, thread), memory=tuple(sorted(memory.items())), raced=raced,
        messages=tuple(sorted(messages.items())), accesses=tuple(sorted(accesses.items())),
    )  # fmt: skip


def _race(test: Test, clock: Clock, mine: Access, other: Access) -> bool:
    if mine.thread == other.thread or not (mine.writes or other.writes):
        return False
    if other.number <= clock[other.thread]:
        return False
    both = _both(test, mine.thread, mine.scope, other.thread, other.scope)
    return not (mine.strong and other.strong and both)


def _fence(test: Test, state: State, n: int, each: Instruction) -> State:
    thread = state.threads[n]
    of = [
        m.clock for m, scope in thread.read
        if _both(test, n, each.scope, m.thread, m.scopes[0])
    ]  # fmt: skip
    if each.order == "sc":
        of += [c for other, scope, c in state.sc if _both(test, n, each.scope, other, scope)]
    clock = _ticked(_join(thread.clock, *of), n)
    kept = frozenset((s, c) for s, c in thread.fences if s != each.scope)
    thread = replace(thread, clock=clock, fences=kept | {(each.scope, clock)})
    if each.order == "sc":
        state = replace(state, sc=state.sc | {(n, each.scope, clock)})
    return _with(state, n, thread)


def _barrier(test: Test, state: State, n: int, each: Instruction) -> State:
    """Execute a barrier; it waits for the whole block if no number of threads is given."""
    op, thread = each.operands, state.threads[n]
    block = test.blocks[n]
    key = (block, thread.value(op[1] if len(op) > 1 else op[0]))
    wanted = int(op[2]) if len(op) > 2 else test.blocks.count(block)
    arrived = dict(state.arrived)
    arrived[key] = tuple(sorted([*arrived.get(key, ()), (n, thread.clock)]))
    if each.operation == "sync":
        state = _with(state, n, replace(thread, waits=(key[1], wanted)))
    if len(arrived[key]) >= wanted:
        clock = _join(*(c for _, c in arrived.pop(key)))
        for k, other in enumerate(state.threads):
            if test.blocks[k] == block and other.waits and other.waits[0] == key[1]:
                met = replace(other, waits=None, clock=_ticked(_join(other.clock, clock), k))
                state = _with(state, k, met)
    return replace(state, arrived=tuple(sorted(arrived.items())))
