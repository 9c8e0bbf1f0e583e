"""Record a candidate's operations on tensors without values: launches, arrays, fills and copies.

The candidate's Python runs with torch's meta tensors, which have shapes but no data, so it cannot
depend on any value. Every torch operation that it calls is intercepted: views and new arrays are
tracked, fills and copies become launches of the harness's own kernels, and any other operation is
rejected, because only kernels are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.judge.candidates.errors import Refused

_VIEWS = {
    "view", "_unsafe_view", "_reshape_alias", "as_strided", "transpose", "t", "permute", "expand",
    "squeeze", "unsqueeze", "select", "slice", "detach", "alias", "split", "split_with_sizes",
    "unbind", "diagonal", "unfold", "lift_fresh", "view_as_real", "movedim", "narrow", "chunk",
}  # fmt: skip
_EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"}
_FILLED = {
    "zeros": 0, "zeros_like": 0, "new_zeros": 0, "ones": 1, "ones_like": 1, "new_ones": 1,
    "full": None, "full_like": None, "new_full": None,
}  # fmt: skip
"""Operation → its fill value; None if that value is the argument after the shape."""

_NO_VALUE = {"_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero"}
MOST_DIMENSIONS = 8
MOST_STEPS = 256
_NAMES = {
    "torch.float32": "float32", "torch.float64": "float64", "torch.float16": "float16",
    "torch.bfloat16": "bfloat16", "torch.int32": "int32", "torch.int64": "int64",
    "torch.int16": "int16", "torch.int8": "int8", "torch.uint8": "uint8", "torch.bool": "bool",
    "torch.float8_e4m3fn": "float8_e4m3", "torch.float8_e5m2": "float8_e5m2",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A pointer to an array element. `type`: its pointee type in C++."""

    array: str
    offset: int = 0
    """The offset, in elements."""
    type: str = ""


@dataclass
class Recording:
    """The recording so far. `arrays`: name → element count and type. `steps`: launches in order."""

    arrays: dict[str, tuple[int, str]] = field(default_factory=dict)
    scratch: list[str] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    refusal: str = ""
    """The first refusal; a candidate that catches it gains nothing."""
    overwritten: list[str] = field(default_factory=list)
    """Inputs that the candidate returns, and therefore may change."""
    whose: dict[int, str] = field(default_factory=dict)
    strangers: dict[int, str] = field(default_factory=dict)
    """Storage that is not an input of the problem → its name."""
    _kept: list[Any] = field(default_factory=list)
    _item: dict[str, int] = field(default_factory=dict)

    def refuse(self, why: str) -> Refused:
        self.refusal = self.refusal or why
        return Refused(why)

    def given(self, name: str, tensor: Any) -> None:
        """Add an array that exists before the first launch."""
        self._keep(name, tensor)

    def made(self, tensor: Any) -> Any:
        """Add a new, uninitialised array."""
        name = f"scratch{len(self.scratch)}"
        self.scratch.append(name)
        self._keep(name, tensor)
        return tensor

    def _keep(self, name: str, tensor: Any) -> None:
        kind = type_name(tensor)
        if kind is None:
            raise self.refuse(f"a tensor of {tensor.dtype} is of a type that kernels cannot have")
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        if not count:
            raise self.refuse("it makes a tensor without elements")
        self.arrays[name] = (count, kind)
        self._item[name] = tensor.element_size()
        self.whose[key(tensor)] = name
        self._kept.append(tensor)  # so that its memory is not reused

    def place(self, tensor: Any, type_: str = "") -> Place:
        """The address of a tensor's first element. Raises Refused for a tensor without storage."""
        own = key(tensor)
        if own not in self.whose:
            told = self.strangers.get(own) or f"a tensor of shape {tuple(tensor.shape)}"
            raise self.refuse(
                f"{told} is neither an input of the problem, nor a parameter of its module, nor "
                "made by `forward`: its values are not known"
            )
        name = self.whose[own]
        if type_name(tensor) != self.arrays[name][1]:
            raise self.refuse(f"a view of another type than its array: {tensor.dtype}")
        return Place(name, tensor.storage_offset(), type_)

    def launch(
        self, kernel: str, module: int, grid: Sequence[int], block: Sequence[int], shared: int,
        arguments: Sequence[Any],
    ) -> None:  # fmt: skip
        if len(self.steps) >= MOST_STEPS:
            raise self.refuse(f"it launches more than {MOST_STEPS} kernels")
        self.steps.append(
            {"kernel": kernel, "module": module, "grid": list(grid), "block": list(block),
             "shared": shared, "args": list(arguments)}
        )  # fmt: skip

    def clear(self, at: Place, nbytes: int) -> None:
        """Launch the harness's kernel that zeroes bytes."""
        self.launch(
            "harness_fill_1", -1, [max(1, -(-nbytes // 256))], [256], 0,
            [at.array, at.offset * self._item[at.array], 0, nbytes],
        )  # fmt: skip

    def fill(self, tensor: Any, value: Any) -> Any:
        """Launch the harness's kernel that fills an array, or a contiguous part of it."""
        if not tensor.numel():
            return tensor
        if not is_dense(tensor):
            raise self.refuse("it fills a part of an array that is not one piece")
        at, size = self.place(tensor), tensor.element_size()
        bits = torch.tensor([value], dtype=tensor.dtype, device="cpu").view(_BITS[size])
        word = int(bits.item()) & (2 ** (8 * size) - 1)
        self.launch(
            f"harness_fill_{size}", -1, [-(-tensor.numel() // 256)], [256], 0,
            [at.array, at.offset, signed(word, size), tensor.numel()],
        )  # fmt: skip
        return tensor

    def copy(self, source: Any, into: Any) -> Any:
        """Launch the harness's kernel that copies element by element, with any strides."""
        if source.dtype != into.dtype:
            raise self.refuse(f"it converts a tensor of {source.dtype} to {into.dtype} by torch")
        if source.shape != into.shape:
            source = source.expand(into.shape)
        if source.dim() > MOST_DIMENSIONS:
            raise self.refuse(f"it copies a tensor of more than {MOST_DIMENSIONS} dimensions")
        if not into.numel():
            return into
        given, own = self.place(source), self.place(into)
        none = [0] * (MOST_DIMENSIONS - source.dim())
        size = into.element_size()
        self.launch(
            f"harness_copy_{size}", -1, [-(-into.numel() // 256)], [256], 0,
            [given.array, own.array, into.numel(), given.offset, own.offset,
             *[1 for _ in none], *source.shape, *none, *source.stride(), *none, *into.stride()],
        )  # fmt: skip
        return into


class Seen(TorchDispatchMode):  # type: ignore[misc]
    """Intercepts every torch operation while active."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        name = function._schema.name.partition("::")[2]
        kwargs, own = dict(kwargs or {}), self._recording
        try:
            return self._done(name, function, args, kwargs)
        except Refused:
            raise
        except Exception as error:  # for example, a shape that does not fit
            told = str(error).splitlines() or [type(error).__name__]
            raise own.refuse(f"torch's `{name}` raises: {told[0]}") from None

    def _done(self, name: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        own = self._recording
        if name in _VIEWS:
            return function(*args, **kwargs)
        if name in _EMPTY:
            return own.made(function(*args, **kwargs))
        if name in _FILLED:
            value = _FILLED[name]
            if value is None:
                value = kwargs["fill_value"] if "fill_value" in kwargs else args[-1]
            return own.fill(own.made(function(*args, **kwargs)), value)
        if name in ("fill_", "zero_") and not isinstance(args[-1] if name == "fill_" else 0,
                                                         torch.Tensor):  # fmt: skip
            return own.fill(args[0], args[1] if name == "fill_" else 0)
        if name == "clone":
            return own.copy(args[0], own.made(function(*args, **kwargs)))
        if name == "copy_":
            return own.copy(args[1], args[0])
        if name in _NO_VALUE:
            raise own.refuse("it asks for a tensor's value on the host, which no launch may "
                             "depend on")  # fmt: skip
        raise own.refuse(
            f"it calls torch's `{name}` in `forward`: only what its own kernels compute is judged"
        )


_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def key(tensor: Any) -> int:
    """The identity of the storage that a tensor is a view of."""
    return int(tensor.untyped_storage()._cdata)


def is_dense(tensor: Any) -> bool:
    """Return whether a tensor's elements are contiguous in memory, in any order."""
    pairs = sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n != 1)
    expected = 1
    for stride, extent in pairs:
        if stride != expected:
            return False
        expected *= extent
    return True


def signed(word: int, size: int) -> int:
    return word - (1 << 8 * size) if word >> (8 * size - 1) else word


def type_name(tensor: Any) -> str | None:
    """The harness's name for a tensor's type."""
    return _NAMES.get(str(tensor.dtype))


def exact(value: Any) -> Any:
    """The value as a number of a built-in Python type, which JSON can hold."""
    if isinstance(value, np.floating):
        return float(value)
    return int(value) if isinstance(value, bool | np.integer) else value
