"""The first cause named is the planted one, and no unrelated quantity is named.

planted/ holds pairs of kernels that differ in one property. They are compiled, and the emulator
counts them; compiler output and exact emulator counters are used as they are. Where only a GPU's
own counters decide (instructions, divergence, atomic collisions), the emulator's counts are
treated as readings (`as_read`), and counters that the emulator lacks are invented (`read`).

All times are invented, for a machine of one multiprocessor at 1 GHz: every counted event has a
fixed price (`made_up_ns`), which is the same for all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.readings import Readings
from harness.compiler import compile as compiler
from harness.emulator import launch as emulate
from harness.emulator import parse
from harness.journal.counter_records import Counted
from harness.journal.records import Ceiling, Compiled, Conditions, Outcome, Planned, Record, Round
from harness.silicon.architectures import architecture
from harness.silicon.occupancy import theoretical_occupancy
from harness.tables import Run

FOLDER = Path(__file__).parent / "planted"
ARCH, N, BLOCK, GRID = "sm_90", 2**16, 256, 8
READ = {"dram__bytes_read.sum": 4.0 * N, "dram__bytes_write.sum": 1024.0}
WAITS = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


@dataclass(frozen=True)
class Launch:
    kernel: str
    grid: int = GRID
    read: Mapping[str, float] = field(default_factory=dict)
    """Invented counters, as if ncu had read them."""


@dataclass(frozen=True)
class Pair:
    cause: str
    slow: Sequence[Launch]
    fast: Sequence[Launch]
    as_read: bool = False
    """True if the emulator's PTX counts stand in for a GPU's counters."""


def named(name: str, cause: str, as_read: bool = False, **read: tuple[float, float]) -> Pair:
    slow, fast = (
        [Launch(f"{name}_{speed}", read={_METRICS[key]: both[i] for key, both in read.items()})]
        for i, speed in enumerate(("slow", "fast"))
    )
    return Pair(cause, slow, fast, as_read)


_METRICS = {
    "dram": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "barrier": WAITS.format("barrier"),
    "memory": WAITS.format("long_scoreboard"),
}
PAIRS = {
    "bank conflict": named("bank_conflict", "fewer bank conflicts"),
    "uncoalesced load": named("uncoalesced_load", "better coalesced accesses"),
    "uncoalesced store": named("uncoalesced_store", "better coalesced accesses"),
    "misaligned load": named("misaligned_load", "better coalesced accesses"),
    "redundant loads": named(
        "redundant_loads", "fewer accesses to global memory for the same data"
    ),
    "wider loads": named("wider_loads", "wider loads"),
    "wider loads, all counters read": named("wider_loads", "wider loads", True),
    "shared accesses": named("shared_accesses", "fewer passes through shared memory"),
    "atomics per warp": named("global_atomics", "fewer atomics in global memory"),
    "atomics on one address": named(
        "atomics_on_one_address", "fewer atomics of a warp on one address of global memory", True
    ),
    "shared atomics": named(
        "shared_atomics", "fewer atomics of a warp on one address of shared memory", True
    ),
    "spilled registers": named("spilled_registers", "fewer spilled registers"),
    "occupancy": named("occupancy", "higher occupancy"),
    "divergence": named("divergence", "less divergence", True),
    "more instructions": named("more_instructions", "fewer instructions", True),
    "extra barrier, by its count": named("extra_barrier", "fewer barriers", True),
    "extra barrier, by what warps wait for": named(
        "extra_barrier", "less waiting at barriers", barrier=(3.0, 0.4), memory=(2.0, 2.0)
    ),
    "memory traffic": named(
        "memory_traffic", "less traffic to the device's memory",
        dram=(8.0 * N, 4.0 * N), written=(1024.0, 1024.0),
    ),
    "tail wave": Pair(
        "a fuller last wave", [Launch("grid_size", 9)], [Launch("grid_size", 16)]
    ),
    "small grid": Pair(
        "a grid that fills more of the GPU", [Launch("grid_size", 2)], [Launch("grid_size", 8)]
    ),
    "more launches": Pair(
        "one launch fewer", [Launch("grid_size"), Launch("launch", 1)], [Launch("grid_size")]
    ),
}  # fmt: skip
INNOCENT = (
    "other_names", "while_loop", "other_order", "restricted", "array_of_sums", "function_object",
    "inlined_function", "dead_code",
)  # fmt: skip


@cache
def built() -> compiler.Built:
    return compiler.build(compiler.Unit(FOLDER / "all.cu", (FOLDER,), (), ARCH))


@cache
def module() -> object:
    return parse(built().ptx.read_text())


@cache
def counted(kernel: str, grid: int) -> tuple[tuple[str, float, str, str], ...]:
    """The counters of one emulated launch, as (counter, value, unit, provenance)."""
    values = np.random.default_rng(1).random(N + 128, dtype=np.float32)
    out = np.zeros(max(N, grid * BLOCK), np.float32)
    symbol = compiler.kernel_name(kernel, built(), "all.cu")
    report = emulate(module(), symbol, grid, BLOCK, [values, out, N], arch=ARCH, checks=False)
    assert not report.faults
    return tuple((c.name, float(c.value), c.unit, c.provenance) for c in report.counters)


def made(launch: Launch, case: str, step: int) -> Compiled:
    """The compiler's results for a kernel, under the same name for all variants of a step, so that
    identical machine code is recognised."""
    found = built().kernels[compiler.kernel_name(launch.kernel, built(), "all.cu")]
    fits = theoretical_occupancy(architecture(ARCH), BLOCK, found.registers, found.shared_bytes)
    return Compiled(
        case, step, f"kernel_{step}", "s", launch.kernel, found.registers, found.shared_bytes,
        found.spill_bytes, found.stack_bytes, BLOCK, fits.ratio, fits.limiter,
        found.sass_sha256, launch.grid / fits.blocks_per_sm,
    )  # fmt: skip


def made_up_ns(launch: Launch) -> float:
    """The invented time of a launch: the sum of the costs of all counted events, divided by the
    fraction of the machine that is busy."""
    counts = {name.removesuffix(".sum"): value for name, value, _, _ in counted(
        launch.kernel, launch.grid)}  # fmt: skip
    about = made(launch, "", 0)
    sectors, requests = (
        {op: counts[f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}"]
         for op in ("ld", "st", "red", "atom")} for what in ("sectors", "requests")
    )  # fmt: skip
    meeting = sum(
        counts[f"{space}_atomic_lanes"] - counts[f"{space}_atomic_addresses"]
        for space in ("global", "shared")
    )
    work = (
        counts["smsp__inst_executed"] / 4
        + sum(sectors.values())
        + 2 * sum(requests.values())
        + 2 * counts["memory_l1_wavefronts_shared"]
        + 8 * counts["barrier_instructions"]
        + 4 * (requests["red"] + requests["atom"])
        + meeting
        + launch.read.get("dram__bytes_read.sum", 0.0) / 8
    )
    waves = about.waves or 1.0
    busy = waves / -(-waves // 1)
    return 2000 + work * (1 + about.spill_bytes / 50) / (about.occupancy**0.5 * busy)


def case_of(variant: str) -> str:
    return f"planted/{variant}/float32/n={N}"


def records(
    variant: str, launches: Sequence[Launch], as_read: bool, factor: float
) -> Iterator[Record]:
    case = case_of(variant)
    kernels = tuple(f"kernel_{i}" for i in range(len(launches)))
    yield Planned(case, "planted", variant, "float32", {"n": N}, {}, 4 * N, N, variant == "before",
                  False, kernels, "" if variant == "before" else "before")  # fmt: skip
    yield Outcome(case, "ok")
    for step, launch in enumerate(launches):
        yield made(launch, case, step)
        for name, value, unit, provenance in counted(launch.kernel, launch.grid):
            origin = "ncu" if as_read else provenance
            yield Counted(case, step, kernels[step], name, value, unit, origin)  # type: ignore[arg-type]
        for name, value in launch.read.items():
            yield Counted(case, step, kernels[step], name, value, "", "ncu")
    steps = [factor * made_up_ns(launch) for launch in launches]
    for repeat in (False, True) if variant == "before" else (False,):
        for i in range(12):
            wiggle = 1 + 1e-4 * ((i + repeat) % 3)
            apart = tuple((wiggle * ns,) for ns in steps) if len(steps) > 1 else ()
            yield Round(case, "cold", i, repeat, (wiggle * sum(steps),), apart)


def step_of(
    before: Sequence[Launch], after: Sequence[Launch], as_read: bool, factor: float = 1.0
) -> LadderStep:
    """`factor`: the number by which the later variant's time is multiplied."""
    info = {
        "backend": "cuda", "timing": {"confidence": 0.95, "same_within": 0.01},
        "device": {"name": "a device", "sm_count": 1},
    }  # fmt: skip
    found = [
        *records("before", before, as_read, 1.0), *records("after", after, as_read, factor),
        Conditions("planted", 0, 1_000_000_000, None, None, None, ()),
        Ceiling("read_bandwidth", 16e9, 16e9, 16e9, "byte/s", "made up", ()),
    ]  # fmt: skip
    run = Run(Path("nowhere"), info, found)
    return Explainer(Readings(run)).compare(*run.planned.values())


@pytest.mark.parametrize("name", PAIRS)
def test_the_first_cause_named_is_the_one_that_was_planted(name: str) -> None:
    pair = PAIRS[name]
    step = step_of(pair.slow, pair.fast, pair.as_read)
    assert step.speed is not None
    assert step.speed.verdict == "faster"
    assert [cause.text for cause in step.finding.causes][:1] == [pair.cause]


@pytest.mark.parametrize("name", PAIRS)
def test_the_other_way_round_it_is_the_cause_of_being_slower(name: str) -> None:
    pair = PAIRS[name]
    step = step_of(pair.fast, pair.slow, pair.as_read)
    assert step.speed is not None
    assert step.speed.verdict == "slower"
    assert [cause.text for cause in step.finding.causes][:1] == [pair.cause]


@pytest.mark.parametrize("as_read", [False, True])
@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_change_takes_the_same_time_and_has_no_cause(name: str, as_read: bool) -> None:
    step = step_of([Launch("plain")], [Launch(name)], as_read)
    assert step.speed is not None
    assert step.speed.verdict == "same"
    assert step.finding.verdict == "nothing"


@pytest.mark.parametrize("as_read", [False, True])
@pytest.mark.parametrize("factor", [0.5, 0.97, 1.03, 2.0])
@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_change_is_not_accused_of_a_time_that_comes_from_elsewhere(
    name: str, factor: float, as_read: bool
) -> None:
    step = step_of([Launch("plain")], [Launch(name)], as_read, factor)
    assert step.speed is not None
    assert step.speed.verdict == ("faster" if factor < 1 else "slower")
    assert step.finding.verdict in {"identical", "unexplained"}
    assert not step.finding.causes


def test_some_of_the_innocent_changes_compile_to_other_machine_code_and_some_do_not() -> None:
    code = {name: made(Launch(name), "", 0).sass_sha256 for name in ("plain", *INNOCENT)}
    assert all(code.values())
    same = {name for name in INNOCENT if code[name] == code["plain"]}
    assert same
    assert same < set(INNOCENT)


def test_what_is_counted_in_ptx_alone_names_no_cause() -> None:
    for name in ("divergence", "more instructions", "shared atomics", "atomics on one address"):
        pair = PAIRS[name]
        assert not step_of(pair.slow, pair.fast, as_read=False).finding.causes, name
