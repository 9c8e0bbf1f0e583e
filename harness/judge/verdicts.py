"""Verdicts as typed data: the result for a kernel, and the evidence for it.

`judging.py` derives verdicts from the records of a run. Fields are only ever added; VERSION changes
if a field has to change its meaning.
"""

from __future__ import annotations

from html import escape
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.dataclasses import dataclass

VERSION = 1
"""The version of requests and answers, as in the published schema."""

_CONFIG = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

Kind = Literal[
    "right", "faster", "same", "slower", "wrong", "fault", "cheat", "compile-error", "cannot-tell"
]
"""right: verified, and not timed. faster, same, slower: verified and timed, against the first
kernel. cannot-tell: nothing, or too little, is known about the kernel; this is never a pass."""

PASSES: tuple[Kind, ...] = ("right", "faster", "same", "slower")
"""Verdicts on a kernel whose results were all right."""


@dataclass(config=_CONFIG)
class Element:
    """One incorrect element of an array; absent if the reason does not concern a value."""

    array: str = ""
    index: int | None = None
    found: float | None = None
    expected: float | None = None
    bound: Annotated[
        float | None,
        Field(description="The largest |found − expected| that would have passed."),
    ] = None
    wrong: Annotated[int | None, Field(description="How many of its elements are.")] = None
    elements: int | None = None


@dataclass(config=_CONFIG, kw_only=True)
class Counterexample(Element):
    """The smallest tried size at which the kernel is wrong, and one element there."""

    sizes: dict[str, int]
    dtype: str
    launch: dict[str, int]
    draw: int
    """0: real numbers; 1: whole numbers, unless the problem generates its own inputs."""


@dataclass(config=_CONFIG)
class Counter:
    """A figure and its provenance; `machine-exact` and `emulator-exact` figures match ncu's
    readings.

    code-exact and hopper-rules: counted in machine code for an architecture without hardware
    readings."""

    value: float
    unit: str
    provenance: str


@dataclass(config=_CONFIG)
class Budget:
    """A requirement of `expect`, and whether it was met; a requirement that was not checked is not
    met."""

    name: str
    expected: str
    status: Literal["kept", "broken", "not checked"]
    value: float | None = None
    place: str = ""
    reason: str = ""


@dataclass(config=_CONFIG)
class Interval:
    """A value with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(config=_CONFIG)
class Verdict:
    """The result for one kernel. `text` is the complete verdict in words, for people and
    programs."""

    kernel: str
    verdict: Kind
    text: str
    cause: str = ""
    """The cause in a few words: `out of bounds`, `race`, `endless`, `never written`, `reads only a
    part`."""
    file: str = ""
    line: int | None = None
    message: str = ""
    """The reason in the words of the compiler, the emulator or the check."""
    counterexample: Counterexample | None = None
    verified: int = 0
    """The number of launches whose results were right."""
    verified_at: tuple[dict[str, int], ...] = ()
    """The test sizes at which they were right; a kernel's `when` may exclude some."""
    counters: dict[str, Counter] = Field(default_factory=dict)
    """Figures at `counted_at`: quantities under their names in `expect`, and counters under
    ncu's."""
    counted_at: dict[str, int] = Field(default_factory=dict)
    bank_conflicts: float | None = None
    """Wavefronts of shared memory beyond the ideal; None if they were not counted exactly."""
    losses: tuple[str, ...] = ()
    """Avoidable losses, the largest first."""
    budgets: tuple[Budget, ...] = ()
    remarks: tuple[str, ...] = ()
    """Remarks that a reader of a correct kernel needs."""
    time_ns: Interval | None = None
    speedup: Interval | None = None
    """The speed-up over the first kernel of the submission."""
    seed: int | None = None
    """The seed of the inputs: `timing: {seed: …}` of bench.yaml."""
    seconds: float = 0.0
    """The seconds that the submission took, including compilation."""
    version: Annotated[int, Field(ge=1)] = VERSION

    @property
    def is_right(self) -> bool:
        """Return whether every result was correct. A broken budget does not affect this."""
        return self.verdict in PASSES

    @property
    def broken(self) -> tuple[Budget, ...]:
        """The budgets that were broken or not checked."""
        return tuple(b for b in self.budgets if b.status != "kept")

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The notebook view: the verdict, and its counters in a collapsible table."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:right'>{c.value:,.6g}</td>"
            f"<td>{escape(c.unit)}</td><td>{escape(c.provenance)}</td></tr>"
            for name, c in self.counters.items()
        )
        table = f"<details><summary>counters</summary><table>{rows}</table></details>"
        text = f"<pre style='white-space: pre-wrap'>{escape(self.text)}</pre>"
        return f"{text}{table if rows else ''}"


VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)
VERDICTS: TypeAdapter[list[Verdict]] = TypeAdapter(list[Verdict])
