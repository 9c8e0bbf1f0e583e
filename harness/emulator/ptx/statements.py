"""Parse the operands of PTX statements, and names in the scopes that braces open."""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass, field

from harness.emulator.errors import PtxSyntaxError, shown
from harness.emulator.ptx import constants
from harness.emulator.ptx.lexer import Tokens, parse_integer
from harness.emulator.ptx.syntax import (
    Function,
    Group,
    Instruction,
    Label,
    Masked,
    Memory,
    Name,
    Negative,
    Number,
    Operand,
    Pair,
    Sum,
)

_MOST_NESTING = 8
PARTS = "xyzw"  # of a vector register; `rgba` are other names for them
_SAME_PARTS = str.maketrans("rgba", PARTS)


@dataclass
class Scope:
    """The declarations between a pair of braces: names, and labels, from statement `start` onwards.

    Both map a name in the text to one that is unique in its function.
    """

    start: int
    names: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class StatementReader(Tokens):
    """Reads operands, resolving the names declared around them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.scopes: list[Scope] = []
        self.vectors: dict[str, int] = {}
        """Vector registers of the function, by unique name: the number of registers in each."""
        self.unique = 0
        self.nesting = 0
        self.in_call = False
        """True while a call's operands are read: in these, parentheses enclose a list."""

    def twice(self, name: str) -> PtxSyntaxError:
        return PtxSyntaxError(self.line, f"{shown(name)} is defined a second time")

    # --- names ----------------------------------------------------------------------------

    def declare(self, name: str, *, among_all: bool = False) -> str:
        """Make a declared name unique, because a name in an inner scope may shadow an outer one."""
        if name in self.scopes[-1].names:
            raise self.twice(name)
        unique = self.scopes[-1].names[name] = self.unique_name(name, among_all)
        return unique

    def unique_name(self, name: str, among_all: bool = False) -> str:
        if len(self.scopes) == 1 and not among_all:
            return name
        self.unique += 1
        return f"{name}@{self.unique}"

    def resolve(self, name: str) -> str:
        """Resolve a name. `%r1.b0` is a part of the register that `%r1` resolves to; `%v.x` is a
        register of its own."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        register, dot, part = name.rpartition(".")
        if not dot:
            return name
        register = self.resolve(register)
        return f"{register}.{part.translate(_SAME_PARTS) if register in self.vectors else part}"

    def of_vector(self, name: str, count: int) -> list[str]:
        """Record a vector register by its unique name; return the names of its parts."""
        self.vectors[name] = count
        return [f"{name}.{part}" for part in PARTS[:count]]

    def leave(self, scope: Scope, function: Function, body: list[Instruction | Label]) -> None:
        """End a scope: replace its labels, which may be used before their definition, by unique
        names."""
        renamed = {name: unique for name, unique in scope.labels.items() if name != unique}
        if not renamed:
            return
        for i in range(scope.start, len(body)):
            statement = body[i]
            if isinstance(statement, Instruction):
                operands = tuple(
                    Name(renamed[o.text]) if isinstance(o, Name) and o.text in renamed else o
                    for o in statement.operands
                )
                body[i] = dataclasses.replace(statement, operands=operands)
        for table in renamed.values():
            if table in function.branch_targets:
                targets = function.branch_targets[table]
                function.branch_targets[table] = tuple(renamed.get(t, t) for t in targets)

    # --- operands -------------------------------------------------------------------------

    def operand(self) -> Operand:
        self.nesting += 1
        if self.nesting > _MOST_NESTING:
            raise PtxSyntaxError(self.line, f"more than {_MOST_NESTING} brackets in one another")
        operand = self._primary()
        if self.accept("|"):
            operand = Pair(operand, self._primary())
        self.nesting -= 1
        return operand

    def _primary(self) -> Operand:
        token = self.peek()
        if token in ("(", "~", "!", "+") and not self.in_call and constants.begins(self):
            return Number(constants.evaluate(self))
        if token in ("{", "("):
            return self._group()
        if token == "[":
            self.take()
            return self._memory()
        if token == "!":
            self.take()
            return Name(self.resolve(self.name()), True)
        if token == "-" and (self.peek(1)[:1] or "-") in "%$_":
            self.take()
            return Negative(Name(self.resolve(self.take())))
        if token == "-" or token[:1].isdigit():
            return self._literal()
        if token[:1] not in "%$_" and not token[:1].isalpha():
            self.take()
            raise self.unexpected("an operand", token)
        name = self.resolve(self.take())
        if name == "generic" and self.accept("("):
            name = self.resolve(self.name())
            self.take(")")
        if name in self.vectors:
            return Group(tuple(Name(f"{name}.{part}") for part in PARTS[: self.vectors[name]]))
        if self.peek() in ("+", "-") and (self.peek(1)[:1] == "(" or self.peek(1)[:1].isdigit()):
            self.accept("+")
            return Sum(name, self._offset())
        return Name(name)

    def _literal(self) -> Operand:
        """Take a number, an expression that begins with one, or a mask with its operand."""
        begun = self.at
        if self.peek() == "-" and not self.peek(1)[:1].isdigit() and constants.begins(self):
            return Number(constants.evaluate(self))
        number = self._number()
        if isinstance(number.value, int) and constants.follows(self):
            self.at = begun
            return Number(constants.evaluate(self))
        if isinstance(number.value, int) and self.accept("("):
            masked = Masked(number.value, self.operand())
            self.take(")")
            return masked
        return number

    def _group(self) -> Group:
        close, items = "}" if self.take() == "{" else ")", []
        while not self.accept(close):
            items.append(self.operand())
            if self.peek() != close:
                self.take(",")
        return Group(tuple(items))

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
            raise self.unexpected("a number of up to 64 bits", token) from None

    def _offset(self) -> int:
        """Take a number of bytes: an integer, or a constant expression."""
        begun = self.at
        if self.peek() not in ("(", "~", "!") and self.peek(1) not in ("(", "~", "!"):
            value = self.integer()
            if self.peek() in ("+", "-") or not constants.follows(self):
                return value
        self.at = begun
        return constants.evaluate(self)

    def _memory(self) -> Memory:
        base, offset = "", 0
        if self.peek()[:1].isdigit():
            offset = self.integer()
        else:
            base = self.resolve(self.name())
            while self.peek() not in ("]", ","):
                self.accept("+")
                offset += self._offset()
        more = []
        while self.accept(","):
            more.append(self.operand())
        self.take("]")
        return Memory(base, offset, tuple(more))
