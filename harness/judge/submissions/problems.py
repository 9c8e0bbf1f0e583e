"""The problem of a submission, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from harness.judge.submissions.fields import (
    CONFIG,
    AReference,
    Dtype,
    Extent,
    Limits,
    Name,
    Names,
    OneOrMore,
    Scalar,
    Shape,
    ShortPath,
    Sizes,
    Tolerance,
    expression,
    listed_dtypes,
)  # fmt: skip


@dataclass(config=CONFIG)
class Problem:
    """The problem for the kernels: a reference, the shapes of its arrays, and sizes.

    Float inputs are passed to the reference as float64, in their shapes.
    """

    reference: AReference
    """A function that takes inputs, sizes and scalars by name, or the inputs in their order: its
    text, or its name as `module:name` or `file.py:name`; from Python, the function itself."""
    inputs: dict[str, Shape]
    """Name → shape: `"rows, cols"`, numbers and expressions over the sizes."""
    outputs: dict[str, Shape]
    test: Sizes
    """Sizes at which every kernel is verified: small and adversarial."""
    timed: Sizes = Field(default_factory=dict)
    """Sizes that are timed on a GPU; by default the largest of `test`."""
    counted: Sizes = Field(default_factory=dict)
    """Sizes that the emulator counts in place of `timed`."""
    name: Name = "problem"
    dtypes: Annotated[
        tuple[str, ...], BeforeValidator(listed_dtypes, json_schema_input_type=OneOrMore)
    ] = ("float32",)
    types: dict[str, Dtype] = Field(default_factory=dict)
    """Arrays that always have one type, such as int32 for indices."""
    limits: dict[str, Limits] = Field(default_factory=dict)
    """Input → the range of its random values: from the first number up to, but not including, the
    second."""
    scratch: dict[str, Shape] = Field(default_factory=dict)
    zeroed: dict[str, Shape] = Field(default_factory=dict)
    """Arrays that are zero before the first launch, and that every launch leaves zero."""
    scalars: dict[str, Scalar] = Field(default_factory=dict)
    """Numbers that kernels and the reference take by name."""
    tolerance: Tolerance = None
    """The tolerance of floats: relative, or relative and absolute; by default as in
    torch.testing.assert_close."""
    flops: Extent = 0
    """The flops that the definition needs, as an expression over the sizes."""
    partly_read: Names = ()
    """Inputs of which a correct kernel need not read every byte."""
    draw: AReference | None = None
    """In place of random numbers: a function draw(sizes, dtype, rng, draw) → input → values."""
    tensors: bool | None = None
    """True if the reference takes torch tensors; by default, True for a function of torch's own."""

    def __post_init__(self) -> None:
        if not self.inputs or not self.outputs:
            raise ValueError("a problem has inputs and outputs")
        every = [*self.inputs, *self.outputs, *self.scratch, *self.zeroed]
        if twice := sorted({name for name in every if every.count(name) > 1}):
            raise ValueError(f"`{twice[0]}` is the name of two arrays")
        sizes = self.sizes
        for name, shape in self.arrays.items():
            for part in shape:
                if unknown := sorted(expression(part).names - set(sizes)):
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

    folder: ShortPath
    like: str = ""
    """The variant whose launches are used for a kernel that has none of its own."""
    test: Sizes = Field(default_factory=dict)
    """Sizes that replace the folder's own."""
    counted: Sizes = Field(default_factory=dict)
