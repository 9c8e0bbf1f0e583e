"""Parse PTX text into a `Module`.

A hand-written reader for the part of the PTX grammar that does not depend on the instruction:
directives, declarations, labels, guards, operands. Opcodes stay strings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from harness.emulator.errors import PtxSyntaxError, shown
from harness.emulator.ptx.source_lines import SourceLines
from harness.emulator.ptx.statements import Scope, StatementReader
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Function,
    Group,
    Instruction,
    Kernel,
    Label,
    Masked,
    Module,
    Name,
    Number,
    Operand,
    Param,
    Sum,
    Variable,
    names_in,
)

_MODULE_SPACES = {"shared", "global", "const"}
_SPACES = {*_MODULE_SPACES, "local", "param"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
MOST_REGISTERS = 1 << 18  # per function; the largest that nvcc writes have some tens of thousands
MOST_ALIGNMENT = 1 << 20
_LINE_DIRECTIVES = {".loc", ".file", ".version", ".target", ".address_size"}


def parse(ptx: str) -> Module:
    """Read the text of a PTX file. No opcode is rejected for being unknown.

    Raises PtxSyntaxError if the text is not PTX, and TypeError if it is not text.
    """
    return _Parser(ptx).module()


class _Parser(StatementReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.source = SourceLines(text)
        self.variables: dict[str, Variable] = {}
        self.version = ""
        self.target = ""

    # --- the module -----------------------------------------------------------------------

    def module(self) -> Module:
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Function] = {}
        variables = self.variables
        while self.peek() != "":
            token = self.peek()
            if token in _LINE_DIRECTIVES:
                self._line_directive()
            elif token == ".section":
                self._section()
            elif token in (".pragma", ".alias"):
                self._until(";")
            else:
                self._declaration(kernels, functions)
        if not self.version:
            raise PtxSyntaxError(1, "no .version directive, so this is not PTX")
        module_shared = [v for v in variables.values() if v.space == "shared"]
        for kernel in kernels.values():
            used = {name for i in kernel.body or () for name in names_in(i)}
            kernel.shared_bytes += _packed(v for v in module_shared if v.name in used)
        return Module(kernels, functions, variables, self.target, self.version)

    def _declaration(self, kernels: dict[str, Kernel], functions: dict[str, Function]) -> None:
        extern = False
        while self.peek() in _LINKAGE:
            extern |= self.take() == ".extern"
        token = self.peek()
        if token in (".entry", ".func"):
            function = self._function(Kernel if token == ".entry" else Function)
            among: dict[str, Any] = kernels if token == ".entry" else functions
            before = among.get(function.name)
            if before is not None and before.body is not None and function.body is not None:
                raise self.twice(function.name)
            if function.body is not None or before is None:
                among[function.name] = function
        elif token.startswith(".") and token[1:].partition("::")[0] in _MODULE_SPACES:
            for variable in self._variables(extern):
                known = self.variables.get(variable.name)
                if known is not None and not (known.extern or extern):
                    raise self.twice(variable.name)
                if known is None or not extern:
                    self.variables[variable.name] = variable
        else:
            raise PtxSyntaxError(self.line, f"unexpected {shown(token)} outside a function")

    def _line_directive(self) -> None:
        words = self.rest_of_line()
        if words[0] == ".version":
            self.version = "".join(words[1:])
        elif words[0] == ".address_size" and words[1:] != ["64"]:
            raise PtxSyntaxError(self.lines[self.at - 1], "addresses have 64 bits here")
        elif words[0] == ".target":
            self.target = words[1] if len(words) > 1 else ""
        elif words[0] == ".loc" and len(words) >= 4:
            self.source.loc(words)

    def _section(self) -> None:
        """Skip debug strings and tables, which contain no code."""
        while self.peek() not in ("{", ""):
            self.take()
        self.take("{")
        while not self.accept("}"):
            self.take()

    def _until(self, end: str) -> list[str]:
        out = []
        while (token := self.take()) != end:
            out.append(token)
        return out

    # --- declarations ---------------------------------------------------------------------

    def _type(self) -> str:
        token = self.take()
        if token[:1] != "." or token[1:] not in TYPE_SIZES:
            raise self.unexpected("a type", token)
        return token[1:]

    def _alignment(self) -> int:
        """The alignment, in bytes, that follows `.align`."""
        bytes_ = self.integer()
        if not 1 <= bytes_ <= MOST_ALIGNMENT or bytes_ & (bytes_ - 1):
            raise self.unexpected(f"a power of two up to {MOST_ALIGNMENT}", str(bytes_))
        return bytes_

    def _elements(self) -> int | None:
        """The length of an array, in brackets; None if unspecified."""
        if self.accept("]"):
            return None
        count = self.integer()
        if count < 1:
            raise self.unexpected("a number of elements", str(count))
        self.take("]")
        return count

    def _variables(self, extern: bool) -> list[Variable]:
        space = self.take()[1:].partition("::")[0]
        align, count = 0, 1
        if self.accept(".attribute"):  # the host may access it too, which no kernel notices
            for token in ("(", ".managed", ")"):
                self.take(token)
        if self.accept(".align"):
            align = self._alignment()
        if self.peek() in (".v2", ".v4"):
            count = int(self.take()[2:])
        kind = self._type()
        if kind == "pred":
            raise self.unexpected("the type of a variable", ".pred")
        align = align or TYPE_SIZES[kind] * count
        out = []
        while True:
            name, size, open_ = self.name(), TYPE_SIZES[kind] * count, False
            while self.accept("["):
                elements = self._elements()
                open_ |= elements is None
                size *= elements or 0
            initial = self._initial() if self.accept("=") else ()
            given = len(initial) * TYPE_SIZES[kind]
            if open_ and initial:
                size = given
            if given > size:
                raise PtxSyntaxError(
                    self.line, f"{given} bytes of initial values for the {size} of `{name}`"
                )
            out.append(Variable(name, space, kind, size, align, initial, extern))
            if not self.accept(","):
                break
        self.take(";")
        return out

    def _initial(self) -> tuple[Operand, ...]:
        value = self.operand()
        values = value.items if isinstance(value, Group) else (value,)
        for each in values:
            plain = each.operand if isinstance(each, Masked) else each
            if not isinstance(plain, (Number, Name, Sum)):
                raise PtxSyntaxError(self.line, "an initial value is a number or an address")
        return values

    def _params(self) -> tuple[Param, ...]:
        out: list[Param] = []
        self.take("(")
        while not self.accept(")"):
            space = self.take()
            align = 0
            if self.accept(".align"):
                align = self._alignment()
            kind, count = "", 0
            while self.peek().startswith("."):  # `.param .u64 .ptr .align 1 name`
                word = self.take()
                if word == ".align":
                    self._alignment()
                elif word in (".v2", ".v4") and space == ".reg":
                    count = int(word[2:])
                elif word[1:] in TYPE_SIZES:
                    kind = word[1:]
            in_memory = ("", "pred") if space == ".param" else ("",)
            if kind in in_memory or space not in (".param", ".reg"):
                raise PtxSyntaxError(self.line, "expected a parameter")
            name, size, is_array = self.name(), TYPE_SIZES[kind], False
            names = self.of_vector(name, count) if count else [name]
            if {name, *names} & {each.name for each in out}:
                raise self.twice(name)
            if self.accept("["):
                is_array = True
                size *= self._elements() or 0
            out += (Param(n, kind, size, align or TYPE_SIZES[kind], is_array) for n in names)
            if self.peek() != ")":
                self.take(",")
        return tuple(out)

    def _function(self, kind: type[Function]) -> Function:
        self.take()
        self.vectors.clear()
        returns = self._params() if self.peek() == "(" else ()
        name = self.name()
        params = self._params() if self.peek() == "(" else ()
        function = kind(name, params, returns, target=self.target)
        while self.peek().startswith("."):
            directive = self.take()[1:]
            if directive == "pragma":
                self._until(";")
                continue
            values = []
            while self.peek()[:1].isdigit():
                values.append(self.integer())
                self.accept(",")
            function.directives[directive] = tuple(values)
        if self.accept(";"):
            return function
        self.take("{")
        self.source.enter_function()
        self._body(function)
        function.shared_bytes = _packed(
            v for v in function.variables.values() if v.space == "shared"
        )
        return function

    # --- bodies ---------------------------------------------------------------------------

    def _body(self, function: Function) -> None:
        body: list[Instruction | Label] = []
        function.body = body
        self.scopes = [Scope(0)]
        while self.scopes:
            token = self.peek()
            if token == "{":
                self.take()
                self.scopes.append(Scope(len(body)))
            elif token == "}":
                self.take()
                self.leave(self.scopes.pop(), function, body)
            elif token == ";":
                self.take()
            elif token in _LINE_DIRECTIVES:
                self._line_directive()
            elif token == ".pragma":
                self._until(";")
            elif token == ".reg":
                self._registers(function)
            elif token.startswith(".") and token[1:].partition("::")[0] in _SPACES:
                for variable in self._variables(False):
                    outlives = variable.space in ("global", "const")
                    name = self.declare(variable.name, among_all=outlives)
                    owner = self.variables if outlives else function.variables
                    owner[name] = dataclasses.replace(variable, name=name)
            elif self.peek(1) == ":":
                self._labelled(function, body)
            else:
                body.append(self._instruction())
        if not any(isinstance(statement, Instruction) for statement in body):
            body.append(Instruction("ret", (), None, self.line, None))

    def _registers(self, function: Function) -> None:
        self.take(".reg")
        width = int(self.take()[2:]) if self.peek() in (".v2", ".v4") else 0
        kind = self._type()
        while True:
            name = self.name()
            names: Iterable[str] = (name,)
            if self.accept("<"):
                count = self.integer()
                if not 0 <= count * max(1, width) <= MOST_REGISTERS - len(function.registers):
                    raise self.unexpected(f"up to {MOST_REGISTERS} registers", str(count))
                self.take(">")
                names = (f"{name}{i}" for i in range(count))
            for each in names:
                unique = self.declare(each)
                for register in self.of_vector(unique, width) if width else [unique]:
                    function.registers[register] = kind
            if not self.accept(","):
                break
        self.take(";")

    def _labelled(self, function: Function, body: list[Instruction | Label]) -> None:
        name = self.name()
        if name in self.scopes[-1].labels:
            raise self.twice(name)
        unique = self.unique_name(name)
        self.scopes[-1].labels[name] = unique
        self.take(":")
        if self.peek() == ".branchtargets":
            self.take()
            words = self._until(";")
            function.branch_targets[unique] = tuple(w for w in words if w != ",")
        elif self.peek() in (".callprototype", ".calltargets"):
            self._until(";")
        else:
            body.append(Label(unique))

    def _instruction(self) -> Instruction:
        line, guard = self.line, None
        if self.accept("@"):
            negated = self.accept("!")
            guard = Name(self.resolve(self.name()), negated)
        opcode = self.take()
        if not opcode[0].isalpha():
            raise self.unexpected("an instruction", opcode)
        operands = []
        self.in_call = opcode.partition(".")[0] == "call"
        while self.peek() != ";":
            operands.append(self.operand())
            comma = self.accept(",")
            if comma == (self.peek() == ";"):
                found = shown(self.peek()) if self.peek() else "the end of the file"
                raise PtxSyntaxError(self.line, f"expected ',' or ';', found {found}")
        self.take(";")
        return Instruction(opcode, tuple(operands), guard, line, self.source.current())


def _packed(variables: Iterable[Variable]) -> int:
    """The total size in bytes of variables laid out in sequence, each aligned."""
    total = 0
    for variable in variables:
        total = -(-total // variable.align) * variable.align + variable.size
    return total
