"""The data that a group's cases share: random inputs, the float64 reference, and its bound."""

from __future__ import annotations

import hashlib
import shutil
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.backends.base import Array, Change, Execution, TimedWorkspace, Workspace
from harness.cases import Case
from harness.compiler.compile import Built
from harness.errors import (
    DeviceFault,
    DeviceLost,
    HarnessError,
    LaunchError,
    NotInstalled,
    OutOfMemory,
)
from harness.journal.records import Phase, Verified
from harness.problem import Buffer, Problem, numpy_dtype
from harness.worker.verify import Check, check

DRAWS = (0, 1)
"""The numbers of the two draws (sets of random inputs) on which every test is run. A problem may
generate a different kind of data for each."""


def draws_when_timed(problem: Problem) -> tuple[int, int]:
    """The numbers of the draws on which a timed size is verified: the typical one, then another."""
    return problem.timed_draw, next(d for d in reversed(DRAWS) if d != problem.timed_draw)


def generator(seed: int, *key: Any) -> np.random.Generator:
    """Create a random generator that depends only on the seed and on its purpose."""
    return np.random.default_rng([seed, zlib.crc32(repr(key).encode())])


def drawn(
    problem: Problem, case: Case, seed: int, draw: int, fresh: int = 0
) -> Mapping[str, Array]:
    """One draw of a group's random inputs.

    `fresh`: a number unique to this run, or 0 for inputs that are the same in every run.
    """
    key = (case.group, draw, fresh) if fresh else (case.group, draw)
    return problem.inputs(case.sizes, case.dtype, generator(seed, *key), draw)


class Inputs:
    """One draw of a group's random inputs, with the float64 reference and its bound."""

    def __init__(self, problem: Problem, case: Case, seed: int, draw: int, fresh: int = 0) -> None:
        self.draw, self.is_changed, self._usable = draw, False, False
        self.values = drawn(problem, case, seed, draw, fresh)
        self.reference = problem.reference(case.sizes, case.dtype, self.values)
        self.tolerance = problem.tolerance(case.sizes, case.dtype, self.values)

    @classmethod
    def kept(cls, scratch: Scratch, buffers: Sequence[Buffer], draw: int) -> Inputs:
        """Load the inputs that another process has generated."""
        found = cls.__new__(cls)
        found.draw, found.is_changed, found._usable = draw, False, False
        found.values = scratch.inputs(buffers)
        found.reference = scratch.doubles("reference", buffers)
        found.tolerance = scratch.doubles("bound", buffers)
        return found

    def changed(self, problem: Problem, case: Case, changes: Mapping[str, Change]) -> Inputs:
        """The same draw with new values at some positions, and the correct results for them."""
        other = self._with(changes)
        other.reference = problem.reference(case.sizes, case.dtype, other.values)
        other.tolerance = problem.tolerance(case.sizes, case.dtype, other.values)
        return other

    def with_kept_changes(
        self, scratch: Scratch, buffers: Sequence[Buffer], changes: Mapping[str, Change]
    ) -> Inputs:
        """The changed draw, with the reference and bound that another process has computed."""
        other = self._with(changes)
        other.reference = scratch.doubles(f"{OTHER}reference", buffers)
        other.tolerance = scratch.doubles(f"{OTHER}bound", buffers)
        return other

    def _with(self, changes: Mapping[str, Change]) -> Inputs:
        other = copy(self)
        other.values = with_changes(self.values, changes)
        other.is_changed, other._usable = True, False
        return other

    def verify(
        self, workspace: Workspace, case: Case, built: Built | None, phase: Phase
    ) -> tuple[Verified, Execution]:
        """Run the case once on these inputs, and return whether the result was correct."""
        try:
            execution = workspace.run(case, built, self.draw)
            result = check(execution, self.reference, self.tolerance)
        except (DeviceFault, DeviceLost, NotInstalled, OutOfMemory):
            raise
        except HarnessError as error:
            execution, result = Execution({}), Check(False, str(error))
        self._usable |= result.ok
        return self._verified(case, phase, result), execution

    def verify_on_device(
        self, workspace: TimedWorkspace, case: Case, built: Built | None, phase: Phase
    ) -> Verified:
        """Verify, as far as possible without copying gigabytes back to the host.

        The workspace must have this draw's bounds. The host checks the first case, which shows that
        the reference and the bound are usable. It also checks every result that the device finds
        wrong, because only the host can describe the fault. This takes another launch, and the case
        is correct only if both launches were.
        """
        found: float | str | None = None
        if self._usable:
            with suppress(LaunchError):  # `verify` raises it again
                found = workspace.error(case, built, self.draw)
        if isinstance(found, float):
            return self._verified(case, phase, Check(True, error=found))
        verified, _ = self.verify(workspace, case, built, phase)
        if found and verified.ok:
            return replace(verified, ok=False, reason=f"right in one launch, in another: {found}")
        return verified

    def _verified(self, case: Case, phase: Phase, result: Check) -> Verified:
        return Verified(
            case.problem, case.variant, case.dtype, case.sizes, case.launch,
            phase, self.draw, result.ok, result.reason, result.error,
        )  # fmt: skip


def with_changes(values: Mapping[str, Array], changes: Mapping[str, Change]) -> dict[str, Array]:
    """Return the inputs with the changes applied."""
    return {
        name: _with(array, changes[name]) if name in changes else array
        for name, array in values.items()
    }


def _with(array: Array, change: Change) -> Array:
    changed = np.array(array).reshape(-1)
    changed[change.where] = change.values
    return changed.reshape(np.shape(array))


def by_group(cases: Iterable[Case]) -> Iterable[list[Case]]:
    """Group the cases that share a problem, dtype and sizes, and therefore their inputs."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.group].append(case)
    return groups.values()


OTHER = "other-"
"""The prefix of files that belong to the inputs' other state."""


class Scratch:
    """A group's inputs on disk, which the worker that verifies leaves for the workers that time.

    They are stored as bytes, because NumPy's own format has no entry for types such as bfloat16,
    and are read by mapping, so that no process holds a copy.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hashes(self) -> dict[str, str]:
        """Map each file to the hash of its contents, with which the parent process later compares
        it."""
        files = sorted(self._folder.glob("*.npy"))
        return {f.name: hashlib.sha256(np.memmap(f, np.uint8, "r").data).hexdigest() for f in files}

    def keep(self, kind: str, arrays: Mapping[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            flat = np.ascontiguousarray(array).reshape(-1)
            np.save(self._path(kind, name), flat.view(np.uint8))

    def inputs(self, buffers: Sequence[Buffer]) -> dict[str, Array]:
        return {
            b.name: np.load(self._path("input", b.name), mmap_mode="r").view(numpy_dtype(b.dtype))
            for b in buffers
            if b.role == "input"
        }

    def keep_changes(self, changes: Mapping[str, Change]) -> None:
        """Store the changes that make the inputs' other state; empty if there is no other state."""
        for path in self._folder.glob("places-*.npy"):
            path.unlink()
        self.keep("places", {name: change.where for name, change in changes.items()})
        self.keep("others", {name: change.values for name, change in changes.items()})
        self.keep("changes", {"known": np.array([bool(changes)])})

    def has_changes(self) -> bool:
        """Return whether the changes have been chosen, or are known not to exist."""
        return self._path("changes", "known").exists()

    def changes(self, buffers: Sequence[Buffer]) -> dict[str, Change]:
        return {
            b.name: Change(
                np.load(self._path("places", b.name)).view(np.int64),
                np.load(self._path("others", b.name)).view(numpy_dtype(b.dtype)),
            )
            for b in buffers
            if self._path("places", b.name).exists()
        }

    def keep_bounds(self, inputs: Inputs, of: str = "") -> None:
        """Store the reference and the error bound with which each output is compared.

        `of`: OTHER for the inputs' other state.
        """
        for kind, found in (("reference", inputs.reference), ("bound", inputs.tolerance)):
            self.keep(of + kind, {name: np.asarray(x, np.float64) for name, x in found.items()})

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def has_inputs(self, buffers: Sequence[Buffer]) -> bool:
        return all(self._path("input", b.name).exists() for b in buffers if b.role == "input")

    def has_bounds(self, buffers: Sequence[Buffer], of: str = "") -> bool:
        outputs = [b.name for b in buffers if b.role == "output"]
        return all(self._path(f"{of}bound", name).exists() for name in outputs)

    def doubles(self, kind: str, buffers: Sequence[Buffer]) -> dict[str, Array]:
        """Load the references or bounds of each output, in float64."""
        return {
            b.name: np.load(self._path(kind, b.name), mmap_mode="r").view(np.float64)
            for b in buffers
            if b.role == "output"
        }

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / f"{kind}-{name}.npy"
