"""A submission: kernels, and the problem that they have to solve, as plain data.

Both are validated when created. A reference that is a Python function becomes text or an import
path (references.py), so that a submission can be sent to another process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, TypeAdapter
from pydantic.dataclasses import dataclass

from harness.dtypes import BY_NAME
from harness.errors import ConfigError, UsageError
from harness.judge.references import Imported, Reference, Written, reference
from harness.matrix.expressions import Expression
from harness.matrix.values import name as checked_name

CONFIG = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
MOST_KERNELS = 256
"""Of one submission."""

Extent = int | str
"""A number, or an expression over sizes, launch keys and `let`."""


def _extents(value: Any) -> Any:
    """One or several extents, as a tuple."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _shape(value: Any) -> Any:
    """`"rows, cols"`, `"n"`, `["rows", 4]` or `("rows", "cols // 2")`, as the text of
    expressions."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        parts = (parts,)
    found = tuple(str(part).strip() for part in parts)
    for part in found:
        _expression(part)
    return found


def _expression(text: str) -> Expression:
    try:
        return Expression(text)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _named(value: str) -> str:
    checked_name(value)
    return value


def _dtypes(value: Any) -> Any:
    found = (value,) if isinstance(value, str) else value
    for each in found:
        _dtype(each)
    return found


def _dtype(value: str) -> str:
    if value not in BY_NAME:
        raise ValueError(f"{value!r} is no element type; known are {', '.join(BY_NAME)}")
    return value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


_OneOrMore = str | list[str]
Name = Annotated[str, BeforeValidator(_named)]
_SeveralExtents = BeforeValidator(_extents, json_schema_input_type=Extent | list[Extent])
Extents = Annotated[tuple[Extent, ...], _SeveralExtents, Field(min_length=1)]
MaybeExtents = Annotated[tuple[Extent, ...], _SeveralExtents]
Shape = Annotated[
    tuple[str, ...], BeforeValidator(_shape, json_schema_input_type=Extent | list[Extent])
]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=_OneOrMore)]
AReference = Annotated[
    Reference, BeforeValidator(reference, json_schema_input_type=Written | Imported | str)
]
Sizes = dict[str, Any]
"""As in bench.yaml: `{"n": [1, 33]}`, or `{"rows, cols": [[1, 1], [5, 3]]}`."""


def is_path(source: str) -> bool:
    """Return whether a kernel's source is a file name. Code would contain a line break, a brace or
    a semicolon."""
    return source.endswith((".cu", ".cuh", ".ptx")) and not set("\n{;") & set(source)


_PTX = re.compile(r"\s*(?://[^\n]*\n\s*)*\.version\s+\d")
"""How PTX begins."""


@dataclass(config=CONFIG)
class Launch:
    """One launch of a kernel. grid, block: one number or expression per extent."""

    entry: str
    """The kernel's name, as in C++ where it is a template or in a namespace."""
    grid: Extents
    block: Extents
    args: tuple[str | int | float, ...]
    """Arrays of the problem by name, or numbers and expressions."""
    shared: Extent = 0
    """Dynamic shared memory, bytes."""
    cluster: MaybeExtents = ()


@dataclass(config=CONFIG)
class Kernel:
    """CUDA C++ to be judged, and its launch.

    Either one launch, by entry, grid, block and args, or several in `launches`.
    """

    source: Annotated[str, BeforeValidator(_text, json_schema_input_type=str)]
    """The text, or the path of a .cu file; or PTX, as other compilers write it."""
    entry: str = ""
    grid: MaybeExtents = ()
    block: MaybeExtents = ()
    args: tuple[str | int | float, ...] = ()
    shared: Extent = 0
    launches: tuple[Launch, ...] = ()
    """Several launches, one after another, in place of the fields above."""
    name: str = ""
    """By default the file's name, or the entry's."""
    defines: dict[str, Extent] = Field(default_factory=dict)
    """Macros; numbers or expressions."""
    let: dict[str, int | float | str] = Field(default_factory=dict)
    """Names for expressions that the launch uses."""
    launch: Sizes = Field(default_factory=dict)
    """Launch keys with the values to try, such as `{"block": [128, 256]}`."""
    flags: tuple[str, ...] = ()
    """Further options of nvcc."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Name → text of files that the source includes."""
    overwrites: Names = ()
    """Inputs that the kernel may change."""
    expect: dict[str, int | float | str] = Field(default_factory=dict)
    """Budgets, as `expect:` of bench.yaml has them: `{"bank_conflicts": "none"}`."""
    when: str = ""
    """The sizes and launch keys that it is made for, as a condition; it is not run at others."""

    def __post_init__(self) -> None:
        one = bool(self.entry or self.grid or self.block or self.args)
        if one == bool(self.launches):
            raise ValueError("a kernel has entry, grid, block and args, or else `launches`")
        if one and not (self.entry and self.grid and self.block):
            raise ValueError("a launch needs entry, grid and block")

    @property
    def is_file(self) -> bool:
        """Return whether `source` names a file."""
        return is_path(self.source)

    @property
    def file_name(self) -> str:
        """The name of its file in a matrix."""
        is_ptx = self.source.endswith(".ptx") if self.is_file else _PTX.match(self.source)
        return f"{self.title}.ptx" if is_ptx else f"{self.title}.cu"

    @property
    def title(self) -> str:
        """A valid name, also of a file."""
        if self.name:
            return self.name
        told = Path(self.source).stem if self.is_file else self.all_launches[0].entry
        letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in told).strip("_")
        return letters if letters[:1].isalpha() else f"kernel_{letters}".rstrip("_")

    @property
    def all_launches(self) -> Sequence[Launch]:
        if self.launches:
            return self.launches
        return (Launch(self.entry, self.grid, self.block, self.args, self.shared),)


@dataclass(config=CONFIG)
class Problem:
    """The problem for the kernels: a reference, the shapes of its arrays, and sizes.

    Float inputs are passed to the reference as float64, in their shapes.
    """

    reference: AReference
    """A function that takes inputs, sizes and scalars by name, or the inputs in their order: its
    text, or `module:name` or `file.py:name`; from Python, itself."""
    inputs: dict[str, Shape]
    """Name → shape: `"rows, cols"`, numbers and expressions over the sizes."""
    outputs: dict[str, Shape]
    test: Sizes
    """Sizes at which every kernel is verified: small, and awkward."""
    timed: Sizes = Field(default_factory=dict)
    """Sizes that a GPU times; by default the largest of `test`."""
    counted: Sizes = Field(default_factory=dict)
    """Sizes that the emulator counts in place of `timed`."""
    name: Name = "problem"
    dtypes: Annotated[
        tuple[str, ...], BeforeValidator(_dtypes, json_schema_input_type=_OneOrMore)
    ] = ("float32",)
    types: dict[str, Annotated[str, BeforeValidator(_dtype)]] = Field(default_factory=dict)
    """Arrays that always have one type, such as int32 for indices."""
    limits: dict[str, tuple[Extent | float, Extent | float]] = Field(default_factory=dict)
    """Input → the numbers that it is drawn from: from the first up to, but without, the second."""
    scratch: dict[str, Shape] = Field(default_factory=dict)
    zeroed: dict[str, Shape] = Field(default_factory=dict)
    """Arrays that are zero before the first launch, and left zero by each."""
    scalars: dict[str, int | float] = Field(default_factory=dict)
    """Numbers that kernels and the reference take by name."""
    tolerance: float | tuple[float, float] | None = None
    """Of floats: relative, or relative and absolute; by default as torch.testing.assert_close."""
    flops: Extent = 0
    """The arithmetic of the definition, an expression over the sizes."""
    partly_read: Names = ()
    """Inputs of which a right kernel need not read every byte."""
    draw: AReference | None = None
    """In place of random numbers: a function draw(sizes, dtype, rng, draw) → input → values."""
    tensors: bool | None = None
    """Whether the reference takes torch tensors; by default, whether it is one of torch's."""

    def __post_init__(self) -> None:
        if not self.inputs or not self.outputs:
            raise ValueError("a problem has inputs and outputs")
        every = [*self.inputs, *self.outputs, *self.scratch, *self.zeroed]
        if twice := sorted({name for name in every if every.count(name) > 1}):
            raise ValueError(f"`{twice[0]}` is the name of two arrays")
        sizes = self.sizes
        for name, shape in self.arrays.items():
            for part in shape:
                if unknown := sorted(_expression(part).names - set(sizes)):
                    raise ValueError(
                        f"the shape of `{name}` names `{unknown[0]}`, and `test` has no such size; "
                        f"it has {', '.join(sizes)}"
                    )
        for of, names in (("types", self.types), ("limits", self.limits)):
            if strange := [name for name in names if name not in self.arrays]:
                raise ValueError(f"{of} names `{strange[0]}`, which is no array of the problem")

    @property
    def arrays(self) -> Mapping[str, tuple[str, ...]]:
        return {**self.inputs, **self.outputs, **self.scratch, **self.zeroed}

    @property
    def sizes(self) -> list[str]:
        """The names of the sizes."""
        return [part.strip() for key in self.test for part in key.split(",")]

    @property
    def takes(self) -> Sequence[str]:
        """The reference's arguments, by parameter name."""
        known = {*self.inputs, *self.sizes, *self.scalars}
        named = self.reference.parameters
        return named if named and set(named) <= known else tuple(self.inputs)


@dataclass(config=CONFIG)
class ProblemFolder:
    """A problem in an existing folder, with its problem.py and its bench.yaml."""

    folder: str
    like: str = ""
    """The variant there whose launches a kernel takes that has none of its own."""
    test: Sizes = Field(default_factory=dict)
    """In place of the folder's own."""
    counted: Sizes = Field(default_factory=dict)


@dataclass(config=CONFIG)
class Text:
    """A kernel's text alone, launched like a variant of the problem's folder."""

    source: str
    name: str = "candidate"
    headers: dict[str, str] = Field(default_factory=dict)


def _kernel_tag(value: Any) -> str:
    """A text has no launch, which distinguishes it from a whole kernel."""
    if isinstance(value, Mapping):
        return "kernel" if {"entry", "launches", "grid", "block", "args"} & set(value) else "text"
    return "text" if isinstance(value, Text) else "kernel"


def _problem_tag(value: Any) -> str:
    found = "folder" in value if isinstance(value, Mapping) else isinstance(value, ProblemFolder)
    return "folder" if found else "problem"


AKernel = Annotated[
    Annotated[Kernel, Tag("kernel")] | Annotated[Text, Tag("text")], Discriminator(_kernel_tag)
]
AProblem = Annotated[
    Annotated[Problem, Tag("problem")] | Annotated[ProblemFolder, Tag("folder")],
    Discriminator(_problem_tag),
]
Kind = Literal["check", "compare", "time"]


@dataclass(config=CONFIG)
class Submission:
    """One or several kernels for a problem. The first is the baseline."""

    kernels: Annotated[tuple[AKernel, ...], Field(min_length=1, max_length=MOST_KERNELS)]
    problem: AProblem
    kind: Kind = "check"
    arch: str | None = None
    """The architecture to compile for and to emulate; by default sm_90."""
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    """After which no answer is waited for."""
    interval: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Half the width that a speed-up's interval should have, as a fraction of it, on a GPU; by
    default 0.005. A wider one is reached in fewer placements."""

    def __post_init__(self) -> None:
        if isinstance(self.problem, Problem):
            if any(isinstance(each, Text) for each in self.kernels):
                raise ValueError("a kernel without a launch needs a problem's folder to launch as")
        elif any(isinstance(each, Kernel) for each in self.kernels):
            raise ValueError("in a problem's folder a kernel is a text: source, and maybe a name")


SUBMISSION: TypeAdapter[Submission] = TypeAdapter(Submission)


def listed(kernels: Kernel | Text | Sequence[Kernel | Text]) -> tuple[Kernel | Text, ...]:
    """One kernel or several, as a tuple. Raises UsageError if there is none."""
    found = (kernels,) if isinstance(kernels, Kernel | Text) else tuple(kernels)
    if not found:
        raise UsageError("there is no kernel to judge: give at least one")
    return found
