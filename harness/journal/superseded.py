"""Select the valid records of a journal: those that no later record supersedes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.journal.counter_records import Counted, Emulated, MachineCode, SourceLine, Uncounted
from harness.journal.records import (
    Compiled,
    Conditions,
    Finished,
    Located,
    Outcome,
    Planned,
    Record,
    Remark,
    Renewed,
    Round,
    Verified,
    group_name,
)

AT_TEST_SIZES = ("test", "scrutiny")


def current(records: Iterable[Record]) -> list[Record]:
    """Return the valid records, in order.

    If any record is superseded, the marks that say so come first, then the plan, to which the other
    records refer; a second call on the result therefore changes nothing.
    """
    every = list(records)
    if not any(isinstance(record, Renewed) for record in every):
        return every
    latest: dict[Any, int] = {}
    for index, record in enumerate(every):
        if isinstance(record, Planned):
            latest["planned", record.case] = index
        elif isinstance(record, Renewed):
            latest |= dict.fromkeys(_ended_by(record), index)
    kept = [r for i, r in enumerate(every) if all(i >= latest.get(key, i) for key in _needs(r))]
    return sorted(kept, key=lambda r: (not isinstance(r, Renewed), not isinstance(r, Planned)))


def _ended_by(r: Renewed) -> list[Any]:
    """The keys invalidated when a case is superseded."""
    ended: list[Any] = [("times", r.case)]
    if r.what != "gone":
        ended.append(("group", _group(r)))
    if r.what == "times":
        return ended
    ended += [("case", r.case), "plan"]
    if r.what == "case":
        ended += [("shape", *_shape(r)), ("variant", f"{r.problem}/{r.variant}")]
        ended += [("remarks", r.problem, r.variant, r.dtype)]
    return ended


def _needs(record: Record) -> list[Any]:
    """The keys on which a record depends: the record is valid if no later mark invalidates them."""
    if isinstance(record, Planned):
        return [("planned", record.case), ("case", record.case)]
    if isinstance(record, Compiled | Counted | Uncounted | SourceLine | MachineCode):
        return [("case", record.case)]
    if isinstance(record, Emulated):
        # The counts may be for another size, which has the same sources.
        return [("case", record.case), ("shape", *_shape(record))]
    if isinstance(record, Located):
        return [("times" if record.stage == "measure" else "case", record.case)]
    if isinstance(record, Round | Outcome):
        return [("times", record.case)]
    if isinstance(record, Verified):
        if record.phase in AT_TEST_SIZES:
            return [("shape", *_shape(record))]
        return [("times", _case(record))]
    if isinstance(record, Conditions):
        return [("group", record.group)]
    if isinstance(record, Remark):
        return [("remarks", record.problem, record.variant, record.dtype)]
    if isinstance(record, Finished):
        kind, _, of = record.stage.partition(" ")
        return ["plan"] if kind == "plan" else [("variant", of)]
    return []


def _shape(r: Renewed | Verified | Emulated) -> tuple[str, ...]:
    return r.problem, r.variant, r.dtype, str(r.launch)


def _case(r: Verified) -> str:
    keys = (f"{name}={value}" for name, value in (*r.sizes.items(), *r.launch.items()))
    return "/".join([r.problem, r.variant, r.dtype, *keys])


def _group(r: Renewed) -> str:
    return group_name(r.problem, r.dtype, r.sizes)
