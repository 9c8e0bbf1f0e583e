"""Export a Python function to a problem.py: by its import path, or as text.

A function in an importable module is imported by name, and a function in another file by the file's
path. The text of any other function (in a notebook, in __main__, or a lambda) is written into
problem.py, with the modules and plain values that it uses. Values that cannot be written out are
rejected, and the message names them.
"""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from harness.judge import extensions, live_modules

_PLAIN = (int, float, str, bool, bytes, type(None))
_CONFIG = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


@dataclass(config=_CONFIG)
class Written:
    """A function as text. name: the name that the text defines."""

    source: str
    name: str
    parameters: tuple[str, ...] = ()
    """The function's parameters, in order; determined from the function if not given."""
    kind: Literal["written"] = "written"

    def __post_init__(self) -> None:
        try:
            tree = ast.parse(self.source)
        except SyntaxError as error:
            raise ValueError(f"the reference, line {error.lineno}: {error.msg}") from None
        if not self.parameters:
            object.__setattr__(self, "parameters", _parameters_in(tree, self.name))


@dataclass(config=_CONFIG)
class Imported:
    """A function identified by its module or file."""

    name: str
    module: str = ""
    file: str = ""
    parameters: tuple[str, ...] = ()
    kind: Literal["imported"] = "imported"

    def __post_init__(self) -> None:
        if bool(self.module) == bool(self.file):
            raise ValueError("a reference is imported from a module or from a file")


Reference = Written | Imported


def reference(value: Any) -> Any:
    """Convert a function, `module:name` or `file.py:name` to a Reference; return other values
    unchanged.

    Raises ValueError, with a remedy, for a function that cannot be exported.
    """
    if isinstance(value, str):
        return _of_text(value)
    if live_modules.is_one(value):
        text, parameters = live_modules.text(value)
        return Written(text, "reference", parameters)
    return _of_callable(value) if callable(value) and not isinstance(value, type) else value


def _of_text(value: str) -> Imported:
    place, colon, name = value.rpartition(":")
    if not colon or not name.replace(".", "").isidentifier():
        raise ValueError(f"{value!r} is no reference: write module:function or file.py:function")
    if place.endswith(".py"):
        path = Path(place).absolute()
        if not path.is_file():
            raise ValueError(f"{place}, which the reference is in, is not there")
        names = _parameters_in(ast.parse(path.read_text()), name, "")
        return Imported(name, file=str(path), parameters=names)
    return Imported(name, module=place)


def _of_callable(value: Callable[..., Any]) -> Reference:
    name = getattr(value, "__qualname__", "")
    if not name:
        raise ValueError(
            f"a reference is a function, and not an object of {type(value).__name__}\n"
            "  put it into a function of a module: def reference(x): return model(x)\n"
            "  a torch module goes into a file with Model, get_inputs and get_init_inputs: "
            "harness.judge.public.read(file)"
        )
    if isinstance(value, FunctionType) and "<" not in name and value.__module__ != "__main__":
        found = _found_again(value, name)
        if found:
            return found
    elif not isinstance(value, FunctionType):
        return _builtin(value, name)
    return _written(value)


def _found_again(value: FunctionType, name: str) -> Imported | None:
    """The path by which exactly this function can be imported; None if no such path exists."""
    module = sys.modules.get(value.__module__)
    if module is None or _attribute(module, name) is not value:
        return None
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    if extensions.is_installed(Path(file)):
        return Imported(name, module=value.__module__, parameters=_parameters(value))
    return Imported(name, file=str(Path(file).absolute()), parameters=_parameters(value))


def _builtin(value: Any, name: str) -> Imported:
    """Export a function without Python source, such as numpy.maximum or torch.relu."""
    if found := extensions.of(value):
        return Imported(found[1], file=str(found[0]))
    tried = [getattr(value, "__module__", None), type(value).__module__.partition(".")[0]]
    for module in [*filter(None, tried), "numpy", "torch"]:
        try:
            there = importlib.import_module(module)
        except ImportError:
            continue
        # The qualified name of torch.relu is _VariableFunctionsClass.relu.
        for each in (name, value.__name__):
            if _attribute(there, each) is value:
                return Imported(each, module=module)
    raise ValueError(
        f"`{name}` is in no module that it could be imported from\n"
        f"  give a function that calls it: lambda x: {name}(x)"
    )


def _written(value: FunctionType) -> Written:
    if value.__closure__:
        names = ", ".join(f"`{name}`" for name in value.__code__.co_freevars)
        raise ValueError(
            f"`{value.__qualname__}` uses {names} of the function around it, which cannot be "
            "written out\n  pass what it needs as `scalars`, or put the function into a module"
        )
    lines: list[str] = []
    for name, found in _globals(value, set()):
        lines.append(_definition(name, found, value))
    own = _source(value)
    name = value.__name__ if value.__name__.isidentifier() else "reference"
    text = own if name == value.__name__ else f"{name} = {own}"
    return Written("\n".join([*lines, text]).strip() + "\n", name, _parameters(value))


def _globals(value: FunctionType, seen: set[str]) -> Iterator[tuple[str, Any]]:
    """The globals that a function uses, dependencies first."""
    for name in _names(value.__code__):
        if name in seen or name == value.__name__ or name not in value.__globals__:
            continue
        seen.add(name)
        found = value.__globals__[name]
        if isinstance(found, FunctionType) and found.__module__ == value.__module__:
            yield from _globals(found, seen)
        yield name, found


def _definition(name: str, found: Any, of: FunctionType) -> str:
    """The lines that give a name its value in the function's own module."""
    if isinstance(found, ModuleType):
        if file := extensions.file_of(found):
            return (
                f"from harness.problem.shaped import module_of\n{name} = module_of({str(file)!r})"
            )
        return f"import {found.__name__} as {name}"
    if isinstance(found, _PLAIN):
        return f"{name} = {found!r}"
    module = getattr(found, "__module__", None)
    own = getattr(found, "__qualname__", "")
    if isinstance(found, FunctionType) and module == of.__module__ and not found.__closure__:
        text = _source(found)
        return text if found.__name__ == name else f"{name} = {text}"
    if (
        module not in (None, "__main__")
        and own
        and _attribute(sys.modules.get(module), own) is found
    ):
        return f"from {module} import {own} as {name}"
    raise ValueError(
        f"`{of.__qualname__}` uses `{name}`, a {type(found).__name__}, which cannot be written out"
        "\n  put the function into a module, or pass plain numbers as `scalars`"
    )


def _names(code: CodeType) -> list[str]:
    """The global names that code uses, including those of nested functions."""
    found = list(code.co_names)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found += _names(each)
    return found


def _source(value: FunctionType) -> str:
    try:
        text = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        raise ValueError(
            f"the source of `{value.__qualname__}` is not to be had: it was typed where Python "
            "keeps none\n  put it into a file, or give its text: Written(source, name)"
        ) from None
    return _lambda(value, text) if value.__name__ == "<lambda>" else text.rstrip()


def _lambda(value: FunctionType, text: str) -> str:
    """A lambda's own text, extracted from its statement."""
    found = [ast.unparse(n) for n in ast.walk(_tree(text)) if isinstance(n, ast.Lambda)]
    own = set(found)
    if len(own) > 1:
        own = {each for each in own if _used(_compiled(each)) == _used(value.__code__)}
    if len(own) != 1:
        raise ValueError(
            "which of the lambdas in these lines is meant cannot be told\n"
            "  give it a line of its own, or use def"
        )
    return own.pop()


def _tree(text: str) -> ast.AST:
    """Parse lines that may begin or end within a statement, such as a call's argument."""
    lines = text.strip().splitlines()
    for attempt in ("\n".join(lines), f"f({lines[0].rstrip(',')}", f"({' '.join(lines)}"):
        for end in ("", ")", "))", "\n)", ":\n pass"):
            try:
                return ast.parse(attempt + end)
            except SyntaxError:
                continue
    cut = text[text.index("lambda") :] if "lambda" in text else ""
    for stop in range(len(cut), 0, -1):
        try:
            return ast.parse(cut[:stop], mode="eval")
        except SyntaxError:
            continue
    raise ValueError("the source of the lambda cannot be read\n  use def, on lines of its own")


def _compiled(text: str) -> CodeType:
    """The code of a lambda's text, which is inspected and never executed."""
    code = dis.Bytecode(text).codeobj
    return next(each for each in code.co_consts if isinstance(each, CodeType))


def _used(code: CodeType) -> tuple[Any, ...]:
    """The names and constants in code. Instructions are omitted, because they also depend on the
    surrounding code."""
    constants = [_used(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    return constants, code.co_names, code.co_varnames


def _parameters(value: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters without defaults; empty if they cannot be passed by name."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in found):
        return ()
    return tuple(p.name for p in found if p.default is p.empty)


def _parameters_in(tree: ast.Module, name: str, where: str = "the reference's text ") -> Any:
    """The parameters of a function that a text defines. Raises ValueError if it does not."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return _arguments(node.args)
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            return _arguments(node.value.args) if isinstance(node.value, ast.Lambda) else ()
    if where:
        raise ValueError(f"{where}defines no `{name}`")
    return ()


def _arguments(found: ast.arguments) -> tuple[str, ...]:
    if found.vararg or found.kwarg or found.kwonlyargs:
        return ()
    every = [*found.posonlyargs, *found.args]
    return tuple(each.arg for each in every[: len(every) - len(found.defaults)])


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
