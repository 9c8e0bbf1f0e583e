"""The stage of a run that counts its timed cases in the emulator, in two waves.

The first counts what a run without a GPU would, and the stand-ins of larger sizes. What those
executed says which of the larger sizes the second can count as they were timed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.cases import Case
from harness.children import host_memory
from harness.matrix import model, plan
from harness.problem import Problem, Work
from harness.records import Counted, Emulated, Record
from harness.run.compilation import compile_all
from harness.run.emulated import sizes as size_rules
from harness.run.emulated.counting import emulated
from harness.run.hands import Hands
from harness.run.known import Known
from harness.run.processes import Workers
from harness.run.site import Keeper, Piece, Setting, Site
from harness.run.slots import Slots, on_this_machine
from harness.silicon.architectures import is_known

EXECUTED = "smsp__thread_inst_executed.sum"

ANOTHER_SHAPE = "at its own size only the fastest and the slowest launch shape are counted"
"""Of each variant: those that explain a time."""

NO_SIZE = (
    "no size of the matrix is small enough to be emulated: one within limits.emulate_bytes and "
    "emulate_flops, under sizes.bench, stands for the larger ones"
)


@dataclass(frozen=True)
class Surroundings:
    """What the stage needs of the run. matrix: with all sizes, whichever were chosen."""

    setting: Setting
    matrix: model.Bench
    problems: Mapping[str, Problem]
    hands: Hands
    known: Known
    workers: Workers
    keep: Callable[[Record], None]


def count(run: Surroundings, sound: Iterable[Case]) -> None:
    """Count what has no counters yet, each case that can be; the others have a reason."""
    left = [c for c in sound if c.kind == "kernel" and not run.known.is_emulated(c.id)]
    if why := _impossible(run.setting):
        for case in left:
            run.keep(emulated(case, None, None, why))
        return
    Stage(run, left).carry_out()


def _impossible(setting: Setting) -> str:
    device = setting.device
    if not device.runs_machine_code:
        return (
            f"the card runs what its driver makes of PTX for {device.arch}, "
            "which the emulator does not have"
        )
    if not is_known(device.arch):
        return f"the emulator knows nothing of the architecture {device.arch}"
    return ""


@dataclass
class _Held:
    """Keeps back what is told of a group until it is known whether all of it could be counted."""

    records: dict[str, list[Record]]

    def keep(self, record: Record) -> None:
        self.records[getattr(record, "case", "")].append(record)


class Stage:
    """The timed cases of a run that are still to be counted."""

    def __init__(self, run: Surroundings, left: Sequence[Case]) -> None:
        self._run, self._left = run, left
        self._works: dict[str, Work] = {}
        self._stand_ins: dict[str, Case | str] = {}
        """Timed case → the smaller one that is counted for it, or why there is none."""
        setting = replace(
            run.setting, backend="emulator", fresh=0, device=replace(run.setting.device, room=None)
        )
        self._site = Site(setting, run.known, {}, run)
        self._site.workers = run.workers
        for case in left:
            self._work(case)

    def carry_out(self) -> None:
        own = [c for c in self._left if self._is_within(c)]
        large = [c for c in self._left if not self._is_within(c)]
        self._stand_ins = {case.id: self._stand_in(case) for case in large}
        own += [c for c in large if c == self._stand_ins[c.id]]
        large = [c for c in large if c not in own]
        instead = [c for c in self._stand_ins.values() if isinstance(c, Case)]
        for case in instead:
            self._work(case)
        self._compile([*own, *large, *instead])
        self._first_wave(own, large)
        self._second_wave(large)

    # Which size

    def _is_within(self, case: Case) -> bool:
        return size_rules.is_within(self._work(case), self._run.setting.limits)

    def _work(self, case: Case) -> Work:
        if case.group not in self._works:
            problem = self._run.problems[case.problem]
            self._works[case.group] = problem.work(case.sizes, case.dtype)
        return self._works[case.group]

    def _stand_in(self, case: Case) -> Case | str:
        """The same variant and launch shape at the size that is counted instead, or why none is."""
        problem = self._run.problems[case.problem]
        every = self._run.matrix.problems[case.problem].sizes.bench
        works = [(size, problem.work(size, case.dtype)) for size in every]
        found = size_rules.stand_in(case.sizes, works, self._run.setting.limits)
        if found is None:
            return NO_SIZE
        there = plan.cases_at(self._run.matrix, self._run.setting.device, case.problem, [found])
        for each in there:
            if each.shape == case.shape:
                why = each.skip or each.refusal
                return f"at {_text(found)}: {why}" if why else each
        return f"the matrix does not have it at {_text(found)}"

    # What is counted

    def _compile(self, cases: Iterable[Case]) -> None:
        """From the cache, all that was timed; a stand-in that is other code is none."""
        setting = self._run.setting
        made = compile_all({c.id: c for c in cases}.values(), setting.kernels, setting.device.arch)
        self._site.built.update(made.built)
        for name, case in self._stand_ins.items():
            if isinstance(case, Case):
                mine, its = made.built.get(name), made.built.get(case.id)
                if mine is None or its is None or mine.cubin_sha256 != its.cubin_sha256:
                    self._stand_ins[name] = f"at {_text(case.sizes)} it is other machine code"

    def _first_wave(self, own: Sequence[Case], large: Sequence[Case]) -> None:
        instead = [c for c in self._stand_ins.values() if isinstance(c, Case)]
        known = self._run.known
        self._count("emulate", [
            c for c in {c.id: c for c in (*own, *instead)}.values()
            if c.id in self._site.built and not known.is_emulated(c.id)
        ], self._run)  # fmt: skip
        for case in large:
            if isinstance(lacking := self._stand_ins[case.id], str):
                self._run.keep(emulated(case, None, None, lacking))

    def _second_wave(self, large: Sequence[Case]) -> None:
        """Groups at their own size, as far as that is quick; each wholly or not at all."""
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in large:
            if self._counted_instead(case):
                groups[case.group].append(case)
            elif isinstance(instead := self._stand_ins[case.id], Case):
                failed = self._run.known.emulated.get(instead.id)
                why = failed.reason if failed else "it was interrupted"
                self._run.keep(emulated(case, None, None, f"at {_text(instead.sizes)}: {why}"))
        explaining = {name: self._explaining(cases) for name, cases in groups.items()}
        slow = {name: self._too_slow(cases) for name, cases in explaining.items()}
        quick = [case for name, cases in explaining.items() if not slow[name] for case in cases]
        held = _Held(defaultdict(list))
        self._site.slots = self._slots_for(quick)
        self._count("at the timed size", quick, held)
        for name, cases in groups.items():
            reason = slow[name] or _failure(held, explaining[name])
            self._settle(cases, [] if reason else explaining[name], reason or ANOTHER_SHAPE, held)

    def _settle(self, cases: Sequence[Case], at_own: Sequence[Case], why: str, held: _Held) -> None:
        """What was counted at its own size is kept; for the others their stand-ins stand."""
        for case in cases:
            instead = self._stand_ins[case.id]
            if case in at_own:
                for record in held.records[case.id]:
                    self._run.keep(record)
            elif isinstance(instead, Case):
                self._run.keep(emulated(case, instead, self._work(instead), why))

    def _counted_instead(self, case: Case) -> bool:
        instead = self._stand_ins[case.id]
        return isinstance(instead, Case) and self._run.known.is_emulated(instead.id)

    def _explaining(self, cases: Sequence[Case]) -> list[Case]:
        """Of a group, each variant's fastest and slowest launch shape."""
        timings = self._site.timings(cases)
        wanted: set[str] = set()
        for group, planned in timings.groups.items():
            for variant in dict.fromkeys(p.variant for p in planned):
                found = timings.shape(group, variant), timings.slowest(group, variant)
                wanted |= {p.case for p in found if p}
        return [case for case in cases if case.id in wanted]

    def _too_slow(self, cases: Sequence[Case]) -> str:
        """Why the group is not counted at its own size, or nothing."""
        took: dict[str, float] = defaultdict(float)
        for case in cases:
            instead = self._stand_ins[case.id]
            assert isinstance(instead, Case)
            times = size_rules.times_the_work(self._work(case), self._work(instead))
            took[case.variant] += size_rules.seconds(self._executed(instead), times)
        variant = max(took, key=lambda name: took[name])
        if took[variant] > size_rules.SECONDS:
            return f"at its own size {variant} would take about {took[variant]:,.0f} s to emulate"
        needed, available = self._footprint(cases[0]), host_memory.available()
        if available is not None and needed > available:
            return (
                f"at its own size it would take {needed / 2**30:.0f} GiB of the machine's memory, "
                f"of which {available / 2**30:.0f} are free"
            )
        return ""

    def _executed(self, case: Case) -> float:
        return sum(
            r.value for r in self._run.known.counts
            if isinstance(r, Counted) and r.case == case.id and r.metric == EXECUTED
        )  # fmt: skip

    def _footprint(self, case: Case) -> int:
        buffers = self._run.problems[case.problem].buffers(case.sizes, case.dtype)
        return size_rules.FOOTPRINT * sum(buffer.nbytes for buffer in buffers)

    def _slots_for(self, cases: Sequence[Case]) -> Slots:
        available = host_memory.available()
        if available is None or not cases:
            return on_this_machine(self._site.setting.device)
        return Slots(max(1, available // max(map(self._footprint, cases))))

    def _count(self, title: str, cases: Sequence[Case], keeper: Keeper) -> None:
        if not cases:
            return
        by_variant: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
        for case in cases:
            by_variant[case.problem, case.variant, case.group].append(case)
        self._site.hand_to(keeper)
        self._run.hands.carry_out(title, self._site, [
            Piece("count", f"{problem}/{variant} {_text(each[0].sizes)}", tuple(each),
                  works={case.group: self._work(case) for case in each})
            for (problem, variant, _), each in by_variant.items()
        ])  # fmt: skip


def _failure(held: _Held, cases: Sequence[Case]) -> str:
    """Why a case that a smaller size was counted of was not at its own; empty if all were."""
    for case in cases:
        ends = [r for r in held.records[case.id] if isinstance(r, Emulated)]
        if not ends or not ends[-1].counted:
            why = ends[-1].reason.splitlines()[0] if ends else "interrupted"
            return f"at its own size {case.variant} was not counted: {why}"
    return ""


def _text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
