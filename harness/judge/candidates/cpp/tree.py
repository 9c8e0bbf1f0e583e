"""The tree of an extension's host code: values, statements, parameters. Types are text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Name:
    """`path`: `torch::empty`. `template`: the text between < and >, or None."""

    path: str
    template: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Unary:
    sign: str
    of: Expr


@dataclass(frozen=True)
class Step:
    """`i++` and `--i`."""

    by: int
    of: Expr
    is_before: bool


@dataclass(frozen=True)
class Binary:
    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Either:
    """`condition ? yes : no`."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Assign:
    """`sign`: `+` for `+=`; empty for `=`."""

    sign: str
    target: Expr
    value: Expr


@dataclass(frozen=True)
class Cast:
    type: str
    of: Expr


@dataclass(frozen=True)
class Member:
    of: Expr
    name: str
    template: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Call:
    function: Expr
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Item:
    of: Expr
    index: Expr


@dataclass(frozen=True)
class Braces:
    """`{a, b}`, and `type{a, b}`."""

    type: str
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Lambda:
    body: Block


@dataclass(frozen=True)
class Launch:
    """`kernel<<<grid, block, shared, stream>>>(arguments)`."""

    kernel: Name
    shape: tuple[Expr, ...]
    arguments: tuple[Expr, ...]


Expr = (
    Number | Text | Name | Unary | Step | Binary | Either | Assign | Cast | Member | Call | Item
    | Braces | Lambda | Launch
)  # fmt: skip


@dataclass(frozen=True)
class Block:
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Declare:
    """`value`: None if absent; a Braces for `type name(arguments)` and `type name{arguments}`."""

    type: str
    name: str
    value: Expr | None


@dataclass(frozen=True)
class If:
    condition: Expr
    then: Statement
    other: Statement | None


@dataclass(frozen=True)
class Loop:
    """`for` and `while`. `is_after`: True for `do … while`."""

    first: Statement | None
    condition: Expr | None
    step: Expr | None
    body: Statement
    is_after: bool = False


@dataclass(frozen=True)
class Return:
    value: Expr | None


@dataclass(frozen=True)
class Jump:
    """`break` and `continue`."""

    word: str


@dataclass(frozen=True)
class Group:
    """Several declarations in one statement."""

    statements: tuple[Statement, ...]


Statement = Block | Declare | If | Loop | Return | Jump | Group | Expr


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    default: Expr | None
