"""Decide whether two sides are identical to the GPU that runs them, or are made from the same
files.

Two sides are identical to a GPU if it loads the same code, constants and initialised variables, and
executes the same launches on the same data: grid, block, cluster, shared memory, arguments, sizes,
type and inputs. For an old journal that lacks these, file hashes are used. If neither is available,
the result is "unknown", which is never treated as identical.
"""

from __future__ import annotations

from typing import Literal

from harness.comparison.pairs import Side, suffix_of
from harness.journal.records import Compiled

Code = Literal["identical", "changed", "unknown"]

_NO_SOURCE = frozenset({"bench.yaml", "driver", "harness"})
"""The parts of a case that are neither compiled sources nor the compiler."""


def same_code(base: Side, new: Side) -> Code:
    """Return whether both execute the same code in the same way, with the same data and inputs."""
    was, now = (side.run.compiled.get(side.case, []) for side in (base, new))
    if not was or not now or not all(made.sass_sha256 for made in (*was, *now)):
        return "unknown"
    if [_executed(made) for made in was] != [_executed(made) for made in now]:
        return "changed"
    same = [_same_data(base, new), same_launches(base, new), _same_inputs(base, new)]
    if False in same:
        return "changed"
    return "unknown" if None in same else "identical"


def is_changed(base: Side, new: Side, code: Code) -> bool:
    """Return whether anything that may affect cost differs; nothing does if all source texts and
    launches agree."""
    if code == "identical":
        return False
    return not (_same_sources(base, new) and same_launches(base, new) and _same_inputs(base, new))


def _executed(made: Compiled) -> tuple[object, ...]:
    return (made.sass_sha256, made.registers, made.stack_bytes, made.threads_per_block,
            made.shared_bytes, made.waves)  # fmt: skip


def _same_data(base: Side, new: Side) -> bool | None:
    """Return whether everything loaded besides the code is the same; None if unknown."""
    was, now = (side.run.compiled[side.case] for side in (base, new))
    if all(made.loaded_sha256 for made in (*was, *now)):
        return [made.loaded_sha256 for made in was] == [made.loaded_sha256 for made in now]
    if [made.cubin_sha256 for made in was] == [made.cubin_sha256 for made in now]:
        return True
    return _same_sources(base, new) or None


def same_launches(base: Side, new: Side) -> bool | None:
    """Return whether both sides' launches and their data are the same; None if unknown."""
    was, now = base.planned, new.planned
    if was.launched and now.launched:
        return was.launched == now.launched
    if base.run is new.run:  # two variants differ in name, and so in bench.yaml's hash
        return None
    said = [planned.made_from.get("bench.yaml") for planned in (was, now)]
    return said[0] == said[1]


def _same_inputs(base: Side, new: Side) -> bool:
    """Return whether both sides have the same inputs. Within one run, both use the current
    problem.py."""
    name = f"{new.planned.problem}/problem.py"
    was, now = (side.planned.made_from.get(name) for side in (base, new))
    return base.run is new.run or was == now


def _same_sources(base: Side, new: Side) -> bool:
    """Return whether the same sources were compiled by the same compiler, as far as both sides
    record it."""
    was, now = _sources(base), _sources(new)
    return bool(was) and was == now


def _sources(side: Side) -> dict[str, str]:
    """File or compiler → its hash or version, with names that are the same on both sides."""
    home = f"{suffix_of(side.run)}/"
    return {
        name.removeprefix(home) if home != "/" else name: known
        for name, known in side.planned.made_from.items()
        if name not in _NO_SOURCE
    }
