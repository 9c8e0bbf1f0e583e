"""Determine what to redo in a folder that already has results: what changed, and what it affects.

A case is redone if anything that determines its result differs: a source or header, problem.py, the
matrix's entry for it, the compiler, the part of the harness that makes the result and, for timed
cases, the driver. Comparisons are made within rounds, so if one case of a group is timed again, so
are the group's other cases; their verification results stay.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from harness.cases import Case, Shape, how_many
from harness.compiler import compile as compiler
from harness.compiler import toolchain
from harness.compiler.functions import host
from harness.errors import CompileError
from harness.files import includes, python_packages, source_text
from harness.files import statements as statements_of
from harness.files.beside_bytecode import kept
from harness.files.python_packages import version_of
from harness.journal.records import Outcome, Planned, Record, Renewed
from harness.matrix import model
from harness.problem import uses

_PYTHON = ("torch", "triton")
"""Packages that affect the speed of a Python function."""
_VERSIONS = ("nvcc", "driver", *_PYTHON)
_SHORT = 16
"""The number of characters of a hash that are kept, enough to make a collision implausible."""


HARNESS = Path(__file__).parents[1]
_ALWAYS = (
    "compiler", "backends/base.py", "worker/inputs.py", "worker/verify.py", "worker/qualify.py",
)  # fmt: skip
_TIMED = ("backends/cuda", "worker/timing.py", "measure/rounds.py")
_EMULATED = (
    "backends/emulated.py", "backends/host_memory.py", "backends/machine_code.py", "emulator",
    "silicon", "worker/counting.py", "worker/cheat_check.py", "worker/traffic.py",
)  # fmt: skip
CODE = (".py", ".cu", ".cuh", ".cpp", ".h")


@cache
def harness_hash(is_timed: bool) -> str:
    """Hash the harness's own files that affect a result: those that compile, launch, time, count
    or verify.

    Files that only plan, read, compare or draw are not included, because they use only the journal.
    The cheat check of a timed run also uses the emulator. The check decides whether a case is
    valid, not how long it takes, so changes to it do not invalidate times.
    """
    files = list(harness_files(is_timed))
    contents = hashlib.sha256()
    for file in (Path(__file__), Path(statements_of.__file__), *files):
        contents.update(hashlib.sha256(file.suffix.encode() + file.read_bytes()).digest())

    def make() -> str:
        """Parse and hash every file."""
        hashes = sorted(map(statements_hash, files))
        return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:_SHORT]

    return kept(__file__, f"harness-{is_timed}", contents.digest(), make)


def statements_hash(file: Path) -> str:
    """Hash a file's statements, ignoring its name, comments and docstrings, which affect no
    result."""
    text = statements_of.statements(file.read_text(), file.suffix)
    return hashlib.sha256(text.encode()).hexdigest()[:_SHORT]


def harness_files(is_timed: bool) -> Iterator[Path]:
    for part in (*_ALWAYS, *(_TIMED if is_timed else _EMULATED)):
        path = HARNESS / part
        every = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (file for file in every if file.suffix in CODE)


class Origins:
    """The inputs of each case's result; files are read once.

    `driver`: the driver of a timed run, or None. A new driver may change the times of the same
    code.
    """

    def __init__(
        self, bench: model.Bench, tests: Sequence[Case], arch: str, is_timed: bool,
        driver: str | None = None,
    ) -> None:  # fmt: skip
        self._bench, self._arch = bench, arch
        self._around = {"harness": harness_hash(is_timed)}
        if driver and is_timed:
            self._around["driver"] = driver
        self._tests: dict[Shape, list[Case]] = defaultdict(list)
        for test in tests:
            self._tests[test.shape].append(test)
        self._hashes: dict[Path, str] = {}
        self._programs: dict[Path, str] = {}
        self._included: dict[tuple[Path, tuple[Path, ...]], tuple[Path, ...]] = {}

    def of(self, case: Case, counted: bool = True) -> dict[str, str]:
        """File, `bench.yaml`, `nvcc`, `driver` or `harness` → its hash or version.

        `counted`: whether the emulator counts the case, which a limit of bench.yaml decides.
        """
        kernels = self._bench.kernels
        program = kernels / case.problem / "problem.py"
        found = {_name(program, kernels): self._program_hash(program)}
        found |= {_name(path, kernels): self._hash(path) for path in self._files(case)}
        for folder in filter(python_packages.is_inside, case.include):
            found[python_packages.named(folder)] = python_packages.version(folder)
        # `builds_on` decides the comparison, not the case's own result.
        tests = [replace(test, builds_on="") for test in self._tests[case.shape]]
        baseline = self._bench.problems[case.problem].baseline
        said = repr([replace(case, builds_on=""), tests, baseline, counted])
        found["bench.yaml"] = hashlib.sha256(said.encode()).hexdigest()[:_SHORT]
        if case.target:
            found["target"] = self._arch + case.target
        if case.kind in ("kernel", "host"):
            found["nvcc"] = _nvcc()
        else:
            found |= {name: version for name in _PYTHON if (version := version_of(name))}
        return found | self._around

    def _files(self, case: Case) -> Iterable[Path]:
        kernels = self._bench.kernels
        if case.kind == "python":  # which may import other files of its folder
            file = kernels / case.problem / case.function.partition(":")[0]
            beside = (path for path in file.parent.rglob("*.py") if path.name != "problem.py")
            return dict.fromkeys([file, *sorted(beside)])
        if case.kind == "library" or not case.source:
            return []
        make = compiler.unit if case.kind == "kernel" else host.unit
        unit = make(case, kernels, self._arch)
        # A package's headers change with its version, as the toolkit's do.
        packages = {
            python_packages.folder_of(each)
            for each in filter(python_packages.is_inside, case.include)
        }
        own = tuple(folder for folder in unit.include if folder not in packages)
        found: dict[Path, None] = {}
        for source in (*unit.sources, unit.source):
            found |= dict.fromkeys(self._with_headers(source, own))
        return found

    def _with_headers(self, source: Path, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        """The file and all of the user's own files that it may include. The toolkit's headers
        change with its version."""
        key = source, folders
        if key not in self._included:
            self._included[key] = includes.included(source, folders)
        return self._included[key]

    def _program_hash(self, program: Path) -> str:
        """Hash a problem.py and what it uses; its own hash if it uses nothing else."""
        if program not in self._programs:
            kernels, used = self._bench.kernels, uses.files_of(program.parent)
            own = self._hash(program)
            said = repr([own, *((_name(path, kernels), self._hash(path)) for path in used)])
            whole = hashlib.sha256(said.encode()).hexdigest()[:_SHORT]
            self._programs[program] = whole if used else own
        return self._programs[program]

    def _hash(self, path: Path) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = source_text.sha256(path.read_bytes())[:_SHORT]
            except OSError:
                self._hashes[path] = "missing"
        return self._hashes[path]


def launched(case: Case, seed: int) -> str:
    """Hash a case's launches and their data; two variants with the same launches have the same
    hash."""
    steps = [(s.grid, s.block, s.cluster, s.shared_bytes, s.args) for s in case.steps]
    own = (case.function.rpartition(":")[2], case.args, case.let) if case.function else ()
    inputs = case.problem, case.sizes, case.dtype, case.overwrites, seed
    said = repr([case.kind, steps, own, inputs])
    return hashlib.sha256(said.encode()).hexdigest()[:_SHORT]


def _name(path: Path, kernels: Path) -> str:
    """The path as users know it: relative to the folder of all problems if the file is inside that
    folder."""
    full = path.resolve()
    below = full.is_relative_to(kernels.resolve())
    return str(full.relative_to(kernels.resolve())) if below else str(full)


def _nvcc() -> str:
    try:
        return toolchain.find().version
    except CompileError:
        return "missing"


def changes(
    plan: Sequence[Planned],
    known: Iterable[Record],
    chosen: Collection[str],
    timed: Collection[str],
    limits: Mapping[str, float],
) -> list[Renewed]:
    """Determine which cases have to be repeated; none if the folder is empty.

    `plan`: every case of the run, as it is now. `known`: the valid records so far. `chosen`: the
    cases to work on. `timed`: those of them that are timed. `limits`: the current limits in
    bench.yaml.
    """
    before: dict[str, Planned] = {}
    ended: dict[str, Outcome] = {}
    for record in known:
        if isinstance(record, Planned):
            before[record.case] = record
        elif isinstance(record, Outcome):
            ended[record.case] = record
    if not before:
        return []
    now = {planned.case: planned for planned in plan}
    found = {
        case: renewed(p, "gone", "no longer in the matrix")
        for case, p in before.items()
        if case not in now
    }
    for case in chosen:
        if case not in before:
            found[case] = renewed(now[case], "case", "new")
        elif why := differences(before[case], now[case]) or _another_try(ended.get(case), limits):
            found[case] = renewed(now[case], "case", why)
    touched = {_group(now[case]) for case in timed if case in found or case not in ended}
    for case, planned in now.items():
        was = ended.get(case)
        if case not in found and was and was.status == "ok" and _group(planned) in touched:
            found[case] = renewed(planned, "times", "timed together with what changed")
    return list(found.values())


def differences(before: Planned, now: Planned) -> str:
    """A clause that states the differences between the old and new sources of a case's result;
    empty if there are none."""
    keys = dict.fromkeys((*before.made_from, *now.made_from))
    changed = [key for key in keys if before.made_from.get(key) != now.made_from.get(key)]
    if len(changed) == 1 and changed[0] in _VERSIONS:
        [key] = changed
        return f"{key} {before.made_from.get(key, 'not known')} → {now.made_from.get(key, 'none')}"
    return f"{', '.join(changed)} changed" if changed else ""


def _another_try(was: Outcome | None, limits: Mapping[str, float]) -> str:
    """The reason why a case with unchanged sources is tried again; empty if it is not tried
    again."""
    if was is None:
        return ""
    raised = [f"{name} {then:g} → {limits[name]:g}" for name, then in was.limits.items()
              if limits.get(name, then) > then]  # fmt: skip
    if raised:
        return f"limits: {', '.join(raised)}"
    return f"another try after: {was.reason.splitlines()[0]}" if was.again else ""


def said(renewed: Sequence[Renewed], kept: int) -> Iterator[str]:
    """Lines for the terminal that say what is repeated and why."""
    by_reason: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for each in renewed:
        if each.what != "times":
            name = f"{each.problem}/{each.variant}"
            by_reason[each.what, each.reason][name] = None
    for (what, reason), names in by_reason.items():
        start = "left out" if what == "gone" else "anew"
        yield f"{start}: {', '.join(names)} ({reason})"
    if again := sum(each.what == "times" for each in renewed):
        yield f"timed again beside them: {how_many(again)} of the same sizes"
    yield f"kept: {how_many(kept)}"


def renewed(p: Planned, what: str, reason: str) -> Renewed:
    """The record that invalidates a case's earlier records; see Renewed."""
    return Renewed(
        p.case, p.problem, p.variant, p.dtype, p.sizes, p.launch, what, reason,  # type: ignore[arg-type]
    )  # fmt: skip


def _group(p: Planned) -> tuple[str, str, str]:
    return p.problem, p.dtype, str(p.sizes)
