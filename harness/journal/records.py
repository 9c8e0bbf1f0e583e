"""Measured results as frozen records. Base units: nanoseconds, bytes, hertz, watts.

harness/journal/file.py stores them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal, Protocol

from pydantic import Field, TypeAdapter

from harness.journal.counter_records import (
    Counted,
    Emulated,
    MachineCode,
    Profiled,
    Provenance,
    SourceLine,
    Uncounted,
)
from harness.journal.numbers import Amount, Duration, Finite, Positive, Real, Share, Whole

Status = Literal["ok", "failed", "skipped"]
Cache = Literal["cold", "warm"]
Phase = Literal["test", "scrutiny", "before", "after"]
"""The phase in which a launch was verified: at a test size, in the cheat check (a further launch at
a test size, in the emulator, to see how the kernel gets its result), or at a timed size before or
after timing."""


def group_name(problem: str, dtype: str, sizes: Mapping[str, int]) -> str:
    """The name shared by all cases that are measured together, as in `Case.group`."""
    return "/".join([problem, dtype, *(f"{k}={v}" for k, v in sizes.items())])


@dataclass(frozen=True)
class Planned:
    """A case that the run intends to measure, with its work model (see harness/problem)."""

    case: str
    problem: str
    variant: str
    dtype: str
    sizes: dict[str, Whole]
    launch: dict[str, Whole]
    bytes: Whole
    flops: Whole
    is_baseline: bool
    is_library: bool
    kernels: tuple[str, ...] = ()
    builds_on: str = ""
    """The variant that this one improves on by a step; empty for a root of the ladder."""
    made_from: dict[str, str] = field(default_factory=dict)
    """Everything that determines the result: each file or tool with its hash or version. If one
    differs, the case is run again."""
    expect: dict[str, str] = field(default_factory=dict)
    """The expected counts: names and limits, as harness/budgets.py reads them."""
    idea: str = ""
    """The variant's idea, one of `IDEAS` in harness/cases.py; for a trap, what it makes worse."""
    is_trap: bool = False
    written_bytes: Whole | None = None
    """The number of `bytes` that are written; None in older runs, which recorded only the sum."""
    reread_bytes: Whole = 0
    exponentials: Whole = 0
    launched: str = ""
    """Hash of the launches and their data: grids, blocks, clusters, shared memory, arguments,
    sizes, type and the seed of the inputs, but neither names nor files."""
    arithmetic: str = ""
    """The arithmetic of the variant's matrix products, if the problem's other variants use a
    different one; see harness/matrix."""
    kind: Literal["planned"] = "planned"

    @property
    def group(self) -> str:
        return group_name(self.problem, self.dtype, self.sizes)


@dataclass(frozen=True)
class Compiled:
    """The compiler's output for a case: one record per kernel that the case launches."""

    case: str
    step: Whole
    kernel: str
    source_sha256: str
    cubin_sha256: str
    registers: Whole
    shared_bytes: Whole
    """Static and dynamic shared memory of a block."""
    spill_bytes: Whole
    stack_bytes: Whole
    threads_per_block: Whole
    occupancy: Share
    """Theoretical: resident warps over the maximum that a multiprocessor can hold."""
    occupancy_limiter: str
    sass_sha256: str = ""
    """The hash of the kernel's machine code."""
    waves: Amount | None = None
    """The grid's blocks divided by the number that all multiprocessors hold at once, which is how
    ncu counts waves."""
    local_at: str = ""
    """The `file:line` with the most spilled bytes or bytes on the stack; empty if there are
    none."""
    loaded_sha256: str = ""
    """The hash of everything that is loaded to run the kernel: machine code, constants and
    variables."""
    kind: Literal["compiled"] = "compiled"


@dataclass(frozen=True)
class Verified:
    """One verified launch: at a test size, or at a bench size before or after timing."""

    problem: str
    variant: str
    dtype: str
    sizes: dict[str, Whole]
    launch: dict[str, Whole]
    phase: Phase
    draw: Whole
    ok: bool
    reason: str
    """Empty if ok."""
    error: Finite | None
    """The largest |output − reference| over its bound; None if nothing could be compared."""
    kind: Literal["verified"] = "verified"


@dataclass(frozen=True)
class Round:
    """A batch of launches of one case in one round of one placement.

    `samples_ns`: one total per launch. `steps_ns`: per step, measured in separate launches from the
    totals, because an event between two kernels itself takes time. `repeat`: the baseline's second
    batch. `placement`: the process, with its own memory, in which the round ran. `sm_clock_hz`,
    `throttle`: read right after the batch; None and empty if the driver does not report them.
    """

    case: str
    cache: Cache
    round: Whole
    repeat: bool
    samples_ns: tuple[Duration, ...]
    steps_ns: tuple[tuple[Real, ...], ...] = ()
    placement: Whole = 0
    sm_clock_hz: Whole | None = None
    throttle: tuple[str, ...] = ()
    kind: Literal["round"] = "round"


@dataclass(frozen=True)
class EventCost:
    """Launches of a kernel that measures its own time. A sample is the time between two events
    around a launch, minus the kernel's own measurement.

    `group`: the cases that were timed in the same process. The cost of two events is this sample
    minus the time that a kernel takes to begin and to end (harness/statistics/event_cost.py).
    """

    group: str
    cache: Cache
    placement: Whole
    samples_ns: tuple[Real, ...]
    kind: Literal["event_cost"] = "event_cost"


@dataclass(frozen=True)
class Conditions:
    """The state of the GPU after a round; a value that the driver does not report is None.

    `others`: the number of processes that compute on the GPU besides the run's own.
    """

    group: str
    round: Whole
    sm_clock_hz: Whole | None
    memory_clock_hz: Whole | None
    temperature_c: Whole | None
    power_w: Amount | None
    throttle: tuple[str, ...]
    placement: Whole = 0
    others: Whole | None = None
    kind: Literal["conditions"] = "conditions"


IN_PTX_ALONE = "is counted in PTX alone"
"""The beginning of a Remark that counters come from PTX alone; the reason follows a colon."""


@dataclass(frozen=True)
class Remark:
    """A remark about a correct variant that readers need to know.

    "varies in its last bits from launch to launch", "computes in half precision", "reads a clock".
    """

    problem: str
    variant: str
    dtype: str
    text: str
    provenance: Provenance
    kind: Literal["remark"] = "remark"


@dataclass(frozen=True)
class Told:
    """A value that a kernel measured itself, in an output that its problem lists in `readings`.

    `value`: the median of several launches; low, high: the lowest and the highest value.
    """

    case: str
    output: str
    value: Finite
    low: Finite
    high: Finite
    unit: str
    kind: Literal["told"] = "told"


@dataclass(frozen=True)
class Ceiling:
    """A limit of the machine, measured in this run by a small kernel of the harness.

    `name`: one of those in harness/statistics/mixes.py, l2_bandwidth, shared_bandwidth (byte/s);
    fp32_rate, fp64_rate, fp16_rate, tensor_rate, bf16_tensor_rate, tf32_rate (flop/s);
    exponential_rate (1/s); empty_kernel (ns).
    """

    name: str
    value: Positive
    low: Positive
    high: Positive
    unit: str
    how: str
    samples: tuple[Amount, ...]
    case: str = ""
    """The id of the case under which other placements measured the ceiling again."""
    work: Amount = 0.0
    """The work of one launch: bytes, flops or exponentials."""
    kind: Literal["ceiling"] = "ceiling"


@dataclass(frozen=True)
class Outcome:
    """The end of a case. If a case has several outcomes, the last one counts. `place` is file:line
    if there is one."""

    case: str
    status: Status
    reason: str = ""
    again: bool = False
    """True if the failure was not caused by the case, so that a resumed run tries it again."""
    limits: dict[str, float] = field(default_factory=dict)
    """The limits in bench.yaml that ended it; if one is raised, the case is run again."""
    stage: Literal["", "plan", "compile"] = ""
    """The stage at which it ended before any launch; empty if something was launched, and in older
    runs."""
    kind: Literal["outcome"] = "outcome"


@dataclass(frozen=True)
class Located:
    """The host and GPU that run a case after this record, in a run across several machines.

    `gpu`: its UUID; empty if there is none.
    """

    case: str
    stage: Literal["qualify", "measure"]
    host: str
    gpu: str
    kind: Literal["located"] = "located"


@dataclass(frozen=True)
class Finished:
    """A stage that does not have to be repeated when the run is resumed."""

    stage: str
    kind: Literal["finished"] = "finished"


@dataclass(frozen=True)
class Renewed:
    """A mark saying that a case's earlier records are no longer valid; the journal itself is
    append-only.

    `what`: "case": all records of the case, for example because its source changed. "times": its
    rounds and outcome, because other cases of its group are timed again. "gone": all records,
    because the matrix no longer has the case.
    """

    case: str
    problem: str
    variant: str
    dtype: str
    sizes: dict[str, Whole]
    launch: dict[str, Whole]
    what: Literal["case", "times", "gone"]
    reason: str
    kind: Literal["renewed"] = "renewed"


class HasWork(Protocol):
    """A work model: the minimum that any implementation must move and compute."""

    @property
    def bytes(self) -> int: ...
    @property
    def flops(self) -> int: ...


def times_the_work(mine: HasWork, of: HasWork) -> float:
    """The ratio of work between two sizes: that of bytes or of flops, whichever grew more."""
    pairs = (mine.bytes, of.bytes), (mine.flops, of.flops)
    return max((more / less for more, less in pairs if less), default=1.0)


Record = (
    Planned
    | Compiled
    | Verified
    | Counted
    | Uncounted
    | Profiled
    | Emulated
    | SourceLine
    | MachineCode
    | Round
    | EventCost
    | Conditions
    | Remark
    | Told
    | Ceiling
    | Outcome
    | Located
    | Finished
    | Renewed
)


def to_json(record: Record) -> str:
    """Return the record as one line of JSON; reject NaN and infinity."""
    return json.dumps(vars(record), default=vars, allow_nan=False)


def from_json(text: str | bytes) -> Record:
    return _reader().validate_json(text, strict=True)


@cache
def _reader() -> TypeAdapter[Record]:
    """Build the reader on first use: building takes a tenth of a second, and a worker only writes
    records."""
    return TypeAdapter(Annotated[Record, Field(discriminator="kind")])
