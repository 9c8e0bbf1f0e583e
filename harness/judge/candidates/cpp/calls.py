"""The C++ methods of tensors and related objects, and torch's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from harness.judge.candidates.cpp.values import CUDA, Dim3, Ignored, Options, dtype_of
from harness.judge.candidates.errors import Refused
from harness.judge.candidates.recording import Place, Recording

METHODS = {
    "numel", "size", "dim", "ndimension", "stride", "sizes", "strides", "options", "dtype",
    "scalar_type", "type", "device", "is_cuda", "is_contiguous", "defined", "data_ptr", "data",
    "mutable_data_ptr", "const_data_ptr", "element_size", "itemsize", "nbytes", "get_device",
}  # fmt: skip
_CREATED = {
    "empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like",
}  # fmt: skip


class Methods:
    """`of_type`: substitutes template parameters in a type's text."""

    def __init__(self, recording: Recording, of_type: Callable[[str], str]) -> None:
        self._recording, self._of_type = recording, of_type

    def member(self, of: Any, name: str) -> Any:
        """Evaluate a member access that is not a call."""
        if isinstance(of, Dim3) and name in ("x", "y", "z"):
            return getattr(of, name)
        if isinstance(of, list) and name in ("first", "second"):
            return of[name == "second"]
        raise Refused(f"`.{name}` in its host code is not known")

    def item(self, of: Any, index: Any) -> Any:
        if isinstance(of, list) and isinstance(index, int):
            if not 0 <= index < len(of):
                raise Refused("its host code reads beyond a list")
            return of[index]
        if isinstance(of, torch.Tensor) and isinstance(index, int):
            return of[index]
        raise Refused("an index in host code into what is no list")

    def behind(self, value: Any) -> Any:
        """Evaluate `*value`."""
        if isinstance(value, torch.Tensor):  # `value` is an optional
            return value
        raise Refused("its host code reads what a pointer points to, which has no value here")

    def call(self, of: Any, name: str, template: Sequence[str], given: list[Any]) -> Any:
        """Evaluate the method call `of.name<template>(given)`."""
        if isinstance(of, torch.Tensor):
            return self._of_tensor(of, name, template, given)
        if isinstance(of, Options):
            return self._of_options(of, name, given)
        if isinstance(of, list):
            return _of_list(of, name, given)
        if isinstance(of, Ignored):
            if name in ("stream", "is_cuda", "type", "index", "device_index", "device"):
                return of if name != "is_cuda" else True
        elif of is None and name in ("has_value", "defined"):
            return False
        raise Refused(f"`.{name}()` in its host code is not known")

    def _of_tensor(self, of: Any, name: str, template: Sequence[str], given: list[Any]) -> Any:
        if name in ("data_ptr", "data", "mutable_data_ptr", "const_data_ptr"):
            return self._pointer(of, template)
        if name in ("item", "cpu", "accessor"):
            raise Refused(f"`.{name}()` reads a tensor on the host, which has no values here")
        if "accessor" in name:
            raise Refused(f"`.{name}` makes a structure for a kernel, which is not read")
        if name == "to":
            return self._to(of, given)
        plain: dict[str, Callable[[], Any]] = {
            "numel": of.numel, "dim": of.dim, "ndimension": of.dim, "options": lambda: Options(
                of.dtype), "dtype": lambda: of.dtype, "scalar_type": lambda: of.dtype,
            "type": lambda: of.dtype, "device": lambda: CUDA, "is_cuda": lambda: True,
            "is_contiguous": of.is_contiguous, "defined": lambda: True, "cuda": lambda: of,
            "has_value": lambda: True, "value": lambda: of, "sizes": lambda: list(of.shape),
            "strides": lambda: list(of.stride()), "element_size": of.element_size,
            "itemsize": of.element_size, "nbytes": lambda: of.numel() * of.element_size(),
            "get_device": lambda: 0, "is_floating_point": lambda: of.dtype.is_floating_point,
            "requires_grad": lambda: False, "detach": of.detach,
        }  # fmt: skip
        if name in plain and not given:
            return plain[name]()
        if name in ("size", "stride"):
            return int(getattr(of, name)(given[0]))
        method = getattr(of, name, None)
        if method is None or name.startswith("_"):
            raise Refused(f"`.{name}()` of a tensor in its host code is not known")
        arguments, kind = _plain(given)
        return _called(method, arguments, {} if kind is None else {"dtype": kind}, name)

    def _pointer(self, of: Any, template: Sequence[str]) -> Place:
        if not template:
            return self._recording.place(of, "void")
        kind = self._of_type(template[0])
        wanted = dtype_of(kind)
        if wanted is None:
            raise Refused(f"`data_ptr<{kind}>` in its host code is not known")
        if wanted is not of.dtype:
            raise Refused(f"`data_ptr<{kind}>` of a tensor of {of.dtype}, which torch refuses")
        return self._recording.place(of, kind)

    def _to(self, of: Any, given: list[Any]) -> Any:
        _arguments, kind = _plain(given)
        if kind is None or kind is of.dtype:
            return of
        raise Refused("its host code converts a tensor to another type by torch")

    def _of_options(self, of: Options, name: str, given: list[Any]) -> Options:
        if name == "dtype" and not given:
            return of.dtype
        if name == "dtype":
            return replace(of, dtype=given[0])
        if name in ("device", "requires_grad", "memory_format", "layout", "pinned_memory"):
            return of
        raise Refused(f"`.{name}()` of TensorOptions is not known")


def function_of_torch(name: str, given: list[Any], recording: Recording) -> Any:
    """Call torch::name(given), which the recording treats as a call from Python into torch."""
    if name in ("IntArrayRef", "ArrayRef"):
        return given[0]
    if name in ("dtype", "device", "requires_grad", "TensorOptions"):
        types = [each for each in given if isinstance(each, torch.dtype)]
        return Options(*types)
    arguments, kind = _plain(given)
    if name in ("empty", "zeros", "ones", "full") and kind is None:
        kind = torch.float32
    function = getattr(torch, name, None)
    if function is None:
        raise Refused(f"`torch::{name}` in its host code is not known")
    more: dict[str, Any] = {} if kind is None else {"dtype": kind}
    if name in _CREATED:
        more["device"] = "meta"
    return _called(function, arguments, more, f"torch::{name}")


def _called(function: Any, arguments: list[Any], more: dict[str, Any], name: str) -> Any:
    try:
        return function(*arguments, **more)
    except Refused:
        raise
    except Exception as error:
        told = str(error).splitlines() or [type(error).__name__]
        raise Refused(f"`{name}` in its host code: {told[0]}") from None


def _plain(given: list[Any]) -> tuple[list[Any], Any]:
    """The arguments in Python's form, and the type that options or a keyword among them select."""
    kind, found = None, []
    for each in given:
        if isinstance(each, Options):
            kind = each.dtype
        elif isinstance(each, torch.dtype):
            kind = each
        elif isinstance(each, Ignored):
            continue
        elif isinstance(each, int | float | list | torch.Tensor | None):
            found.append(float(each) if isinstance(each, float) else each)
        elif hasattr(each, "item"):
            found.append(each.item())
        else:
            raise Refused("an argument of torch in host code is not known")
    return found, kind


def _of_list(of: list[Any], name: str, given: list[Any]) -> Any:
    if name in ("size", "length"):
        return len(of)
    if name in ("vec", "begin"):
        return of
    if name == "empty":
        return not of
    if name in ("push_back", "emplace_back"):
        of.append(given[0])
        return None
    if name == "back" and of:
        return of[-1]
    if name == "slice" and len(given) <= 2:
        return of[given[0] :] if len(given) == 1 else of[given[0] : given[0] + given[1]]
    raise Refused(f"`.{name}()` of a list in its host code is not known")
