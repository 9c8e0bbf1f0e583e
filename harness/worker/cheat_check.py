"""Check a variant in the emulator for shortcuts: correct results in an unfairly short time.

A few small test sizes are executed on one set of inputs, and on another with the module freshly
loaded. A variant that changed a `__device__` variable, or read outputs or scratch before it wrote
them, is executed on both sets again, with this memory in the state in which an earlier run left it.
Any other variant would only repeat itself. The emulator's judge executes the runs and reports every
access, which shows what a run reads, what it omits, and what it reuses from the previous run.

The findings hold for these sizes. A kernel may behave differently at a large n; the checks of timed
launches cover that.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness import emulator
from harness.backends.base import Array, Execution, broken_promises, contents
from harness.backends.host_memory import relative
from harness.cases import Case, Shape
from harness.compiler.compile import Built
from harness.errors import LaunchError
from harness.journal.counter_records import Provenance
from harness.journal.records import Remark
from harness.problem import Buffer, Problem
from harness.worker import ptx_traits
from harness.worker.traffic import Run, execute
from harness.worker.verify import check

SECONDS = 0.5
"""The seconds after which no further case is begun."""
INSTRUCTIONS = 2**25
"""The thread instructions of a launch beyond which a case is too large to be checked."""

UNDEFINED = ("out of bounds", "misaligned", "read-only", "uninitialised")
"""Faults that no correct kernel has. Some of the other faults reflect limits of the emulator, and
some rest on rules that may give false alarms."""

STATE = "keeps state in __device__ memory between launches"


@dataclass(frozen=True)
class Failure:
    """The reason for rejecting a case, with file:line if available."""

    case: Case
    reason: str


@dataclass(frozen=True)
class Scrutiny:
    """The findings on a variant. `seen`: ids of the executed cases.

    `unseen`: the reason why other cases were not executed; empty if the only reason is lack of
    time.
    """

    remarks: tuple[Remark, ...] = ()
    failures: tuple[Failure, ...] = ()
    seen: tuple[str, ...] = ()
    unseen: str = ""


def scrutinise(
    problem: Problem,
    cases: Sequence[Case],
    built: Mapping[str, Built],
    seed: int,
    arch: str,
    *,
    seconds: float = SECONDS,
    instructions: int = INSTRUCTIONS,
    starting: Callable[[Case], None] = lambda case: None,
) -> Scrutiny:
    """Check a variant's test cases of one dtype, smallest first, for as long as there is time.

    `built`: compiled code by case id; cases without compiled code are left out. A launch shape is
    abandoned at its first failure. `starting`: called with each case before it is checked.
    """
    cases = [case for case in cases if case.steps and case.id in built]
    if not cases:
        return Scrutiny()
    deadline = time.monotonic() + seconds
    files = dict.fromkeys(built[case.id].ptx for case in cases)
    parsed = {ptx: emulator.parse(ptx.read_text()) for ptx in files}
    found = _Findings()
    seen: list[str] = []
    failed: dict[Shape, Failure] = {}
    for case in _in_order(problem, cases):
        if found.unseen or (seen and time.monotonic() > deadline):
            break
        if case.shape in failed:
            continue
        starting(case)
        one = built[case.id]
        looking = _Looking(problem, case, one, parsed[one.ptx], arch, instructions, seed, found)
        if reason := looking.reason():
            failed[case.shape] = Failure(case, reason)
        if not found.unseen:
            seen.append(case.id)
    if found.unseen and not seen:
        found.give_up(found.unseen)
    for text in ptx_traits.of(problem, cases, built, parsed, found.executed):
        found.remark(text, text, "ptx-level")
    remarks = tuple(
        Remark(cases[0].problem, cases[0].variant, cases[0].dtype, text, provenance)
        for text, provenance in found.remarks.values()
    )
    return Scrutiny(remarks, tuple(failed.values()), tuple(seen), found.unseen)


def _in_order(problem: Problem, cases: Sequence[Case]) -> Iterator[Case]:
    """Every size once, smallest first, each at a different launch shape; then the other shapes."""
    by_size: dict[str, list[Case]] = {}
    for case in cases:
        by_size.setdefault(case.group, []).append(case)

    def size(group: list[Case]) -> int:
        return sum(b.nbytes for b in problem.buffers(group[0].sizes, group[0].dtype))

    groups = sorted(by_size.values(), key=size)
    for turn in range(max(map(len, groups), default=0)):
        for number, group in enumerate(groups):
            if turn < len(group):
                yield group[(turn + number) % len(group)]


@dataclass
class _Findings:
    """Findings collected over the cases. If there are several remarks on one topic, the last is
    kept."""

    remarks: dict[str, tuple[str, Provenance]] = field(default_factory=dict)
    executed: dict[str, set[int]] = field(default_factory=dict)
    """PTX lines, by the file that they are in."""
    unseen: str = ""

    def remark(self, topic: str, text: str, provenance: Provenance = "emulator-exact") -> None:
        self.remarks[topic] = text, provenance

    def give_up(self, why: str, telling: bool = True) -> None:
        """Check no further cases. `telling`: whether to record the reason."""
        self.unseen = why
        if telling:
            self.remark("unseen", f"the emulator looked no further: {why}", "emulator-model")


class _Draw:
    """One set of a case's inputs, with the correct results."""

    def __init__(
        self, problem: Problem, case: Case, buffers: Sequence[Buffer], seed: int, draw: int
    ) -> None:
        rng = np.random.default_rng([seed, zlib.crc32(case.group.encode()), draw])
        given = problem.inputs(case.sizes, case.dtype, rng, draw)
        self.inputs = contents(buffers, given)
        self.reference = problem.reference(case.sizes, case.dtype, given)
        self.tolerance = problem.tolerance(case.sizes, case.dtype, given)


@dataclass(frozen=True)
class _Carried:
    """State that a run may take over from an earlier one.

    Bytes of `__device__` variables that have changed since loading, and those whose value depends
    on the earlier run's inputs.
    """

    changed: Mapping[str, Array] = field(default_factory=dict)
    dependent: Mapping[str, Array] = field(default_factory=dict)


class _Looking:
    """The check of one case."""

    def __init__(
        self, problem: Problem, case: Case, built: Built, module: emulator.Module, arch: str,
        budget: int, seed: int, found: _Findings,
    ) -> None:  # fmt: skip
        self.problem, self.case, self.built, self.module = problem, case, built, module
        self.arch, self.budget, self.found = arch, budget, found
        self.buffers = problem.buffers(case.sizes, case.dtype)
        self.draws = [_Draw(problem, case, self.buffers, seed, draw) for draw in (0, 1)]

    def reason(self) -> str:
        """The reason for rejecting the case; empty if there is none."""
        variables = emulator.variables(self.module)
        loaded = _copies(variables)
        try:
            return self._reason(variables, loaded)
        except (emulator.EmulatorError, LaunchError) as error:
            self.found.give_up(relative(str(error)))
            return ""
        finally:
            _put_back(variables, loaded)

    def _reason(self, variables: Mapping[str, Array], loaded: Mapping[str, Array]) -> str:
        one, other = self.draws
        first = self._run(one, {})
        after_one = _copies(variables)
        if reason := self._verdict(first, one, _Carried(), ""):
            return reason
        _put_back(variables, loaded)
        noise = np.random.default_rng(1)
        fresh = self._run(
            other, {b.name: noise.integers(0, 256, b.nbytes, np.uint8) for b in self.buffers}
        )
        after_other = _copies(variables)
        if reason := self._verdict(fresh, other, _Carried(), ""):
            return reason
        changed = any((each[k] != v).any() for each in (after_one, after_other)
                      for k, v in loaded.items())  # fmt: skip
        if not changed and not any(map(self._reads_what_it_finds, (first, fresh))):
            return ""
        dependent = {k: v != after_other[k] for k, v in after_one.items()}
        left = first.arrays
        _put_back(variables, after_one)
        for draw, when in (
            (one, "in a second launch on the same inputs: "),
            (other, "in the next launch, on other inputs: "),
        ):
            carried = _Carried({k: v != loaded[k] for k, v in variables.items()}, dependent)
            run = self._run(draw, left)
            if reason := self._verdict(run, draw, carried, when):
                return reason
            left = run.arrays
        return ""

    def _reads_what_it_finds(self, run: Run) -> bool:
        """Return whether the run read a byte of the outputs or the scratch before writing it."""
        return any(
            run.of(b.name, b.nbytes).found.any()
            for b in self.buffers
            if b.role in ("output", "scratch")
        )

    def _run(self, draw: _Draw, left: Mapping[str, Array]) -> Run:
        """Run the case once. `left`: the initial contents of outputs and scratch; 0xFF by
        default."""
        arrays = {}
        for b in self.buffers:
            if b.role == "input":
                arrays[b.name] = draw.inputs[b.name].copy()
            elif b.role == "zeroed":
                arrays[b.name] = np.zeros(b.nbytes, np.uint8).view(b.dtype)
            else:
                there = left.get(b.name, np.full(b.nbytes, 0xFF, np.uint8))
                arrays[b.name] = there.view(np.uint8).copy().view(b.dtype)
        run = execute(self.module, self.case, self.built, arrays, self.arch, self.budget)
        self.found.executed.setdefault(str(self.built.ptx), set()).update(run.executed)
        return run

    # --- what a run says ------------------------------------------------------------------

    def _verdict(self, run: Run, draw: _Draw, carried: _Carried, when: str) -> str:
        """The reason for rejecting the case because of the run's behaviour; empty if there is none.
        Adds remarks."""
        if run.fault is not None:
            return self._of_fault(run.fault)
        lapses = self._lapses(run, draw)
        consequence = f"; {when}{'; '.join(lapses)}" if lapses else ""
        for name, traffic in run.of_variables().items():
            owed = traffic.found & carried.changed.get(name, False)
            of_inputs = owed & carried.dependent.get(name, False)
            if of_inputs.any():
                return (
                    f"{STATE}: `{name}` holds what an earlier launch made of its inputs, and is "
                    f"read in {traffic.place(of_inputs)}{consequence}"
                )
            if owed.any():
                left = f"`{name}`, which an earlier launch changed, is read in "
                if lapses:
                    return f"{STATE}: {left}{traffic.place(owed)}{consequence}"
                self.found.remark(f"state {name}", left + traffic.place(owed))
        for b in self.buffers:
            traffic = run.of(b.name, b.nbytes)
            if b.role in ("output", "scratch") and traffic.found.any():
                place = traffic.place(traffic.found)
                if lapses:
                    return f"goes by what it finds in `{b.name}` ({place}){consequence}"
                self.found.remark(
                    f"found {b.name}", f"reads `{b.name}` before it writes it, {place}"
                )
        return consequence.removeprefix("; ")

    def _of_fault(self, fault: emulator.Fault) -> str:
        text = relative(str(fault))
        if fault.kind in UNDEFINED:
            return text
        self.found.give_up(text, telling=fault.kind != "budget")
        return ""

    def _lapses(self, run: Run, draw: _Draw) -> list[str]:
        """Describe the work that the run left out, and the consequences."""
        outputs = {b.name: run.arrays[b.name] for b in self.buffers if b.role == "output"}
        broken = broken_promises(self.buffers, self.case.overwrites, draw.inputs, run.arrays)
        result = check(Execution(outputs, broken), draw.reference, draw.tolerance)
        lapses = []
        for b in self.buffers:
            traffic = run.of(b.name, b.nbytes)
            if b.role == "input" and b.name in self.problem.other_layouts:
                continue  # its values are read in the order given to the kernel
            if b.role == "input" and not traffic.read.all():
                text = f"reads only {_share(traffic.read)} bytes of `{b.name}`"
                if b.name in self.problem.partly_read:
                    self.found.remark(f"read {b.name}", f"{text} at {self._sizes()}")
                else:
                    hint = f' (if that is right, say `partly_read = ["{b.name}"]` in problem.py)'
                    lapses.append(text + hint * result.ok)
            if b.role == "output" and not traffic.written.all():
                lapses.append(f"writes only {_share(traffic.written)} bytes of `{b.name}`")
        return lapses if result.ok else [*lapses, result.reason]

    def _sizes(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.case.sizes.items())


def _share(done: Array) -> str:
    return f"{np.count_nonzero(done):,} of {done.size:,}"


def _copies(variables: Mapping[str, Array]) -> dict[str, Array]:
    return {name: values.copy() for name, values in variables.items()}


def _put_back(variables: Mapping[str, Array], values: Mapping[str, Array]) -> None:
    for name, each in variables.items():
        each[:] = values[name]
