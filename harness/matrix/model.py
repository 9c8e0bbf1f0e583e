"""bench.yaml → Bench: what to run, validated before anything is compiled.

Unknown keys are errors, expressions are parsed here, sources must exist inside the kernels folder,
and every refusal names the file, the line and the key. What a name inside an expression stands for
is checked in plan.py, where the sizes, the launch keys and the device are known.
"""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from harness import strict_yaml
from harness.cases import DEVICE_FACTS, Flush
from harness.errors import ConfigError
from harness.matrix.expressions import FUNCTIONS, Expression

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32")

MOST_SHAPES = 4096
"""More launch shapes or sizes than this in one problem is taken for a mistake."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _expression(value: Any) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("write an integer or an integer expression such as ceil_div(n, block)")
    try:
        return Expression(str(value))
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _extents(value: Any) -> tuple[Expression, ...]:
    extents = tuple(map(_expression, value if isinstance(value, list | tuple) else [value]))
    if not 1 <= len(extents) <= 3:
        raise ValueError("a grid or block has one to three dimensions")
    return extents


def _inside(value: Any) -> str:
    path = PurePosixPath(str(value))
    if path.is_absolute() or ".." in path.parts or "\\" in str(value):
        raise ValueError("a source lies in its problem's folder: no absolute path, no ..")
    if path.suffix != ".cu" or len(str(path)) > 200:
        raise ValueError("a source is a .cu file")
    return str(path)


def _name(value: str) -> str:
    if not _NAME.match(value):
        raise ValueError("a name is a letter, then letters, digits and _")
    return value


def _axis(key: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in key.split(","))
    for name in names:
        _name(name)
        if name in (*DEVICE_FACTS, *FUNCTIONS):
            raise ValueError(f"{key}: `{name}` has a meaning in expressions; choose another")
    return names


def _positive(value: Any) -> int:
    try:
        number = _expression(value).evaluate({})
    except ConfigError as error:
        raise ValueError(str(error)) from None
    if number < 1:
        raise ValueError(f"{number} is not a positive number")
    return number


def _axes(value: Any) -> tuple[dict[str, int], ...]:
    """`{m: [1, 2], "a, b": [[3, 4], [5, 6]]}` → every combination, each a dict of integers.

    Lists under one key multiply with the others; a key that names several takes rows in step.
    """
    if not isinstance(value, dict):
        raise ValueError("write keys with lists of integers: `block: [128, 256]`")
    columns: list[list[dict[str, int]]] = []
    seen: set[str] = set()
    for key, rows in value.items():
        names = _axis(key)
        if seen & set(names) or len(set(names)) < len(names):
            raise ValueError(f"{key}: a name is given twice")
        seen |= set(names)
        column = []
        for row in rows if isinstance(rows, list) else [rows]:
            cells = row if isinstance(row, list) else [row]
            if len(cells) != len(names):
                raise ValueError(f"{key}: takes rows of {len(names)} numbers, not {row!r}")
            try:
                column.append(dict(zip(names, map(_positive, cells), strict=True)))
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
        if not column:
            raise ValueError(f"{key}: an empty list")
        columns.append(column)
        if len(column) > MOST_SHAPES:
            raise ValueError(f"{key}: {len(column)} values; at most {MOST_SHAPES}")
    combinations = 1
    for column in columns:
        combinations *= len(column)
    if combinations > MOST_SHAPES:
        raise ValueError(f"{combinations} combinations; at most {MOST_SHAPES}")
    merged = [{k: v for part in parts for k, v in part.items()} for parts in product(*columns)]
    return tuple(dict(t) for t in dict.fromkeys(tuple(m.items()) for m in merged))


def _rounds(value: Any) -> str | int:
    if value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("write `auto`, or an integer")
    if not 6 <= value <= 1000:
        raise ValueError(f"{value}: it must be greater than or equal to 6, and at most 1000")
    return value


def _looks(value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, list | tuple) else [value]
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        raise ValueError("write one or more whole numbers: [8, 16, 24]")
    if numbers[0] < 3 or numbers[-1] > 1000 or sorted(set(numbers)) != list(numbers):
        raise ValueError("the numbers rise, from at least 3 to at most 1000")
    return tuple(numbers)


def _macros(value: Any) -> Any:
    for name in value if isinstance(value, dict) else ():
        if not _MACRO.match(name):
            raise ValueError(f"`{name}` is not the name of a macro")
    return value


def _argument(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("an argument is the name of a buffer or an integer expression")
    return value


AsText = PlainSerializer(str, return_type=str)
AnExpression = Annotated[Expression, BeforeValidator(_expression), AsText]
Extents = Annotated[tuple[AnExpression, ...], BeforeValidator(_extents)]
Axes = Annotated[tuple[dict[str, int], ...], BeforeValidator(_axes)]
Argument = Annotated[str | int, BeforeValidator(_argument)]
Name = Annotated[str, BeforeValidator(_name)]


class Strict(BaseModel):
    """Unknown keys are refused, values are never coerced from text, instances do not change."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )


class Step(Strict):
    """One kernel launch; a variant is one or more, in order."""

    kernel: str = Field(min_length=1, max_length=500)
    grid: Extents
    block: Extents
    shared: AnExpression = Expression("0")
    """Dynamic shared memory, bytes."""
    args: Annotated[list[Argument], Field(max_length=100)]
    """Buffers of the problem by name, or integer expressions."""


class Variant(Strict):
    """One .cu file that tries one idea."""

    source: Annotated[str, BeforeValidator(_inside)]
    defines: Annotated[dict[str, AnExpression], BeforeValidator(_macros)] = {}
    """Macros for the compiler: integer expressions over the launch keys and device facts."""
    let: dict[Name, AnExpression] = {}
    """Names for expressions that several keys below use; each may use those before it."""
    when: AnExpression | None = None
    """Launch shapes and sizes for which the variant exists; others are skipped."""
    overwrites: list[str] = []
    """Inputs that the kernels write to; restored, untimed, before every launch."""
    steps: Annotated[list[Step], Field(min_length=1, max_length=20)]


class Sizes(Strict):
    test: Axes
    """Small adversarial sizes that every backend verifies."""
    bench: Axes
    """Sizes that are timed; the emulator counts those within its budget."""


class Problem(Strict):
    """The variants of one computation, and where to run them."""

    dtypes: Annotated[list[Literal[DTYPES]], Field(min_length=1)]  # type: ignore[valid-type]
    sizes: Sizes
    launch: Axes
    baseline: str
    library: Literal["torch"] | None = None
    variants: Annotated[dict[Name, Variant], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_agree(self) -> Problem:
        if self.baseline not in self.variants:
            raise ValueError(
                f"baseline: `{self.baseline}` is not a variant; "
                f"there are {', '.join(self.variants)}"
            )
        if len(set(self.dtypes)) < len(self.dtypes):
            raise ValueError("dtypes: one of them is listed twice")
        if "torch" in self.variants:
            raise ValueError("variants: `torch` is the library's name; choose another")
        sizes = {frozenset(s) for s in (*self.sizes.test, *self.sizes.bench)}
        if frozenset() in sizes:
            raise ValueError("sizes: test and bench name at least one size, such as `n`")
        if len(sizes) > 1:
            raise ValueError("sizes: test and bench must give the same names")
        if set(self.sizes.bench[0]) & set(self.launch[0]):
            raise ValueError("launch: a launch key has the name of a size")
        return self


class Timing(Strict):
    """How much is measured; docs/measurement.md gives the reasons."""

    rounds: Annotated[Literal["auto"] | int, BeforeValidator(_rounds)] = "auto"
    """Of each case; auto: as many as its interval needs."""
    rounds_per_placement: Annotated[int, Field(ge=1, le=100)] = 3
    placements: Annotated[tuple[int, ...], BeforeValidator(_looks)] = (8, 16, 24)
    """Processes after which one looks what is settled, and the most of them."""
    choosing: Annotated[int, Field(ge=0, le=20)] = 2
    """Placements before those that only choose each variant's launch shape."""
    batch: Annotated[int, Field(ge=1, le=100)] = 12
    """Launches of a variant in a round, at most."""
    interval: Annotated[float, Field(gt=0, lt=1)] = 0.005
    """Half the width that a speed-up's interval should have, as a part of it."""
    flush: Flush = "clean"
    """What emptying the L2 cache leaves in it: nothing, or lines that must be written back."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    same_within: Annotated[float, Field(ge=0, lt=1)] = 0.01
    """Variants whose ratio is certainly this near to 1 are called the same."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 20_260_101
    """Of the test inputs and of every random order; what is timed has inputs of its run alone."""

    @property
    def looks(self) -> tuple[int, ...]:
        """Placements, those that choose left out, after which one may stop."""
        if self.rounds == "auto":
            return self.placements
        return (max(3, math.ceil(self.rounds / self.rounds_per_placement)),)


class Limits(Strict):
    """What bounds a run where a kernel does not end, or a size is too large to emulate."""

    qualify_s: Annotated[int, Field(ge=1, le=86_400)] = 120
    """Deadline for one variant's qualification."""
    launch_s: Annotated[int, Field(ge=1, le=86_400)] = 20
    """Deadline for one launch at a timed size, and what is done around it."""
    measure_s: Annotated[int, Field(ge=1, le=86_400)] = 60
    """Time after which no more placements are added to one problem at one size."""
    emulate_bytes: Annotated[int, BeforeValidator(_positive)] = 16 * 2**20
    """Bench sizes whose compulsory traffic exceeds this are not emulated."""


class Bench(Strict):
    """The whole matrix."""

    problems: Annotated[dict[Name, Problem], Field(min_length=1)]
    timing: Timing = Timing()
    limits: Limits = Limits()
    kernels: Annotated[Path, Field(exclude=True)] = Path("kernels")
    """The folder that holds a folder for each problem: `kernels/` beside the file."""
    document: Annotated[strict_yaml.Document | None, Field(exclude=True)] = None

    def where(self, *path: str | int) -> str:
        """`file:line` of a key, for messages."""
        return self.document.where(path) if self.document else "bench.yaml"


def load(path: Path) -> Bench:
    """The matrix in a file. Raises ConfigError naming file, line, key and what would be right."""
    document = strict_yaml.read(path)
    if not isinstance(document.data, dict) or not document.data:
        raise ConfigError(
            "the matrix is empty", str(path), remedy="it needs `problems:`; see bench.yaml"
        )
    for internal in ("kernels", "document"):
        if internal in document.data:
            raise ConfigError("unknown key", document.where((internal,)), internal)
    try:
        bench = Bench.model_validate(
            {**document.data, "kernels": path.parent / "kernels", "document": document}
        )
    except ValidationError as error:
        raise _explained(document, error) from None
    _check_sources(bench)
    return bench


def _explained(document: strict_yaml.Document, error: ValidationError) -> ConfigError:
    """Pydantic's findings with their places, one a line."""
    findings = []
    for item in error.errors(include_url=False):
        path = tuple(part for part in item["loc"] if part not in ("[key]",))
        what = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            what = "unknown key" + _near(path)
        elif item["type"] == "missing":
            what = "this key is missing"
        key, colon, rest = what.partition(": ")
        if colon and (*path, key) in document.lines:  # a finding about what stands below
            path, what = (*path, key), rest
        findings.append((document.where(path), ".".join(map(str, path)), what))
    where, key, what = findings[0]
    more = "\n".join(f"{w}: {k}: {t}" for w, k, t in findings[1:10])
    return ConfigError(what, where, key, more)


def _near(path: tuple[str | int, ...]) -> str:
    """The keys that stand where an unknown one was found."""
    # problems.<name>, .sizes, .variants.<name>, .steps.<number>
    by_depth: dict[int, type[BaseModel]] = {1: Bench, 3: Problem, 4: Sizes, 5: Variant, 7: Step}
    by_name: dict[str | int, type[BaseModel]] = {"timing": Timing, "limits": Limits}
    model = by_depth[len(path)] if path[0] not in by_name else by_name[path[0]]
    known = [name for name in model.model_fields if name not in ("kernels", "document")]
    return f"; known here: {', '.join(known)}"


def _check_sources(bench: Bench) -> None:
    for problem_name, problem in bench.problems.items():
        folder = (bench.kernels / problem_name).resolve()
        if not (folder / "problem.py").is_file():
            raise ConfigError(
                f"{bench.kernels / problem_name / 'problem.py'} does not exist",
                bench.where("problems", problem_name),
                f"problems.{problem_name}",
                "it states what is computed; docs/adding-a-kernel.md shows one",
            )
        for name, variant in problem.variants.items():
            path = ("problems", problem_name, "variants", name, "source")
            source = (folder / variant.source).resolve()
            if not source.is_relative_to(folder):
                raise ConfigError(
                    f"{variant.source} leads out of {bench.kernels / problem_name}",
                    bench.where(*path),
                    ".".join(path),
                )
            if not source.is_file():
                there = ", ".join(sorted(p.name for p in folder.glob("*.cu"))) or "no .cu file"
                raise ConfigError(
                    f"{bench.kernels / problem_name / variant.source} does not exist",
                    bench.where(*path),
                    ".".join(path),
                    f"the folder holds {there}",
                )
