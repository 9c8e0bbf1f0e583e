"""Parse an extension's host code, in the C++ subset that launches kernels, into a tree.

Unsupported code is rejected, and the message quotes it. Types are kept as text: `const float *`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.judge.candidates.cpp.macros import expanded
from harness.judge.candidates.cpp.text import Macro, Token, tokens, words

from harness.judge.candidates.cpp.tree import (  # isort: skip
    Assign, Binary, Block, Braces, Call, Cast, Declare, Either, Expr, Group, If, Item, Jump,
    Lambda, Launch, Loop, Member, Name, Number, Parameter, Return, Statement, Step, Text, Unary,
)  # fmt: skip
from harness.judge.candidates.cpp.cursor import Cursor
from harness.judge.candidates.errors import Refused

PLAIN_TYPES = {
    "void", "bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double", "auto",
    "size_t", "ssize_t", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t",
    "int64_t", "uint64_t", "uint", "ulong", "dim3", "half", "__half", "__nv_bfloat16",
    "nv_bfloat16", "float2", "float4", "int2", "int4", "uchar",
}  # fmt: skip
"""Types that consist of one word, or of several, such as `unsigned long long`."""

_QUALIFIERS = {"const", "static", "constexpr", "inline", "volatile", "typename", "struct"}
_RESTRICT = {"__restrict__", "__restrict", "restrict"}
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
           ("<<", ">>"), ("+", "-"), ("*", "/", "%"))  # fmt: skip
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="}
_IN_TEMPLATE = {"::", ",", "*", "&", "<", ">", ">>", "+", "-", "/", "(", ")"}
_AFTER_NAME = ("=", "(", "{", ";", ",", "[")
_AFTER_TEMPLATE = {"(", "<<<", "::", "{", ")", ",", ";"}


def block(some: Sequence[Token], macros: Mapping[str, Macro]) -> Block:
    """Parse the body of a function."""
    reader = _Reader(expanded(list(some), macros))
    found = []
    while not reader.is_done:
        found.append(reader.statement())
    return Block(tuple(found))


def parameters(some: Sequence[Token], macros: Mapping[str, Macro]) -> list[Parameter]:
    """Parse the parameters of a function, in order."""
    reader = _Reader(expanded(list(some), macros))
    found = []
    while not reader.is_done:
        found.append(reader.parameter())
    return found


class _Reader(Cursor):
    def statement(self) -> Statement:
        word = self._text()
        if word == "{":
            return self._block()
        if word == "if":
            return self._branch()
        if word in ("for", "while", "do"):
            return self._loop()
        if word == "return":
            self._next()
            value = None if self._text() == ";" else self._value()
            self._want(";")
            return Return(value)
        if word in ("break", "continue"):
            self._next()
            self._want(";")
            return Jump(word)
        if word in ("switch", "try", "goto", "throw", "asm"):
            raise Refused(f"`{word}` in host code is not read")
        if self._if(";"):
            return Block(())
        if word in {"using", "typedef"}:
            raise Refused(f"`{word}` within host code is not read")
        if (found := self._declaration()) is not None:
            return found
        value = self._value()
        # A macro such as CHECK_INPUT(x) may include its own semicolon, or need none.
        if not self._if(";") and self._text() not in ("}", "") and not isinstance(value, Call):
            raise self._refused()
        return value

    def _block(self) -> Block:
        self._want("{")
        found = []
        while not self._if("}"):
            if self.is_done:
                raise self._refused()
            found.append(self.statement())
        return Block(tuple(found))

    def _branch(self) -> If:
        self._want("if")
        self._if("constexpr")
        self._want("(")
        condition = self._value()
        self._want(")")
        then = self.statement()
        return If(condition, then, self.statement() if self._if("else") else None)

    def _loop(self) -> Loop:
        word = self._next()
        if word == "do":
            body = self.statement()
            self._want("while")
            self._want("(")
            condition = self._value()
            self._want(")")
            self._want(";")
            return Loop(None, condition, None, body, True)
        self._want("(")
        if word == "while":
            condition = self._value()
            self._want(")")
            return Loop(None, condition, None, self.statement())
        first = self.statement()
        test = None if self._text() == ";" else self._value()
        self._want(";")
        step = None if self._text() == ")" else self._value()
        self._want(")")
        return Loop(first, test, step, self.statement())

    def _declaration(self) -> Statement | None:
        start = self._at
        kind = self.type()
        after = self._text(1)
        if kind is None or self._kind() != "name" or after not in _AFTER_NAME:
            self._at = start
            return None
        found: list[Statement] = []
        while True:
            name = self._next()
            if self._text() == "[":
                raise Refused(f"the array `{name}` of host code is not read")
            if self._if("="):
                value: Expr | None = self._assignment()
            elif self._if("("):
                value = Braces(kind, tuple(self._until(")")))
            elif self._text() == "{":
                value = self._braces(kind)
            else:
                value = None
            found.append(Declare(kind, name, value))
            if not self._if(","):
                break
            while self._if("*"):
                kind += " *"
        self._want(";")
        return found[0] if len(found) == 1 else Group(tuple(found))

    def parameter(self) -> Parameter:
        kind = self.type()
        if kind is None:
            raise self._refused()
        name = self._next() if self._kind() == "name" else ""
        default = self._assignment() if self._if("=") else None
        if not self.is_done:
            self._want(",")
        return Parameter(kind, name, default)

    def type(self) -> str | None:
        """Read a type; return its text without const and &, or None without consuming anything."""
        start = self._at
        while self._text() in _QUALIFIERS:
            self._next()
        parts: list[str] = []
        while self._kind() == "name" and self._text() in PLAIN_TYPES:
            parts.append(self._next())
        if not parts:
            self._if("::")
            name = self._path()
            if name is None:
                self._at = start
                return None
            parts.append(name.path)
            if name.template is not None:
                parts[-1] += f"<{', '.join(name.template)}>"
        while self._text() in ("*", "&", "&&", "const", *_RESTRICT):
            if self._next() == "*":
                parts.append("*")
        return " ".join(parts)

    def _path(self) -> Name | None:
        if self._kind() != "name":
            return None
        found, template = self._next(), self._template()
        while self._text() == "::" and self._kind(1) == "name":
            if template is not None:
                found += f"<{', '.join(template)}>"
            self._next()
            found += f"::{self._next()}"
            template = self._template()
        return Name(found, template)

    def _template(self) -> tuple[str, ...] | None:
        """Read template arguments; return the texts between < and >, or consume nothing."""
        if self._text() != "<":
            return None
        start, depth = self._at, 0
        found: list[list[Token]] = [[]]
        while not self.is_done:
            token = self._tokens[self._at]
            if token.kind == "sign" and token.text not in _IN_TEMPLATE:
                break
            self._at += 1
            depth += (token.text == "<") - (token.text == ">") - 2 * (token.text == ">>")
            if depth <= 0:
                is_type = self._kind() == "name" or self._text() in ("*", "&")
                if self._text() in _AFTER_TEMPLATE or is_type or self.is_done:
                    if token.text == ">>":
                        found[-1].append(Token("sign", ">", 0))
                    return tuple(words(each) for each in found if each)
                break
            if token.text == "," and depth == 1:
                found.append([])
            elif depth > 1 or token.text != "<":
                found[-1].append(token)
        self._at = start
        return None

    # Expressions

    def _value(self) -> Expr:
        found = self._assignment()
        while self._if(","):
            raise Refused("a comma between values in host code is not read")
        return found

    def _assignment(self) -> Expr:
        found = self._either()
        if self._text() in _ASSIGNS and self._kind() == "sign":
            sign = self._next()[:-1]
            return Assign(sign, found, self._assignment())
        return found

    def _either(self) -> Expr:
        found = self._binary(0)
        if not self._if("?"):
            return found
        yes = self._assignment()
        self._want(":")
        return Either(found, yes, self._assignment())

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        found = self._binary(level + 1)
        while self._kind() == "sign" and self._text() in _LEVELS[level]:
            sign = self._next()
            found = Binary(sign, found, self._binary(level + 1))
        return found

    def _unary(self) -> Expr:
        text = self._text()
        if self._kind() == "sign":
            if text in ("-", "+", "!", "~", "&", "*"):
                self._next()
                return Unary(text, self._unary())
            if text in ("++", "--"):
                self._next()
                return Step(1 if text == "++" else -1, self._unary(), True)
            if text == "(" and (cast := self._cast()) is not None:
                return cast
        return self._postfix()

    def _cast(self) -> Cast | None:
        start = self._at
        self._want("(")
        kind = self.type()
        plain = kind is not None and (
            kind.endswith("*") or kind.split()[0] in PLAIN_TYPES or kind.endswith("scalar_t")
        )
        if plain and self._if(")") and (
            self._kind() in ("name", "number") or self._text() in ("(", "-", "*", "&", "!")
        ):  # fmt: skip
            return Cast(str(kind), self._unary())
        self._at = start
        return None

    def _postfix(self) -> Expr:
        found = self._primary()
        while True:
            if self._text() in (".", "->") and self._kind() == "sign":
                self._next()
                if self._text() == "template":
                    self._next()
                name = self._path()
                if name is None:
                    raise self._refused()
                found = Member(found, name.path, name.template)
            elif self._if("("):
                found = Call(found, tuple(self._until(")")))
            elif self._if("["):
                index = self._value()
                self._want("]")
                found = Item(found, index)
            elif self._if("<<<"):
                if not isinstance(found, Name):
                    raise self._refused()
                shape = tuple(self._until(">>>"))
                self._want("(")
                found = Launch(found, shape, tuple(self._until(")")))
            elif self._text() in ("++", "--"):
                found = Step(1 if self._next() == "++" else -1, found, False)
            elif self._text() == "{" and isinstance(found, Name) and self._is_type(found):
                found = self._braces(found.path)
            else:
                return found

    def _is_type(self, name: Name) -> bool:
        last = name.path.rpartition("::")[2]
        return last in PLAIN_TYPES or last in ("vector", "tuple", "Tensor")

    def _primary(self) -> Expr:
        kind, text = self._kind(), self._text()
        if kind == "number":
            return Number(self._next())
        if kind == "text":
            parts = [self._next()]
            while self._kind() == "text":
                parts.append(self._next())
            return Text("".join(parts))
        if text == "(":
            self._next()
            found = self._value()
            self._want(")")
            return found
        if text == "{":
            return self._braces("")
        if text == "[":
            return self._lambda()
        if text in ("unsigned", "long", "signed", "short") and kind == "name":
            made = self.type()
            self._want("(")
            return Call(Name(str(made)), tuple(self._until(")")))
        self._if("::")
        name = self._path()
        if name is None:
            raise self._refused()
        if name.path == "sizeof" and self._text() == "(":
            return self._sizeof()
        return name

    def _sizeof(self) -> Expr:
        self._want("(")
        kind = self.type()
        self._want(")")
        return Call(Name("sizeof", (str(kind),)), ())

    def _lambda(self) -> Lambda:
        self._want("[")
        while not self._if("]"):
            if self.is_done:
                raise self._refused()
            self._next()
        if self._if("("):
            self._want(")")
        if self._if("->"):
            self.type()
        return Lambda(self._block())

    def _braces(self, kind: str) -> Braces:
        self._want("{")
        return Braces(kind, tuple(self._until("}")))

    def _until(self, end: str) -> list[Expr]:
        found: list[Expr] = []
        while not self._if(end):
            if self.is_done:
                raise self._refused()
            found.append(self._assignment())
            if self._text() != end:
                self._want(",")
        return found


def value_of(text: str) -> Expr:
    """Parse the text of an expression, such as a template argument."""
    return _Reader(tokens(text))._value()
