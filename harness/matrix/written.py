"""The matrix as written, key by key: each value has been checked, but nothing has been merged.

Unknown keys are errors, and every error names the file, the line and the key. merge.py turns this
into variants.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from harness.cases import COMPILED, LIBRARY, Flush
from harness.console.suggestions import did_you_mean
from harness.errors import ConfigError
from harness.files.strict_yaml import Key, YamlLocation
from harness.matrix import forms
from harness.matrix.expressions import QUOTE_IT, Expression, is_cut
from harness.matrix.tensor_maps import StepArgument
from harness.matrix.values import (
    ACapability,
    AFeature,
    AnExpression,
    AnIdea,
    ANumber,
    Argument,
    Axes,
    Budgets,
    CudaSource,
    Dtypes,
    Extents,
    Flag,
    FreeName,
    HostFunction,
    IncludeFolder,
    Kernel,
    Looks,
    Macros,
    Name,
    Positive,
    PythonFunction,
    Rounds,
    Source,
)


class Strict(BaseModel):
    """A model that refuses unknown keys, never coerces values from text, and is immutable."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )

    def says(self, key: str) -> bool:
        """Return whether the key is present in the file."""
        return key in self.model_fields_set


class WrittenStep(Strict):
    """One kernel launch, or its differences from a default. merge.py checks for required keys."""

    kernel: Kernel | None = None
    grid: Extents = ()
    block: Extents = ()
    shared: AnExpression = Expression("0")
    """Dynamic shared memory in bytes."""
    cluster: Extents = ()
    """Blocks of a thread block cluster."""
    args: Annotated[list[StepArgument], Field(max_length=100)] = []
    """Buffers of the problem by name, expressions, or tensor maps."""


def _steps_tag(value: Any) -> str:
    return "<mapping>" if isinstance(value, dict) else "<list>"


def _item_tag(value: Any) -> str:
    return "<name>" if isinstance(value, str) else "<step>"


Item = Annotated[Annotated[str, Tag("<name>")] | Annotated[WrittenStep, Tag("<step>")],
                 Discriminator(_item_tag)]  # fmt: skip
ListOfSteps = Annotated[list[Item], Field(min_length=1, max_length=20)]
Changes = Annotated[dict[str, WrittenStep], Field(min_length=1, max_length=20)]
Steps = Annotated[Annotated[Changes, Tag("<mapping>")] | Annotated[ListOfSteps, Tag("<list>")],
                  Discriminator(_steps_tag)]  # fmt: skip


class Common(Strict):
    """The keys that a problem's defaults, its libraries and its variants share."""

    let: dict[FreeName, ANumber] = {}
    """Names for expressions that other keys use."""
    when: AnExpression | None = None
    """Launch shapes and sizes for which the variant exists; others are skipped."""
    fits: AnExpression | None = None
    """Sizes for which its integers are wide enough; others are skipped."""
    dtypes: Dtypes = []
    defines: Macros = {}
    """Macros for the compiler: numbers, or expressions over the launch keys, `let` and device
    facts."""
    flags: list[Flag] = []
    """Further options of nvcc."""
    include: list[IncludeFolder] = []
    """Folders that `#include` searches in addition to the problem's and that of all problems.
    `package:cuda.cccl/headers/include` names one inside an installed Python package."""
    sources: list[CudaSource] = []
    """Further files, which precede the source in one compilation unit."""
    overwrites: list[str] = []
    """Inputs that the kernels write to; restored, untimed, before every launch."""


class Defaults(Common):
    """The values of every variant of a problem that does not override them."""

    steps: Changes = {}
    """The launches by name, in order; the name is also the kernel's, unless `kernel` gives
    another."""
    launch: Axes = ({},)
    expect: Budgets = {}


class Requires(Strict):
    """The hardware that a kernel needs."""

    compute_capability: ACapability = None
    """The lowest compute capability, such as 8.0."""
    shared: Annotated[int, Field(ge=0)] = 0
    """Bytes of a block's shared memory, static and dynamic together."""
    features: list[AFeature] = []
    """Features, by their names in harness/silicon/features.py."""


class Function(Common):
    """A Python function or a host function."""

    requires: Requires = Requires()
    python: PythonFunction = ""
    host: HostFunction = ""
    args: Annotated[list[Argument], Field(max_length=100)] = []
    """The arguments of a host function, before the stream: buffers by name, or expressions."""


class Library(Function):
    """A library to measure the variants against."""

    compiled: bool = False
    """For a Python function: torch.compile turns it into kernels."""


class Variant(Function):
    """One way to compute the problem: a .cu or .ptx file with steps, or a Python or host
    function."""

    source: Source = ""
    steps: Steps | None = None
    launch: Axes = ({},)
    expect: Budgets = {}
    """The expected counts; null removes a default."""
    builds_on: str = ""
    """The variant that this one improves on by a step."""
    idea: AnIdea = ""
    """The quantity that this variant improves over the one it builds on: one of the ideas in
    harness/cases.py."""
    trap: AnIdea = ""
    """Instead of an idea: the quantity that the variant is meant to make worse."""
    arithmetic: Literal["", "3 tf32"] = ""
    """The arithmetic of the variant's matrix products, if the problem's other variants use a
    different one; the variant then has a roof of its own. "3 tf32": each product of floats is
    computed as three TF32 products on tensor cores."""

    @model_validator(mode="after")
    def _one_purpose(self) -> Variant:
        if self.idea and self.trap:
            raise ValueError("trap: a variant has an idea or is a trap, not both")
        return self


class Sizes(Strict):
    test: Axes
    """Small adversarial sizes that every backend verifies."""
    bench: Axes
    """Sizes that are timed."""
    emulate: Axes = ()
    """Sizes that the emulator counts instead of those of bench, even if they exceed `limits`."""

    @model_validator(mode="after")
    def _same_names(self) -> Sizes:
        sizes = {frozenset(shape) for shape in (*self.test, *self.bench, *self.emulate)}
        if frozenset() in sizes:
            raise ValueError("test, bench and emulate name at least one size, such as `n`")
        if len(sizes) > 1:
            raise ValueError("test, bench and emulate must give the same names")
        return self


def _own_library(value: Any) -> tuple[str, ...]:
    """A name or a list of them."""
    found = [] if value is None else value if isinstance(value, list) else [value]
    if wrong := [each for each in found if each not in (LIBRARY, COMPILED)]:
        raise ValueError(f"{wrong[0]!r} is neither '{LIBRARY}' nor '{COMPILED}'")
    return tuple(dict.fromkeys(found))


OwnLibrary = Annotated[
    tuple[str, ...], BeforeValidator(_own_library), forms.some_of((LIBRARY, COMPILED))
]


class Problem(Strict):
    """The variants of one computation, and where to run them."""

    dtypes: Dtypes = []
    sizes: Sizes
    launch: Axes = ({},)
    baseline: str
    requires: Requires = Requires()
    """The hardware that all variants and libraries of the problem need."""
    library: OwnLibrary = ()
    """torch: problem.py's library(); torch_compile: the same, compiled by torch.compile."""
    libraries: dict[Name, Library] = {}
    defaults: Defaults = Defaults()
    variants: Annotated[dict[Name, Variant | None], Field(min_length=1)]


class Timing(Strict):
    """How much is measured; docs/measurement.md gives the reasons."""

    rounds: Rounds = "auto"
    """The number of rounds of each case; auto: as many as its interval needs."""
    rounds_per_placement: Annotated[int, Field(ge=1, le=100)] = 3
    placements: Looks = (8, 16, 24)
    """The numbers of processes after which a run checks which cases are settled; the last is the
    maximum."""
    choosing: Annotated[int, Field(ge=0, le=20)] = 2
    """The number of placements before those, which only choose each variant's launch shape."""
    shared_processes: bool = False
    """True if a process runs one placement of each group of kernels, not of one group only."""
    batch: Annotated[int, Field(ge=1, le=100)] = 12
    """The most launches of a variant in a round."""
    interval: Annotated[float, Field(gt=0, lt=1)] = 0.005
    """Half the width that a speed-up's interval should have, as a fraction of the speed-up."""
    flush: Flush = "clean"
    """The state in which flushing leaves the L2 cache: clean, or with lines that must be written
    back."""
    confidence: Annotated[float, Field(gt=0.5, le=0.9999)] = 0.95
    same_within: Annotated[float, Field(ge=0, lt=1)] = 0.01
    """Variants whose ratio is certainly this close to 1 are called the same."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 20_260_101
    """The seed of the test inputs and of every random order; timed inputs are new in each run."""

    @property
    def looks(self) -> tuple[int, ...]:
        """The placement counts after which a run may stop, excluding placements used for
        selection."""
        if self.rounds == "auto":
            return self.placements
        return (max(3, math.ceil(self.rounds / self.rounds_per_placement)),)


class Limits(Strict):
    """The limits of a run, for kernels that hang and sizes too large to emulate."""

    qualify_s: Annotated[int, Field(ge=1, le=86_400)] = 120
    """Deadline for one variant's qualification."""
    launch_s: Annotated[int, Field(ge=1, le=86_400)] = 20
    """Deadline for one launch at a timed size, including the work around it."""
    measure_s: Annotated[int, Field(ge=1, le=86_400)] = 60
    """Time after which no more placements are added to one problem at one size."""
    emulate_bytes: Positive = 16 * 2**20
    """Bench sizes whose compulsory traffic exceeds this are not emulated."""
    emulate_flops: Positive = 2**28
    """Bench sizes whose arithmetic exceeds this are not emulated: few bytes may take many steps."""


class Top(Strict):
    """bench.yaml: the settings common to all problems. `problems` is read by model.py."""

    problems: Any = None
    timing: Timing = Timing()
    limits: Limits = Limits()


Written = TypeVar("Written", bound=Strict)

_MODELS: tuple[tuple[tuple[str, ...], type[Strict]], ...] = (
    (("timing",), Timing),
    (("limits",), Limits),
    (("sizes",), Sizes),
    (("defaults",), Defaults),
    (("defaults", "steps", "*"), WrittenStep),
    (("requires",), Requires),
    (("libraries", "*"), Library),
    (("libraries", "*", "requires"), Requires),
    (("variants", "*"), Variant),
    (("variants", "*", "requires"), Requires),
    (("variants", "*", "steps", "*"), WrittenStep),
)
"""The models whose keys are allowed at each place below the top of a file. The top itself is read
as the model that the caller names."""


def checked(model: type[Written], data: Any, place: YamlLocation) -> Written:
    """Validate data as a model. Raises ConfigError with the location of each mistake, one per
    line."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explained(model, place, error) from None


_MARKS = ("[key]", "<mapping>", "<list>", "<name>", "<step>")
"""Parts of pydantic's error locations that are not keys of the file."""


def _explained(model: type[Strict], place: YamlLocation, error: ValidationError) -> ConfigError:
    findings = []
    for item in error.errors(include_url=False):
        is_unknown = item["type"] == "extra_forbidden"
        own = item["loc"][-1:] if is_unknown else ()  # may equal a pydantic marker
        path = (*(p for p in item["loc"][: len(item["loc"]) - len(own)] if p not in _MARKS), *own)
        what = item["msg"].removeprefix("Value error, ")
        if is_unknown:
            what = _unknown(model, path)
        elif item["type"] == "missing":
            what = "this key is missing"
        elif item["type"] in ("dict_type", "model_type"):
            what = "write keys and values here: a dictionary"
        key, colon, rest = what.partition(": ")
        if colon and place.at(*path, key).path in place.document.lines:
            path, what = (*path, key), rest  # an error about a nested value
        findings.append((place.at(*path), what))
    where, what = findings[0]
    more = "\n".join(f"{at}: {at.key}: {text}" for at, text in findings[1:10])
    return where.error(what, more)


def _unknown(model: type[Strict], path: tuple[Key, ...]) -> str:
    """For an unknown key: the most similar known key, and all keys that are allowed there."""
    name, above = str(path[-1]), path[:-1]
    if is_cut(name, "()<>"):
        return f"the rest of a value that a comma cut\n  {QUOTE_IT}"
    known = list(_model_at(model, above).model_fields)
    return f"unknown key{did_you_mean(name, known)}; known here: {', '.join(known)}"


def _model_at(model: type[Strict], path: tuple[Key, ...]) -> type[Strict]:
    for pattern, found in _MODELS:
        if len(pattern) == len(path) and all(
            p in ("*", key) for p, key in zip(pattern, path, strict=True)
        ):
            return found
    return model
