"""PTX text to `Module`.

A hand-written reader of the part of the PTX grammar that is not specific to any instruction:
directives, declarations, labels, guards, operands. Opcodes stay strings.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from harness.emulator.errors import PtxSyntaxError
from harness.emulator.lexer import Tokens, parse_integer
from harness.emulator.ptx import (
    TYPE_SIZES,
    Function,
    Group,
    Instruction,
    Kernel,
    Label,
    Memory,
    Module,
    Name,
    Number,
    Operand,
    Pair,
    Param,
    Sum,
    Variable,
    names_in,
)
from harness.emulator.source_lines import SourceLines

_SPACES = {"reg", "shared", "local", "global", "const", "param"}
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_LINE_DIRECTIVES = {".loc", ".file", ".version", ".target", ".address_size"}


def parse(ptx: str) -> Module:
    """Read a PTX file. Raises PtxSyntaxError; never refuses an opcode for being unknown."""
    return _Parser(ptx).module()


class _Parser(Tokens):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.source = SourceLines(text)
        self.scopes: list[dict[str, str]] = []
        self.unique = 0
        self.version = ""
        self.target = ""

    # --- the module -----------------------------------------------------------------------

    def module(self) -> Module:
        kernels: dict[str, Kernel] = {}
        functions: dict[str, Function] = {}
        variables: dict[str, Variable] = {}
        while self.peek() != "":
            token = self.peek()
            if token in _LINE_DIRECTIVES:
                self._line_directive()
            elif token == ".section":
                self._section()
            elif token in (".pragma", ".alias"):
                self._until(";")
            else:
                self._declaration(kernels, functions, variables)
        if not self.version:
            raise PtxSyntaxError(1, "no .version directive, so this is not PTX")
        module_shared = [v for v in variables.values() if v.space == "shared"]
        for kernel in kernels.values():
            used = {name for i in kernel.body or () for name in names_in(i)}
            kernel.shared_bytes += _packed(v for v in module_shared if v.name in used)
        return Module(kernels, functions, variables, self.target, self.version)

    def _declaration(
        self,
        kernels: dict[str, Kernel],
        functions: dict[str, Function],
        variables: dict[str, Variable],
    ) -> None:
        extern = False
        while self.peek() in _LINKAGE:
            extern |= self.take() == ".extern"
        token = self.peek()
        if token in (".entry", ".func"):
            function = self._function(Kernel if token == ".entry" else Function)
            among: dict[str, Any] = kernels if token == ".entry" else functions
            if function.body is not None or function.name not in among:
                among[function.name] = function
        elif token.startswith(".") and token[1:].partition("::")[0] in _SPACES:
            variables.update({v.name: v for v in self._variables(extern)})
        else:
            raise PtxSyntaxError(self.line, f"unexpected {token!r} outside a function")

    def _line_directive(self) -> None:
        words = self.rest_of_line()
        if words[0] == ".version":
            self.version = "".join(words[1:])
        elif words[0] == ".target":
            self.target = words[1] if len(words) > 1 else ""
        elif words[0] == ".loc" and len(words) >= 4:
            self.source.loc(words)

    def _section(self) -> None:
        """Debug strings and tables: nothing in them is executed."""
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
        kind = token.lstrip(".")
        if kind not in TYPE_SIZES:
            raise PtxSyntaxError(self.lines[self.at - 1], f"expected a type, found {token!r}")
        return kind

    def _variables(self, extern: bool) -> list[Variable]:
        space = self.take()[1:].partition("::")[0]
        align, count = 0, 1
        if self.accept(".align"):
            align = self.integer()
        if self.peek() in (".v2", ".v4"):
            count = int(self.take()[2:])
        kind = self._type()
        align = align or TYPE_SIZES[kind] * count
        out = []
        while True:
            name, size = self.take(), TYPE_SIZES[kind] * count
            while self.accept("["):
                size *= 0 if self.peek() == "]" else self.integer()
                self.take("]")
            initial: tuple[Operand, ...] = ()
            if self.accept("="):
                value = self._operand()
                initial = value.items if isinstance(value, Group) else (value,)
            out.append(Variable(name, space, kind, size, align, initial, extern))
            if not self.accept(","):
                break
        self.take(";")
        return out

    def _params(self) -> tuple[Param, ...]:
        out = []
        self.take("(")
        while not self.accept(")"):
            space = self.take()
            align = 0
            if self.accept(".align"):
                align = self.integer()
            kind = ""
            while self.peek().startswith("."):  # `.param .u64 .ptr .align 1 name`
                word = self.take()
                if word == ".align":
                    self.integer()
                elif word[1:] in TYPE_SIZES:
                    kind = word[1:]
            if kind not in TYPE_SIZES or space not in (".param", ".reg"):
                raise PtxSyntaxError(self.line, "expected a parameter")
            name, size, is_array = self.take(), TYPE_SIZES[kind], False
            if self.accept("["):
                is_array = True
                size *= 0 if self.peek() == "]" else self.integer()
                self.take("]")
            out.append(Param(name, kind, size, align or TYPE_SIZES[kind], is_array))
            if self.peek() != ")":
                self.take(",")
        return tuple(out)

    def _function(self, kind: type[Function]) -> Function:
        self.take()
        returns = self._params() if self.peek() == "(" else ()
        name = self.take()
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
        self.scopes = [{}]
        while self.scopes:
            token = self.peek()
            if token == "{":
                self.take()
                self.scopes.append({})
            elif token == "}":
                self.take()
                self.scopes.pop()
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
                    name = self._declare(variable.name)
                    function.variables[name] = Variable(
                        name, variable.space, variable.type, variable.size, variable.align,
                        variable.initial,
                    )  # fmt: skip
            elif self.peek(1) == ":":
                self._labelled(function, body)
            else:
                body.append(self._instruction())

    def _declare(self, name: str) -> str:
        """A name of an inner scope may repeat one of another scope: make it unique."""
        unique = name
        if len(self.scopes) > 1:
            self.unique += 1
            unique = f"{name}@{self.unique}"
        self.scopes[-1][name] = unique
        return unique

    def _resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _registers(self, function: Function) -> None:
        self.take(".reg")
        if self.peek() in (".v2", ".v4"):
            raise PtxSyntaxError(self.line, "vector registers are not written by nvcc")
        kind = self._type()
        while True:
            name = self.take()
            if self.accept("<"):
                count = self.integer()
                self.take(">")
                names = [f"{name}{i}" for i in range(count)]
            else:
                names = [name]
            for each in names:
                function.registers[self._declare(each)] = kind
            if not self.accept(","):
                break
        self.take(";")

    def _labelled(self, function: Function, body: list[Instruction | Label]) -> None:
        name = self.take()
        self.take(":")
        if self.peek() == ".branchtargets":
            self.take()
            words = self._until(";")
            function.branch_targets[name] = tuple(w for w in words if w != ",")
        elif self.peek() in (".callprototype", ".calltargets"):
            self._until(";")
        else:
            body.append(Label(name))

    def _instruction(self) -> Instruction:
        line, guard = self.line, None
        if self.accept("@"):
            negated = self.accept("!")
            guard = Name(self._resolve(self.take()), negated)
        opcode = self.take()
        if not opcode[0].isalpha():
            raise PtxSyntaxError(line, f"expected an instruction, found {opcode!r}")
        operands = []
        while self.peek() != ";":
            operands.append(self._operand())
            comma = self.accept(",")
            if comma == (self.peek() == ";"):
                raise PtxSyntaxError(self.line, f"expected ',' or ';', found {self.peek()!r}")
        self.take(";")
        return Instruction(opcode, tuple(operands), guard, line, self.source.current())

    def _operand(self) -> Operand:
        first = self._primary()
        if self.accept("|"):
            return Pair(first, self._primary())
        return first

    def _primary(self) -> Operand:
        token = self.peek()
        if token in "{(" and token:
            self.take()
            close, items = "}" if token == "{" else ")", []
            while not self.accept(close):
                items.append(self._operand())
                self.accept(",")
            return Group(tuple(items))
        if token == "[":
            self.take()
            return self._memory()
        if token == "!":
            self.take()
            return Name(self._resolve(self.take()), True)
        if token == "-" or token[:1].isdigit():
            return self._number()
        name = self._resolve(self.take())
        if name[:1] in ";,)]}":
            raise PtxSyntaxError(self.line, f"expected an operand, found {name!r}")
        if name == "generic" and self.accept("("):
            name = self._resolve(self.take())
            self.take(")")
        if self.peek() in ("+", "-") and (self.peek(1) or "x")[0].isdigit():
            sign = -1 if self.take() == "-" else 1
            return Sum(name, sign * self.integer())
        return Name(name)

    def _number(self) -> Number:
        sign = -1 if self.accept("-") else 1
        token = self.take()
        prefix = token[:2].lower()
        try:
            if prefix == "0f":
                bits = int(token[2:], 16)
                value = struct.unpack("<f", struct.pack("<I", bits))[0]
                return Number(sign * value, bits ^ (0x80000000 if sign < 0 else 0), 4)
            if prefix == "0d":
                bits = int(token[2:], 16)
                value = struct.unpack("<d", struct.pack("<Q", bits))[0]
                return Number(sign * value, bits ^ (1 << 63 if sign < 0 else 0), 8)
            if "." in token:
                return Number(sign * float(token))
            return Number(sign * parse_integer(token))
        except ValueError:
            raise PtxSyntaxError(
                self.lines[self.at - 1], f"expected a number, found {token!r}"
            ) from None

    def _memory(self) -> Memory:
        base, offset = "", 0
        if self.peek()[:1].isdigit():
            offset = self.integer()
        else:
            base = self._resolve(self.take())
            while self.peek() != "]":
                self.accept("+")
                offset += self.integer()
        self.take("]")
        return Memory(base, offset)


def _packed(variables: Iterable[Variable]) -> int:
    """Bytes of variables laid out one after another, each aligned."""
    total = 0
    for variable in variables:
        total = -(-total // variable.align) * variable.align + variable.size
    return total
