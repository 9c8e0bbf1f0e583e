"""A problem that a Python file defines as a torch module: Model, get_inputs and get_init_inputs.

This is KernelBench's format. A kernel's inputs are the arguments of the module's `forward`,
followed by the module's parameters and buffers, with `_` for each dot in their names.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.abc import InspectLoader
from typing import Any

import numpy as np

from harness.dtypes import numpy_dtype
from harness.errors import NotInstalled, ProblemError
from harness.problem import Array


class _Resized(InspectLoader):
    """A loader for a file with replaced sizes. Like problem.py, the file is code that the user
    runs."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    def get_source(self, fullname: str) -> str:
        return ast.unparse(self._tree)


def executed(tree: ast.Module, name: str = "model_file") -> dict[str, Any]:
    """Execute a syntax tree as a module; return the names that it defines."""
    loader = _Resized(tree)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return vars(module)


_NEEDED = ("Model", "get_inputs", "get_init_inputs")


class ModelFile:
    """A file in this format. `sizes`: replacements for numbers that it assigns to names, such as
    `dim = 4096`.

    Raises ProblemError for any other kind of file, and NotInstalled without torch.
    """

    def __init__(self, text: str, sizes: Mapping[str, int] | None = None) -> None:
        self._torch = _torch()
        tree = _parsed(text)
        named = _resized(tree, sizes or {})
        own = executed(tree)
        if missing := [name for name in _NEEDED if name not in own]:
            raise ProblemError(f"the file defines no `{missing[0]}`\n  it needs {_all(_NEEDED)}")
        self._own = own
        self.sizes = {name: own[name] for name in named if type(own.get(name)) is int}

    @cached_property
    def model(self) -> Any:
        """The module in float64. Its parameters are replaced at each call."""
        return self._made(0).double()

    def _made(self, seed: int) -> Any:
        with self._torch.random.fork_rng(devices=[]):
            self._torch.manual_seed(seed)
            return self._own["Model"](*self.init_inputs())

    def init_inputs(self) -> list[Any]:
        """The module's constructor arguments."""
        return list(self._own["get_init_inputs"]())

    def given(self, seed: int) -> dict[str, Any]:
        """The arguments of `forward`, by name. Raises ProblemError if there are more arguments than
        parameter names."""
        with self._torch.random.fork_rng(devices=[]):
            self._torch.manual_seed(seed)
            values = list(self._own["get_inputs"]())
        found = inspect.signature(self._own["Model"].forward).parameters
        names = list(found)[1:]
        if len(values) > len(names) or any(found[n].kind is found[n].VAR_POSITIONAL for n in names):
            raise ProblemError(
                f"`get_inputs` returns {len(values)} values; `forward` names {_all(names)}"
            )
        return dict(zip(names, values, strict=False))

    def on_meta(self) -> dict[str, Any]:
        """The arguments of `forward` on torch's "meta" device: shapes without memory."""
        with self._torch.device("meta"):
            return self.given(0)

    @cached_property
    def tensors(self) -> Sequence[str]:
        """The names of the tensors among the arguments of `forward`."""
        found = self.on_meta()
        for name, value in found.items():
            if not isinstance(value, self._torch.Tensor | int | float):
                raise ProblemError(f"`{name}` is a {type(value).__name__}, and no tensor or number")
        return [n for n, value in found.items() if isinstance(value, self._torch.Tensor)]

    @cached_property
    def state(self) -> Mapping[str, str]:
        """Input name → the module's name for that parameter or buffer; floats only."""
        found: dict[str, str] = {}
        for name, value in self.model.state_dict().items():
            if value.is_floating_point():
                plain = name.replace(".", "_")
                while plain in found or plain in self.tensors:
                    plain = f"own_{plain}"
                found[plain] = name
        return found

    def drawn(self, rng: np.random.Generator) -> dict[str, Array]:
        """The inputs that the file generates, and the parameters of a newly created module."""
        seed = int(rng.integers(2**62))
        values = self.given(seed)
        found = {name: values[name] for name in self.tensors}
        state = self._made(seed).state_dict()
        found |= {name: state[own] for name, own in self.state.items()}
        return {name: _array(value) for name, value in found.items()}

    def compute(self, *arrays: Array) -> tuple[Array, ...]:
        """The module's outputs for inputs and parameters in the order of `names`."""
        given = dict(zip(self.names, map(self._torch.from_numpy, arrays), strict=True))
        values = self.given(0) if len(self.tensors) < len(self.on_meta()) else {}
        arguments = [
            given[name] if name in given else values[name] for name in self.on_meta()
        ]  # fmt: skip
        state = {own: given[name].reshape(self.model.state_dict()[own].shape).clone()
                 for name, own in self.state.items()}  # fmt: skip
        with self._torch.no_grad():
            found = self._torch.func.functional_call(self.model, state, tuple(arguments))
        several = found if isinstance(found, tuple | list) else (found,)
        if strange := [each for each in several if not isinstance(each, self._torch.Tensor)]:
            raise ProblemError(f"`forward` returns a {type(strange[0]).__name__}, and no tensor")
        return tuple(each.detach().numpy() for each in several)

    @property
    def names(self) -> Sequence[str]:
        """The names of all kernel inputs, in order."""
        return [*self.tensors, *self.state]


def _array(value: Any) -> Array:
    kind = numpy_dtype(str(value.dtype).removeprefix("torch."))
    wide = value.detach().double().numpy() if value.is_floating_point() else value.numpy()
    return np.ascontiguousarray(wide.astype(kind))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise NotInstalled(
            "the problem is stated with torch, which is not installed\n  pip install torch"
        ) from None
    return torch


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ProblemError(f"line {error.lineno}: {error.msg}") from None


def _resized(tree: ast.Module, sizes: Mapping[str, int]) -> list[str]:
    """Replace the values of names at the file's top level; return the names found there."""
    found: list[str] = []
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name):
            found.append(target.id)
            if target.id in sizes:
                node.value = ast.copy_location(ast.Constant(int(sizes[target.id])), node.value)
    if unknown := sorted(set(sizes) - set(found)):
        raise ProblemError(f"the file has no size `{unknown[0]}`; it has {_all(found)}")
    return found


def _all(names: Any) -> str:
    return ", ".join(names) or "none"
