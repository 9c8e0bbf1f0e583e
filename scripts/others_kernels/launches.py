"""Read kernels.yaml: launches of other people's kernels, and the contents of their buffers.

This module needs only NumPy and PyYAML, so that it runs on a minimal machine. A buffer's contents
depend on its launch's name, its own name and raw 64-bit random numbers, which NumPy guarantees not
to change between releases.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

Array = NDArray[Any]

LIST = Path(__file__).with_name("kernels.yaml")
ARCH = "sm_90"

_BUFFER = re.compile(r"(?P<dtype>\w+)\[(?P<length>\d+)\](?: (?P<fill>\w+)\((?P<args>.*)\))?")
_VALUE = re.compile(r"(?P<dtype>\w+) (?P<value>.+)")


class ListError(ValueError):
    """kernels.yaml contains an invalid entry."""


@dataclass(frozen=True)
class Buffer:
    """An array in global memory, or the value of a variable."""

    name: str
    dtype: str
    length: int
    fill: str = "zeros"
    args: tuple[float, ...] = ()

    def contents(self, launch: str) -> Array:
        """Generate the contents that the buffer has before the launch of this name."""
        draws = np.random.PCG64(zlib.crc32(f"{launch} {self.name}".encode()))
        raw = np.asarray(draws.random_raw(self.length), np.uint64)
        return np.ascontiguousarray(FILLS[self.fill](raw, np.dtype(self.dtype), *self.args))


@dataclass(frozen=True)
class Scalar:
    """A number passed by value, or a struct whose members all have one type."""

    name: str
    dtype: str
    values: tuple[float, ...]

    def packed(self) -> bytes:
        return np.array(self.values, self.dtype).tobytes()


@dataclass(frozen=True)
class Source:
    """A file of a repository, and its compiler options. `include`: the repository's folders of
    headers."""

    repository: str
    commit: str
    licence: str
    path: str
    sha256: str
    include: tuple[str, ...]
    flags: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The folder name of the repository's checkout."""
        return self.repository.replace("/", "+")

    @property
    def stem(self) -> str:
        """The file name of its cubin and PTX, without the extension."""
        path = Path(self.path)
        return f"{self.repository.split('/')[1]}-{path.parent.name}-{path.stem}"


@dataclass(frozen=True)
class Launch:
    """One launch. `unordered`: the buffers whose elements have no guaranteed order."""

    name: str
    source: Source
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    args: tuple[Buffer | Scalar, ...]
    variables: tuple[Buffer, ...]
    unordered: frozenset[str] = field(default=frozenset())

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        return tuple(arg for arg in self.args if isinstance(arg, Buffer))

    def in_order(self, name: str, contents: Array) -> Array:
        """Bring a result into comparable form: sort it if its order is not guaranteed."""
        return np.sort(contents) if name in self.unordered else contents


def read(path: Path = LIST) -> list[Launch]:
    """Every launch of the list. Raises ListError, which names the launch."""
    found: list[Launch] = []
    for repository in yaml.safe_load(path.read_text(encoding="utf-8")):
        for file in repository["files"]:
            source = Source(
                repository["repository"], repository["commit"], repository["licence"],
                file["path"], file["sha256"],
                (*repository.get("include", ()), *file.get("include", ())),
                (*repository.get("flags", ()), *file.get("flags", ())),
            )  # fmt: skip
            found += [_launch(source, entry) for entry in file["launches"]]
    names = [launch.name for launch in found]
    for name in names:
        if names.count(name) > 1:
            raise ListError(f"{path.name}: {name} is there twice")
    return found


def _launch(source: Source, entry: Mapping[str, Any]) -> Launch:
    name = entry["name"]
    try:
        args = tuple(_argument(*pair) for each in entry.get("args", ()) for pair in each.items())
        variables = tuple(_buffer(*pair) for pair in entry.get("variables", {}).items())
    except ListError as error:
        raise ListError(f"{LIST.name}: {name}: {error}") from None
    return Launch(
        name, source, entry["kernel"], _extents(entry["grid"]), _extents(entry["block"]),
        entry.get("shared", 0), args, variables, frozenset(entry.get("unordered", ())),
    )  # fmt: skip


def _extents(given: int | list[int]) -> tuple[int, int, int]:
    x, y, z = [*([given] if isinstance(given, int) else given), 1, 1][:3]
    return x, y, z


def _argument(name: str, text: str) -> Buffer | Scalar:
    """Parse an argument: `float32[64] uniform(-1, 1)`, `int32 64` or `float64 (0.5, 4)`."""
    if "[" in text:
        return _buffer(name, text)
    match = _VALUE.fullmatch(text)
    if match is None:
        raise ListError(f"{name}: {text!r} is no type with a value")
    value = ast.literal_eval(match["value"])
    return Scalar(name, match["dtype"], value if isinstance(value, tuple) else (value,))


def _buffer(name: str, text: str) -> Buffer:
    match = _BUFFER.fullmatch(text)
    if match is None or (match["fill"] or "zeros") not in FILLS:
        raise ListError(f"{name}: {text!r} is no type[length] with one of {', '.join(FILLS)}")
    args = ast.literal_eval(f"({match['args']},)") if match["args"] else ()
    return Buffer(name, match["dtype"], int(match["length"]), match["fill"] or "zeros", args)


def _zeros(raw: Array, dtype: np.dtype[Any]) -> Array:
    return np.zeros(len(raw), dtype)


def _uniform(raw: Array, dtype: np.dtype[Any], low: float, high: float) -> Array:
    """Uniform floats, in steps of 2^-24 of the range."""
    share = (raw >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return (low + (high - low) * share).astype(dtype)


def _brain_floats(raw: Array, dtype: np.dtype[Any], low: float, high: float) -> Array:
    """Uniform floats as bfloat16, whose bits are the upper half of a float's."""
    return (_uniform(raw, np.dtype(np.float32), low, high).view(np.uint32) >> 16).astype(dtype)


def _integers(raw: Array, dtype: np.dtype[Any], low: int, high: int) -> Array:
    """Uniform integers from low up to, but not including, high."""
    return (low + (raw % np.uint64(high - low)).astype(np.int64)).astype(dtype)


def _sorted(raw: Array, dtype: np.dtype[Any], low: int, high: int, run: int = 0) -> Array:
    """Integers in ascending order or, if `run` is not 0, in sorted runs of that length."""
    found = _integers(raw, dtype, low, high)
    return np.sort(found.reshape(-1, run or len(found)), axis=1).ravel()


def _bits(raw: Array, dtype: np.dtype[Any]) -> Array:
    return raw.astype(f"u{dtype.itemsize}").view(dtype)


def _steps(raw: Array, dtype: np.dtype[Any], start: float, by: float, modulo: int = 0) -> Array:
    found = start + by * np.arange(len(raw))
    return (found % modulo if modulo else found).astype(dtype)


def _choose(raw: Array, dtype: np.dtype[Any], *values: float) -> Array:
    return np.array(values, dtype)[(raw >> np.uint64(8)) % np.uint64(len(values))]


def _repeat(raw: Array, dtype: np.dtype[Any], *values: float) -> Array:
    return np.resize(np.array(values, dtype), len(raw))


def _permutation(raw: Array, dtype: np.dtype[Any]) -> Array:
    return np.argsort(raw, kind="stable").astype(dtype)


FILLS: Mapping[str, Callable[..., Array]] = {
    "zeros": _zeros,
    "uniform": _uniform,
    "brain_floats": _brain_floats,
    "integers": _integers,
    "sorted": _sorted,
    "bits": _bits,
    "steps": _steps,
    "choose": _choose,
    "repeat": _repeat,
    "permutation": _permutation,
}


def sources(launches: list[Launch]) -> Iterator[Source]:
    """Yield each source file once, in the order of the list."""
    yield from dict.fromkeys(launch.source for launch in launches)
