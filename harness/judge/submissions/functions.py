"""Functions in place of kernels: Python functions, and host functions in CUDA C++.

These functions run natively, on a GPU. Therefore only the user who runs the judge can pass them,
from Python; a request to `serve` cannot contain one (docs/judge.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from harness.judge import live_modules
from harness.judge.references import Reference, reference
from harness.judge.submissions.fields import (
    CONFIG,
    Extent,
    Names,
    ShortName,
    ShortPath,
    Sizes,
    Source,
    title,
)  # fmt: skip
from harness.judge.submissions.kernels import is_path


def _function(value: Any) -> Any:
    if live_modules.is_one(value):
        raise ValueError(
            f"{type(value).__name__} is a torch module, and no function\n"
            "  put it into a function of a file, with its values: def forward(x): return model(x)"
        )
    return reference(value)


@dataclass(config=CONFIG)
class PythonFunction:
    """A Python function that works on torch tensors, or a function from a compiled extension.

    The function takes arrays, sizes and scalars by name, or the inputs in their order. It writes
    the outputs that are among its parameters, and returns the others.
    """

    function: Annotated[Reference, BeforeValidator(_function)]
    """The function, or its name as `module:name` or `file.py:name`."""
    name: ShortName = ""
    """The name in the verdict; by default the function's own."""
    launch: Sizes = Field(default_factory=dict)
    """Keys that the function takes by name, with the values to try."""
    overwrites: Names = ()
    """Inputs that the function may change."""
    when: str = ""
    """The sizes and launch keys that the function is made for, as a condition."""

    @property
    def title(self) -> str:
        """A name that is also valid as a file name."""
        return title(self.name or self.function.name)

    @property
    def file_name(self) -> str:
        """The name of the function's file in a matrix."""
        return f"{self.title}.py"


@dataclass(config=CONFIG)
class HostFunction:
    """A host function in CUDA C++, which is called with `args` and then the stream."""

    source: Source
    """The text, or the path of a .cu file."""
    host: ShortName
    """The function's name."""
    args: tuple[str | int | float, ...]
    """Arrays of the problem by name, or numbers and expressions."""
    name: ShortName = ""
    """The name in the verdict; by default the function's own."""
    defines: dict[str, Extent] = Field(default_factory=dict)
    let: dict[str, int | float | str] = Field(default_factory=dict)
    launch: Sizes = Field(default_factory=dict)
    """Keys that `args` use, with the values to try."""
    flags: tuple[str, ...] = ()
    """Further options of nvcc."""
    headers: dict[ShortPath, str] = Field(default_factory=dict)
    """Name → text of files that the source includes."""
    overwrites: Names = ()
    """Inputs that the function may change."""
    when: str = ""
    """The sizes and launch keys that the function is made for, as a condition."""

    def __post_init__(self) -> None:
        if self.is_file and Path(self.source).suffix == ".ptx":
            raise ValueError("a host function is CUDA C++, and PTX has none")

    @property
    def is_file(self) -> bool:
        """Return whether `source` names a file."""
        return is_path(self.source)

    @property
    def title(self) -> str:
        """A name that is also valid as a file name."""
        return title(self.name or self.host)

    @property
    def file_name(self) -> str:
        """The name of the function's file in a matrix."""
        return f"{self.title}.cu"
