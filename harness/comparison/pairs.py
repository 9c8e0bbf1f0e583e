"""Pair up cases: by name between two runs, by a suffix within one run that has both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.journal.records import Planned
from harness.tables import Run


@dataclass(frozen=True)
class Side:
    """A case of a run."""

    run: Run
    case: str

    @property
    def planned(self) -> Planned:
        return self.run.planned[self.case]


@dataclass(frozen=True)
class Pair:
    """The same case before and after; None if only one side has it."""

    base: Side | None
    new: Side | None

    @property
    def name(self) -> str:
        """The case's name, without the base side's suffix in a run that has both sides."""
        if self.new:
            return self.new.case
        assert self.base is not None
        p, suffix = self.base.planned, suffix_of(self.base.run)
        if not suffix:
            return self.base.case
        return self.base.case.replace(f"/{p.variant}/", f"/{p.variant.removesuffix(suffix)}/", 1)

    @property
    def variant(self) -> str:
        """The variant's name, without the base side's suffix."""
        if self.new:
            return self.new.planned.variant
        assert self.base is not None
        return self.base.planned.variant.removesuffix(suffix_of(self.base.run))


def suffix_of(run: Run) -> str:
    """The suffix of the base variants in a run that has both sides; empty in any other run."""
    return str((run.info.get("beside") or {}).get("suffix", ""))


def between(base: Run, new: Run) -> list[Pair]:
    """The cases of two runs, in the new one's order; cases that only the base has come last."""
    pairs = [
        Pair(Side(base, case) if case in base.planned else None, Side(new, case))
        for case in new.planned
    ]
    gone = [Pair(Side(base, case), None) for case in base.planned if case not in new.planned]
    return pairs + gone


def within(run: Run) -> list[Pair]:
    """The cases of one run that has both sides, interleaved. A library has no other side."""
    suffix = suffix_of(run)
    found: dict[str, Pair] = {}
    ours = [p for p in run.planned.values() if not p.is_library]
    for p in ours:
        if not p.variant.endswith(suffix):
            found[_key(p)] = Pair(None, Side(run, p.case))
    for p in ours:
        if p.variant.endswith(suffix):
            key = _key(replace(p, variant=p.variant.removesuffix(suffix)))
            there = found.get(key)
            found[key] = Pair(Side(run, p.case), there.new if there else None)
    return list(found.values())


def _key(p: Planned) -> str:
    """The key that both cases of a pair share."""
    return repr((p.problem, p.variant, p.dtype, sorted(p.sizes.items()), sorted(p.launch.items())))
