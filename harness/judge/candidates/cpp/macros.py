"""Expand the macros in host code as the preprocessor would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.judge.candidates.cpp.text import Macro, Token, words
from harness.judge.candidates.errors import Refused

_MOST_EXPANDED = 100_000


def expanded(
    some: list[Token], macros: Mapping[str, Macro], within: frozenset[str] = frozenset()
) -> list[Token]:
    """Expand macros in the tokens; AT_DISPATCH_… is treated as a function."""
    found: list[Token] = []
    at = 0
    while at < len(some):
        token = some[at]
        macro = macros.get(token.text) if token.kind == "name" else None
        at += 1
        if macro is None or token.text in within:
            found.append(token)
        elif macro.parameters is None:
            found += expanded(list(macro.body), macros, within | {token.text})
        elif at < len(some) and some[at].text == "(":
            given, at = _arguments(some, at)
            body = _filled(macro, given, token.text)
            found += expanded(body, macros, within | {token.text})
        else:
            found.append(token)
        if len(found) > _MOST_EXPANDED:
            raise Refused("the macros of its host code are too long")
    return found


def _arguments(some: Sequence[Token], at: int) -> tuple[list[list[Token]], int]:
    found: list[list[Token]] = [[]]
    depth = 0
    for here in range(at, len(some)):
        text = some[here].text
        if depth == 1 and text == ",":
            found.append([])
            continue
        depth += (text in "([{") - (text in ")]}")
        if not depth:
            return found, here + 1
        if here > at:
            found[-1].append(some[here])
    raise Refused("a macro's bracket is not closed in its host code")


def _filled(macro: Macro, given: list[list[Token]], name: str) -> list[Token]:
    names = [each for each in macro.parameters or () if each]
    if names[-1:] == ["..."]:
        rest: list[Token] = []
        for number, each in enumerate(given[len(names) - 1 :]):
            rest += [*([Token("sign", ",", 0)] if number else []), *each]
        known = dict(zip([*names[:-1], "__VA_ARGS__"], [*given[: len(names) - 1], rest],
                         strict=True))  # fmt: skip
    elif len(names) == len(given) or (not names and given == [[]]):
        known = dict(zip(names, given, strict=False))
    else:
        raise Refused(f"the macro `{name}` is used with {len(given)} arguments")
    found: list[Token] = []
    body, at = macro.body, 0
    while at < len(body):
        if body[at].text == "#" and at + 1 < len(body) and body[at + 1].text != "#":
            found.append(Token("text", f'"{words(known.get(body[at + 1].text, []))}"', 0))
            at += 2
            continue
        if body[at].text == "#":
            raise Refused(f"the macro `{name}` of its host code joins names, which is not read")
        found += known.get(body[at].text, [body[at]])
        at += 1
    return found
