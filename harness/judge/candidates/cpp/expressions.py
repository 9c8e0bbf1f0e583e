"""Evaluate host code: expressions, calls and launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from harness.judge.candidates.cpp import syntax as cpp
from harness.judge.candidates.cpp import tree
from harness.judge.candidates.cpp.calls import Methods, function_of_torch
from harness.judge.candidates.cpp.operators import computed, like
from harness.judge.candidates.cpp.text import Function, Parted
from harness.judge.candidates.cpp.values import (
    C_TYPES,
    CUDA,
    DTYPES,
    STREAM,
    Dim3,
    Ignored,
    KernelName,
    Options,
    converted,
    dim3,
    literal,
    size_of,
    told,
)  # fmt: skip
from harness.judge.candidates.errors import Refused
from harness.judge.candidates.recording import Place, Recording, exact

Scopes = list[dict[str, Any]]
"""Nested scopes, the innermost last; each maps names to values."""

_CHECKS = {"TORCH_CHECK", "AT_ASSERTM", "AT_ASSERT", "TORCH_INTERNAL_ASSERT", "assert",
           "TORCH_CHECK_EQ", "AT_ERROR"}  # fmt: skip
_NOTHING = {
    "C10_CUDA_KERNEL_LAUNCH_CHECK", "C10_CUDA_CHECK", "AT_CUDA_CHECK", "CUDA_CHECK", "printf",
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaGetLastError", "cudaPeekAtLastError",
    "cudaFuncSetAttribute", "cudaFuncSetCacheConfig", "cudaGetErrorString", "fprintf",
    "TORCH_WARN", "TORCH_WARN_ONCE", "getCurrentCUDAStream", "getDefaultCUDAStream",
    "CUDAGuard", "OptionalCUDAGuard", "DeviceGuard", "device_of", "Device",
    "cudaSetDevice",
}  # fmt: skip
_WORDS = {
    "true": True, "false": False, "nullptr": 0, "NULL": 0, "nullopt": None, "cudaSuccess": 0,
    "INT_MAX": 2**31 - 1, "FLT_MAX": np.float32(3.4028234663852886e38), "M_PI": np.float64(np.pi),
    "cudaFuncAttributeMaxDynamicSharedMemorySize": 8, "kCUDA": CUDA, "kCPU": CUDA,
    "INFINITY": np.float32(np.inf), "cudaFuncAttributePreferredSharedMemoryCarveout": 9,
}  # fmt: skip
_MATH: Mapping[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "sqrtf": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp,
    "expf": np.exp, "log": np.log, "logf": np.log, "log2": np.log2, "log2f": np.log2,
    "ceil": np.ceil, "ceilf": np.ceil, "floor": np.floor, "floorf": np.floor, "pow": np.power,
    "powf": np.power, "abs": abs, "fabs": abs, "fabsf": abs, "tanh": np.tanh,
}  # fmt: skip


_PLAIN: Mapping[str, Callable[..., Any]] = {
    "min": min, "max": max, "move": lambda x: x, "forward": lambda x: x,
    "make_tuple": lambda *all: list(all), "make_pair": lambda *all: list(all),
}  # fmt: skip


class Returned(Exception):
    """`return` in host code."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Expressions:
    """Expression evaluation; `Host` (run.py) adds statements."""

    _text: Parted
    _number: int
    _recording: Recording
    _constants: dict[str, Any]
    _types: list[dict[str, str]]
    _methods: Methods

    def _called(self, function: Function, given: list[Any], templates: Sequence[str]) -> Any:
        raise NotImplementedError

    def _function(self, name: str, count: int) -> Function:
        raise NotImplementedError

    def _block(self, block: tree.Block, scopes: Scopes) -> None:
        raise NotImplementedError

    def _do(self, what: tree.Statement, scopes: Scopes) -> None:
        raise NotImplementedError

    def _truth(self, what: tree.Expr, scopes: Scopes) -> bool:
        found = self._value(what, scopes)
        if isinstance(found, Ignored | torch.Tensor):
            raise Refused(f"its host code decides by a {told(found)}")
        return bool(found)

    def _value(self, what: Any, scopes: Scopes) -> Any:
        if what is None:
            return None
        return _OF_KIND[type(what)](self, what, scopes)

    def _literal(self, what: tree.Number, scopes: Scopes) -> Any:
        return literal(what.text)

    def _text_of(self, what: tree.Text, scopes: Scopes) -> Any:
        return what.text

    def _step(self, what: tree.Step, scopes: Scopes) -> Any:
        before = self._value(what.of, scopes)
        after = computed("+", before, what.by)
        self._assign(what.of, after, scopes)
        return after if what.is_before else before

    def _either(self, what: tree.Either, scopes: Scopes) -> Any:
        chosen = what.yes if self._truth(what.condition, scopes) else what.no
        return self._value(chosen, scopes)

    def _assigned(self, what: tree.Assign, scopes: Scopes) -> Any:
        value = self._value(what.value, scopes)
        if what.sign:
            value = computed(what.sign, self._value(what.target, scopes), value)
        self._assign(what.target, value, scopes)
        return value

    def _cast(self, what: tree.Cast, scopes: Scopes) -> Any:
        return converted(self._value(what.of, scopes), self._of_type(what.type), "a cast")

    def _member(self, what: tree.Member, scopes: Scopes) -> Any:
        return self._methods.member(self._value(what.of, scopes), what.name)

    def _item(self, what: tree.Item, scopes: Scopes) -> Any:
        of, index = self._value(what.of, scopes), self._value(what.index, scopes)
        return self._methods.item(of, index)

    def _braces(self, what: tree.Braces, scopes: Scopes) -> Any:
        items = [self._value(each, scopes) for each in what.items]
        return dim3(items) if what.type == "dim3" and items else items

    def _lambda(self, what: tree.Lambda, scopes: Scopes) -> Any:
        raise Refused("a function without a name in its host code is not read")

    def _named(self, what: tree.Name, scopes: Scopes) -> Any:
        for scope in reversed(scopes):
            if what.path in scope:
                return scope[what.path]
        last = what.path.rpartition("::")[2]
        if what.path in self._types[-1]:
            return self._value(cpp.value_of(self._types[-1][what.path]), [{}])
        if last in self._text.kernels:
            return KernelName(last)
        for known in (what.path, last):
            if known in _WORDS:
                return _WORDS[known]
        for start in ("torch::", "at::", "c10::", ""):
            if (found := DTYPES.get(what.path.removeprefix(start))) is not None:
                return found
        return self._constant(last)

    def _constant(self, name: str) -> Any:
        """Evaluate a top-level statement, such as `const int TILE = 16;`."""
        if name in self._constants:
            return self._constants[name]
        for own in self._text.constants:
            names = [token.text for token in own]
            if name not in names or "=" not in names or "__device__" in names:
                continue
            left = [word for word in names if word not in ("__constant__", "static", "inline")]
            if "__constant__" in names:
                continue
            statement = cpp.block([t for t in own if t.text in left], self._text.macros)
            scope: dict[str, Any] = {}
            for each in statement.statements:
                self._do(each, [scope])
            if name in scope:
                self._constants |= scope
                return scope[name]
        raise Refused(f"`{name}` in its host code is not known")

    def _unary(self, what: tree.Unary, scopes: Scopes) -> Any:
        if what.sign == "&":
            return self._value(what.of, scopes)
        value = self._value(what.of, scopes)
        if what.sign == "*":
            return self._methods.behind(value)
        if isinstance(value, Ignored | torch.Tensor | str):
            raise Refused(f"`{what.sign}` of a {told(value)} in host code")
        if what.sign == "!":
            return not value
        if what.sign == "~":
            return ~value
        return -value if what.sign == "-" else value

    def _binary(self, what: tree.Binary, scopes: Scopes) -> Any:
        if what.sign in ("&&", "||"):
            left = self._truth(what.left, scopes)
            if left == (what.sign == "||"):
                return left
            return self._truth(what.right, scopes)
        return computed(what.sign, self._value(what.left, scopes), self._value(what.right, scopes))

    def _assign(self, target: tree.Expr, value: Any, scopes: Scopes) -> None:
        match target:
            case tree.Name():
                for scope in reversed(scopes):
                    if target.path in scope:
                        scope[target.path] = like(scope[target.path], value, target.path)
                        return
            case tree.Member():
                of = self._value(target.of, scopes)
                if isinstance(of, Dim3) and target.name in ("x", "y", "z"):
                    setattr(of, target.name, converted(value, "unsigned int", target.name))
                    return
            case tree.Item():
                of, index = self._value(target.of, scopes), self._value(target.index, scopes)
                if isinstance(of, list) and isinstance(index, int) and 0 <= index < len(of):
                    of[index] = value
                    return
            case _:
                pass
        raise Refused("its host code assigns to what is not known")

    # Calls

    def _call(self, what: tree.Call, scopes: Scopes) -> Any:
        function = what.function
        if isinstance(function, tree.Member):
            of = self._value(function.of, scopes)
            given = [self._value(each, scopes) for each in what.arguments]
            return self._methods.call(of, function.name, function.template or (), given)
        if not isinstance(function, tree.Name):
            raise Refused("a call in host code of what has no name")
        last = function.path.rpartition("::")[2]
        if last.startswith("AT_DISPATCH_"):
            return self._dispatched(what, scopes)
        if last in _CHECKS:
            return self._check(what, scopes)
        if last in _NOTHING:
            for each in what.arguments:  # launches and arrays in it are recorded
                if isinstance(each, tree.Call) and not isinstance(each.function, tree.Member):
                    self._value(each, scopes)
            return 0 if last.startswith(("cuda", "C10", "AT_")) else STREAM
        if last == "sizeof":
            return size_of(self._of_type((function.template or ("",))[0]))
        given = [self._value(each, scopes) for each in what.arguments]
        templates = [self._of_type(each) for each in function.template or ()]
        if last in self._text.functions:
            return self._called(self._function(last, len(given)), given, templates)
        if last in ("cudaMemset", "cudaMemsetAsync"):
            return self._memset(given)
        return self._of_library(function.path, last, templates, given)

    def _of_library(self, path: str, last: str, templates: list[str], given: list[Any]) -> Any:
        """Look up names predefined by C++, CUDA and torch."""
        if last in ("static_cast", "reinterpret_cast", "const_cast"):
            return converted(given[0], templates[0], "a cast")
        if last == "get" and len(given) == 1 and templates[:1] and templates[0].isdigit():
            return self._methods.item(given[0], int(templates[0]))
        if last in _PLAIN:
            return _PLAIN[last](*given)
        if last in _MATH and all(isinstance(each, int | np.floating) for each in given):
            return _MATH[last](*given)
        if path in cpp.PLAIN_TYPES or "vector" in path or path in self._types[-1]:
            kind = self._of_type(path)
            if kind == "dim3":
                return dim3(given)
            return converted(given[0], kind) if given else 0
        if last == "TensorOptions":
            return Options()
        if path.startswith(("torch::", "at::")):
            return function_of_torch(last, given, self._recording)
        raise Refused(f"`{path}` in its host code is not known")

    def _memset(self, given: list[Any]) -> int:
        """Record a cudaMemset of a whole array or of its first bytes."""
        at, value, count = given[:3]
        if not isinstance(at, Place) or value != 0 or not isinstance(count, int):
            raise Refused("a cudaMemset of anything but a tensor's memory to 0 is not read")
        self._recording.clear(at, count)
        return 0

    def _check(self, what: tree.Call, scopes: Scopes) -> None:
        name = what.function.path if isinstance(what.function, tree.Name) else ""
        if name == "TORCH_CHECK_EQ":
            is_right = self._value(what.arguments[0], scopes) == self._value(
                what.arguments[1], scopes
            )
        else:
            is_right = name != "AT_ERROR" and self._truth(what.arguments[0], scopes)
        if not is_right:
            told = [each.text for each in what.arguments if isinstance(each, tree.Text)]
            raise Refused(f"its own check fails: {' '.join(told) or name}")

    def _dispatched(self, what: tree.Call, scopes: Scopes) -> Any:
        """Evaluate AT_DISPATCH_…(type, name, lambda): run the lambda with scalar_t defined as that
        type."""
        *rest, body = what.arguments
        if not isinstance(body, tree.Lambda) or len(rest) < 2:
            raise Refused("an AT_DISPATCH of its host code is not read")
        kind = self._value(rest[-2], scopes)
        if kind not in C_TYPES:
            raise Refused("the type that AT_DISPATCH is given is not known")
        self._types.append({**self._types[-1], "scalar_t": C_TYPES[kind]})
        try:
            self._block(body.body, scopes)
        except Returned as returned:
            return returned.value
        finally:
            self._types.pop()
        return None

    def _launch(self, what: tree.Launch, scopes: Scopes) -> None:
        name = what.kernel.path.rpartition("::")[2]
        if name not in self._text.kernels:
            raise Refused(f"it launches `{name}`, which is no kernel of its text")
        entry = self._text.kernels[name]
        if what.kernel.template is not None:
            each = [self._template(one, scopes) for one in what.kernel.template]
            entry += f"<{', '.join(each)}>"
        elif name in self._text.templates:
            raise Refused(f"the template `{name}` is launched without its types: write them")
        shape = [self._value(each, scopes) for each in what.shape]
        if len(shape) > 3 and not isinstance(shape[3], Ignored) and shape[3] != 0:
            raise Refused(f"`{name}` is launched on a stream that is not known")
        grid, block = dim3(shape[0]), dim3(shape[1])
        given = [self._given(self._value(each, scopes), name) for each in what.arguments]
        shared = shape[2] if len(shape) > 2 else 0
        if not isinstance(shared, int):
            raise Refused(f"the shared memory of `{name}` is no whole number")
        self._recording.launch(
            entry, self._number, [grid.x, grid.y, grid.z], [block.x, block.y, block.z], shared,
            given,
        )  # fmt: skip

    def _template(self, text: str, scopes: Scopes) -> str:
        """A template argument, with the function's own names replaced by their values."""
        kind = self._of_type(text)
        if kind.replace(" *", "").split()[0] in cpp.PLAIN_TYPES or kind in C_TYPES.values():
            return kind
        value = exact(self._value(cpp.value_of(text), scopes))
        if not isinstance(value, int):
            raise Refused(f"the template's argument `{text}` is not known")
        return str(value)

    def _given(self, value: Any, kernel: str) -> Any:
        if isinstance(value, Place):
            if value.offset:
                raise Refused(
                    f"`{kernel}` is given a pointer into the middle of an array, "
                    f"{value.offset} elements on: only whole arrays are given to kernels here"
                )
            return value.array
        if isinstance(value, bool | int | np.floating):
            return exact(value)
        raise Refused(f"`{kernel}` is given a {told(value)}: only pointers and numbers are")

    def _of_type(self, text: str) -> str:
        """A type with template parameters and `using` names substituted."""
        found = text.replace("std::", "")
        words = [self._types[-1].get(word, word) for word in found.split(" ")]
        return " ".join(words)


_OF_KIND: Mapping[type, Callable[[Expressions, Any, Scopes], Any]] = {
    tree.Number: Expressions._literal, tree.Text: Expressions._text_of,
    tree.Name: Expressions._named, tree.Unary: Expressions._unary, tree.Step: Expressions._step,
    tree.Binary: Expressions._binary, tree.Either: Expressions._either,
    tree.Assign: Expressions._assigned, tree.Cast: Expressions._cast,
    tree.Member: Expressions._member, tree.Item: Expressions._item,
    tree.Braces: Expressions._braces, tree.Lambda: Expressions._lambda,
    tree.Launch: Expressions._launch, tree.Call: Expressions._call,
}  # fmt: skip
