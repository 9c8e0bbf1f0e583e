"""Compare the emulator with Nsight Compute's readings on a GPU, launch by launch.

The readings are the `ncu` rows of counters.csv.gz in reports/h200/ and, for sizes that only the
emulator runs by default, in reports/h200/emulated_sizes/. Their cases, found by id in kernels/ and
tests/fidelity/bench.yaml, are compiled and emulated again on the same inputs, as PTX and as machine
code, as far as limits.emulate_bytes allows. Explained differences are listed in
tests/fidelity/exceptions.yaml.
`fidelity_table.py` writes the comparison to a page; tests/test_fidelity.py checks it.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml
from elftools.elf.elffile import ELFFile

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.backends.emulated_device import emulated_device
from harness.backends.machine_code import list_together
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.errors import HarnessError
from harness.journal.counter_records import Counted
from harness.matrix import model, plan
from harness.run.emulated.emulate import by_front_end
from harness.silicon.architectures import architecture
from harness.silicon.occupancy import theoretical_occupancy

ROOT = Path(__file__).resolve().parents[2]
ARCH = "sm_90"
MATRICES = (ROOT / "bench.yaml", ROOT / "tests" / "fidelity" / "bench.yaml")
READINGS = ROOT / "reports" / "h200"
AT_EMULATED_SIZES = READINGS / "emulated_sizes"
COUNTERS = "*/counters.csv*"
EXCEPTIONS = ROOT / "tests" / "fidelity" / "exceptions.yaml"

EXACT, MODEL, PTX, COMPILED = "emulator-exact", "emulator-model", "ptx-level", "compilation"
MACHINE, OF_MACHINE = "machine-exact", "machine code, model"
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
STORE_SECTORS = GLOBAL.format("sectors", "st")
DRAM_READ = "dram__bytes_read.sum"
UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"
"""This counter is 0 for code without branches. There is nothing to compare if the compiler has
removed all branches from the machine code, or if the PTX has no branches."""
FORMED = "flops_"
"""The prefix of derived counters that are not compared: ncu's half-precision count rests on an
assumption that the emulator's count does not need."""
SECTOR_BYTES = 32
PARAMETER_BYTES = 2**13
"""The most bytes that a launch may read from memory beyond its code and requested sectors."""
WITHIN = {STORE_SECTORS: 0.005}
"""Counters that are noisy on hardware, and their relative noise."""
SHORT, IN_TESTS, AT_ALL = 5e7, 1.2e9, 5e9
"""The largest cases to emulate, in thread instructions according to the readings: first those that
tests always emulate, then those that tests emulate if they are the shortest of their variant, then
overall."""
MOST_CHECKED = 2**30
"""Cases with more floating-point operations are counted but not checked for races: the check takes
most of a matrix product's time, and their kernels are checked at smaller sizes."""
FEWEST_REGISTERS = 16
"""A launch gets this many registers per thread, even if ptxas gives its kernel fewer."""
OF_MEMORY = {
    GLOBAL.format(what, op): f"{op} {what}"
    for what in ("requests", "sectors")
    for op in ("ld", "st", "red", "atom")
} | {
    "memory_l1_wavefronts_shared": "wavefronts",
    "memory_l1_wavefronts_shared_ideal": "ideal wavefronts",
}
"""The counters that must have been read for every launch, with their short names."""
THREADS = "smsp__thread_inst_executed.sum"
Readings = Mapping[tuple[str, int], Mapping[str, float]]
"""Case id and step → metric → value."""


@dataclass(frozen=True)
class Compared:
    """One counter of one launch: the emulator's count and Nsight Compute's reading."""

    metric: str
    provenance: str
    ours: float
    theirs: float

    @property
    def to_the_digit(self) -> bool:
        # Readings that are not whole numbers are written to ten digits.
        digits = 0.0 if self.theirs == int(self.theirs) else 1e-9
        return abs(self.ours - self.theirs) <= digits * abs(self.theirs)

    @property
    def equal(self) -> bool:
        """Return whether both values are exactly equal, or within the counter's noise on
        hardware."""
        noise = WITHIN.get(self.metric, 0.0) * abs(self.theirs)
        return self.to_the_digit or abs(self.ours - self.theirs) <= noise

    @property
    def relative(self) -> float:
        """The emulator's value divided by ncu's, minus one; infinite if only ncu's value is
        zero."""
        if self.theirs:
            return self.ours / self.theirs - 1
        return float("inf") if self.ours else 0.0


def _has_branches(count: Counted, provenance: str, theirs: Mapping[str, float]) -> bool:
    """Return whether to compare the share of uniform branches with ncu's reading. PTX may lack
    branches that machine code has, so a count of 0 is compared only if it comes from machine
    code."""
    return bool(theirs[count.metric] and (count.value or provenance != PTX))


@dataclass(frozen=True)
class Launch:
    """One step of a case. `missing`: counters that should have a reading but have none.

    `same`: whether PTX and machine code produced the same bits in every output of the case.
    """

    case: Case
    step: int
    compared: tuple[Compared, ...] = ()
    missing: tuple[str, ...] = ()
    refusal: str = ""
    """The reason why the emulator could not run the launch, so that nothing is compared."""
    same: bool = True
    read: tuple[float, float, float] | None = None
    """Numbers of bytes: in the distinct sectors that were read, in the kernel's code, and delivered
    by device memory."""

    @property
    def kernel(self) -> str:
        return self.case.steps[self.step].kernel

    @property
    def name(self) -> str:
        """`problem/variant`, the key in exceptions."""
        return f"{self.case.problem}/{self.case.variant}"

    def of(self, *provenances: str) -> list[Compared]:
        return [each for each in self.compared if each.provenance in provenances]


@dataclass(frozen=True)
class Known:
    """An explained difference: these counters of these kernels (`problem/variant`)."""

    kernels: tuple[str, ...]
    counters: tuple[str, ...]
    because: str
    provenance: str

    def explains(self, launch: Launch, difference: Compared) -> bool:
        return (
            launch.name in self.kernels
            and difference.metric in self.counters
            and difference.provenance == self.provenance
        )


def known(path: Path = EXCEPTIONS) -> list[Known]:
    """The explained differences."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return [
        Known(tuple(e["kernels"]), tuple(e["counters"]), e["because"], e.get("provenance", EXACT))
        for e in listed
    ]


def reading_files() -> list[Path]:
    """Return the committed files of counters."""
    return sorted((*READINGS.glob(COUNTERS), *AT_EMULATED_SIZES.glob(COUNTERS)))


def readings(files: Iterable[Path]) -> Readings:
    """Nsight Compute's readings, from runs' counters.csv, compressed or not."""
    found: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for path in files:
        unpacked = gzip.open if path.suffix == ".gz" else open
        with unpacked(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["provenance"] == "ncu":
                    found[row["case"], int(row["step"])][row["metric"]] = float(row["value"])
    return found


class Matrix:
    """A bench.yaml with the cases that fit the emulator's budget: those that are emulated by
    default, and those that a GPU times."""

    def __init__(self, path: Path) -> None:
        self.bench = model.load(path)
        self._flops: dict[str, float] = {}
        by_default = self._resolved(self.bench)
        self.by_default = tuple(by_default.values())
        self.cases = by_default | self._resolved(_as_timed(self.bench))

    def _resolved(self, bench: model.Bench) -> dict[str, Case]:
        found = plan.resolve(bench, emulated_device(ARCH), "emulator")
        self._flops |= {group: work.flops for group, work in found.works.items()}
        return {
            case.id: case
            for case in found.cases
            if not (case.skip or case.refusal)
            and found.works[case.group].bytes <= bench.limits.emulate_bytes
        }

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(case.problem for case in self.cases.values()))

    def compare(self, read: Readings, in_tests: bool = True, problem: str = "") -> Iterator[Launch]:
        """Emulate every launch of the chosen cases; only those of one problem, if one is named."""
        chosen = [case for case in self.chosen(read, in_tests) if problem in ("", case.problem)]
        built = self.compiled(chosen)
        for case in chosen:
            yield from self._compare(case, built[case.id], read)

    def chosen(self, read: Readings, in_tests: bool = True) -> list[Case]:
        """The cases with readings that tests emulate, or those that only the page covers.

        Tests emulate a variant at the sizes at which it is emulated by default. If there are no
        readings at those sizes, tests emulate it at a GPU's timed sizes. Of long cases, tests
        emulate only the shortest of each variant.
        """
        with_readings = [case for case in self.cases.values() if (case.id, 0) in read]
        by_default = {case.id for case in self.by_default}
        read_by_default = {variant_of(case) for case in with_readings if case.id in by_default}
        of_tests = [
            case
            for case in with_readings
            if case.id in by_default or variant_of(case) not in read_by_default
        ]
        by_length = sorted(of_tests, key=lambda case: threads(case, read))
        shortest = {variant_of(case): case.id for case in reversed(by_length)}

        def is_in_tests(case: Case) -> bool:
            is_shortest = shortest[variant_of(case)] == case.id
            return threads(case, read) <= (IN_TESTS if is_shortest else SHORT)

        in_tests_ids = {case.id for case in of_tests if is_in_tests(case)}
        return [
            case
            for case in with_readings
            if threads(case, read) <= AT_ALL and (case.id in in_tests_ids) == in_tests
        ]

    def compiled(self, cases: Sequence[Case]) -> dict[str, compiler.Built]:
        """Compile and disassemble all cases at once; map each to its code. Raises the first
        refusal."""
        units = {case.id: compiler.unit(case, self.bench.kernels, ARCH) for case in cases}
        found: dict[str, compiler.Built] = {}
        built = compiler.build_all(list(units.values()))
        for case, unit in units.items():
            result = built[unit]
            if isinstance(result, HarnessError):
                raise result
            found[case] = result
        list_together(found.values())
        return found

    def _compare(self, case: Case, built: compiler.Built, read: Readings) -> Iterator[Launch]:
        try:
            checks = self._flops[case.group] <= MOST_CHECKED
            execution, machine = by_front_end(self.bench, case, ARCH, checks=checks)
        except HarnessError as error:
            yield Launch(case, 0, refusal=str(error))
            return
        refusals = [*execution.faults, machine] if isinstance(machine, str) else machine.faults
        if isinstance(machine, str) or refusals:
            yield Launch(case, 0, refusal=refusals[0])
            return
        same = all(
            np.array_equal(output.view(np.uint8), machine.outputs[name].view(np.uint8))
            for name, output in execution.outputs.items()
        )
        for step in range(len(case.steps)):
            theirs = read.get((case.id, step), {})
            counts = [c for c in execution.counts if isinstance(c, Counted) and c.step == step]
            executed = [
                (c, c.provenance if c.provenance == MACHINE else OF_MACHINE)
                for c in machine.counts
                if isinstance(c, Counted) and c.step == step
            ]
            compared = [
                Compared(count.metric, provenance, count.value, theirs[count.metric])
                for count, provenance in [*executed, *((c, c.provenance) for c in counts)]
                if count.metric in theirs
                and not count.metric.startswith(FORMED)
                and (count.metric != UNIFORM or _has_branches(count, provenance, theirs))
            ]
            missing = [metric for metric in OF_MEMORY if metric not in theirs]
            compared += _of_compilation(case, step, built, theirs)
            touched = [c.value for c in counts if c.metric == "distinct_sectors_read"]
            asked = SECTOR_BYTES * touched[0], _code_bytes(case, step, built)
            bytes_ = (*asked, theirs[DRAM_READ]) if DRAM_READ in theirs else None
            yield Launch(case, step, tuple(compared), tuple(missing), same=same, read=bytes_)


def _code_bytes(case: Case, number: int, built: compiler.Built) -> int:
    """The size in bytes of the section that holds a step's kernel."""
    symbol = compiler.kernel_name(case.steps[number].kernel, built, case.source)
    with built.cubin.open("rb") as file:
        return int(ELFFile(file).get_section_by_name(f".text.{symbol}").data_size)


def variant_of(case: Case) -> tuple[str, str, str]:
    return case.problem, case.variant, case.dtype


def threads(case: Case, read: Readings) -> float:
    """Add up the thread instructions of a case's steps; a missing count is assumed to be small."""
    steps = (read.get((case.id, step), {}) for step in range(len(case.steps)))
    return sum(found.get(THREADS, 0.0) for found in steps)


def _of_compilation(
    case: Case, number: int, built: compiler.Built, theirs: Mapping[str, float]
) -> Iterator[Compared]:
    """Compare registers, occupancy and derived values. Of ncu's limits, only the smallest is
    compared. Its shared-memory limit depends on how much of the L1 cache the driver reserves for
    shared memory at the launch; the driver never reserves so little that this limit becomes the
    smallest."""
    step, facts = case.steps[number], architecture(ARCH)
    used = built.kernels[compiler.kernel_name(step.kernel, built, case.source)]
    shared = used.shared_bytes + step.shared_bytes
    ours = theoretical_occupancy(facts, step.threads_per_block, used.registers, shared)
    blocks = step.grid[0] * step.grid[1] * step.grid[2]
    waves = blocks / (ours.blocks_per_sm * facts.representative.sm_count)
    for metric, value in (
        ("launch__registers_per_thread", max(used.registers, FEWEST_REGISTERS)),
        ("sm__maximum_warps_per_active_cycle_pct", ours.ratio),
        ("launch__waves_per_multiprocessor", waves),
    ):
        if metric in theirs:
            yield Compared(metric, COMPILED, value, theirs[metric])
    limits = {
        "warps": "warps",
        "blocks": "blocks",
        "registers": "registers",
        "shared memory": "shared_mem",
    }
    read = {ours: theirs.get(f"launch__occupancy_limit_{name}") for ours, name in limits.items()}
    present = [limit for limit in read.values() if limit is not None]
    if len(present) == len(limits):
        yield Compared("blocks an SM holds", COMPILED, ours.blocks_per_sm, min(present))
        binding = read[ours.limiter] == min(present)
        yield Compared("the limit that binds", COMPILED, 1.0, float(binding))


def compare(files: Sequence[Path], in_tests: bool = True) -> list[Launch]:
    """Emulate and compare every launch of both matrices that has readings in the files: those that
    tests emulate, or the others."""
    read = readings(files)
    return [launch for path in MATRICES for launch in Matrix(path).compare(read, in_tests)]


def _as_timed(bench: model.Bench) -> model.Bench:
    """The problems that are emulated at sizes of their own, with a GPU's timed sizes instead."""
    return replace(bench, problems={
        name: replace(problem, sizes=replace(problem.sizes, emulate=()))
        for name, problem in bench.problems.items()
        if problem.sizes.emulate
    })  # fmt: skip
