"""Run an extension's host code, as far as supported, with tensors that have no values.

The launches are recorded; anything unsupported is rejected, and the message names it. Nothing is
guessed: an unknown function, type or method ends the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from harness.judge.candidates.cpp import syntax as cpp
from harness.judge.candidates.cpp import tree
from harness.judge.candidates.cpp.calls import Methods
from harness.judge.candidates.cpp.expressions import Expressions, Returned, Scopes
from harness.judge.candidates.cpp.text import Function, Parted
from harness.judge.candidates.cpp.values import STREAM, Dim3, converted, told
from harness.judge.candidates.errors import Refused
from harness.judge.candidates.recording import Recording

_MOST_STEPS = 200_000
_MOST_CALLS = 64


class _Jumped(Exception):
    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word


class Host(Expressions):
    """The functions of one extension, ready to call. `number`: the extension's number."""

    def __init__(self, text: Parted, number: int, recording: Recording) -> None:
        self._text, self._number, self._recording = text, number, recording
        self._constants: dict[str, Any] = {}
        self._types: list[dict[str, str]] = [{}]
        self._calls = self._steps = 0
        self._methods = Methods(recording, self._of_type)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Call a function as Python would. Raises Refused, and records the refusal."""
        try:
            return self._called(self._function(name, len(arguments)), list(arguments), ())
        except Refused as error:
            raise self._recording.refuse(f"`{name}`: {error}") from None
        except RecursionError:
            raise self._recording.refuse(f"`{name}` is too deep to be read") from None

    def _function(self, name: str, count: int) -> Function:
        every = self._text.functions.get(name.rpartition("::")[2], [])
        fits = [f for f in every if self._takes(f, count)]
        if not every:
            raise Refused(f"its host code has no function `{name}` that is read")
        if len(fits) != 1:
            raise Refused(f"which `{name}` is called with {count} arguments cannot be told")
        return fits[0]

    def _takes(self, function: Function, count: int) -> bool:
        every = cpp.parameters(function.parameters, self._text.macros)
        least = sum(each.default is None for each in every)
        return least <= count <= len(every)

    def _called(self, function: Function, given: list[Any], templates: Sequence[str]) -> Any:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            raise Refused("its host code calls itself too often")
        body = cpp.block(function.body, self._text.macros)
        if len(templates) < len(function.templates):
            raise Refused(f"the types of the template `{function.name}` are not given")
        types = dict(zip(function.templates, templates, strict=False))
        self._types.append({name: self._of_type(each) for name, each in types.items()})
        names: dict[str, Any] = {}
        scopes = [names]
        for at, each in enumerate(cpp.parameters(function.parameters, self._text.macros)):
            if each.default is not None and at >= len(given):
                given.append(self._value(each.default, scopes))
            kind = self._of_type(each.type)
            names[each.name] = self._argument(given[at], kind, f"`{each.name}`")
        try:
            self._block(body, scopes)
        except Returned as returned:
            return returned.value
        finally:
            self._types.pop()
            self._calls -= 1
        return None

    def _argument(self, value: Any, kind: str, what: str) -> Any:
        tensor = "Tensor" in kind and "vector" not in kind and "optional" not in kind
        if tensor != isinstance(value, torch.Tensor) and (tensor or value is not None) and (
            tensor or "optional" not in kind
        ):  # fmt: skip
            raise Refused(f"the argument {what} is of type `{kind}`, and a {told(value)} is given")
        return converted(value, kind, what)

    # Statements

    def _block(self, block: tree.Block, scopes: Scopes) -> None:
        own = [*scopes, {}]
        for each in block.statements:
            self._do(each, own)

    def _do(self, what: tree.Statement, scopes: Scopes) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Refused("its host code goes on for too long")
        match what:
            case tree.Block():
                self._block(what, scopes)
            case tree.Group():
                for each in what.statements:
                    self._do(each, scopes)
            case tree.Declare():
                scopes[-1][what.name] = self._declared(what, scopes)
            case tree.If():
                if self._truth(what.condition, scopes):
                    self._do(what.then, scopes)
                elif what.other is not None:
                    self._do(what.other, scopes)
            case tree.Loop():
                self._loop(what, scopes)
            case tree.Return():
                raise Returned(None if what.value is None else self._value(what.value, scopes))
            case tree.Jump():
                raise _Jumped(what.word)
            case _:
                self._value(what, scopes)

    def _declared(self, what: tree.Declare, scopes: Scopes) -> Any:
        kind = self._of_type(what.type)
        if "Guard" in kind or kind.endswith(("Stream", "cudaStream_t", "Stream_t")):
            return STREAM if "Guard" in kind else self._value(what.value, scopes) or STREAM
        if what.value is None:
            return {"dim3": Dim3()}.get(kind, [] if "vector<" in kind else None)
        value = self._value(what.value, scopes)
        if isinstance(what.value, tree.Braces) and kind not in ("dim3",) and "vector" not in kind:
            value = value[0] if isinstance(value, list) and len(value) == 1 else value
        return converted(value, kind, f"`{what.name}`")

    def _loop(self, what: tree.Loop, scopes: Scopes) -> None:
        own = [*scopes, {}]
        if what.first is not None:
            self._do(what.first, own)
        skipped = what.is_after
        while skipped or what.condition is None or self._truth(what.condition, own):
            skipped = False
            try:
                self._do(what.body, own)
            except _Jumped as jump:
                if jump.word == "break":
                    return
            if what.step is not None:
                self._value(what.step, own)
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise Refused("a loop of its host code goes on for too long")
