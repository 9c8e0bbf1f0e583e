"""Split the text of an extension's .cu file: code for nvcc, and the host code around it.

Host code is C++ that uses torch's headers and is not compiled. Its functions are kept as tokens for
syntax.py; the remaining text keeps its line numbers, so that nvcc messages and faults refer to the
author's own lines.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.judge.candidates.errors import Refused

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<text>R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      | (?P<number>0[xX][0-9a-fA-F']+[uUlL]*|(?:\d[\d']*\.?[\d']*|\.\d+)(?:[eE][+-]?\d+)?[fFuUlL]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><<<|>>>|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=
                |\|=|\^=|::|[-+*/%&|^~!<>=?:;,.(){}\[\]\#\\])""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
_DEFINE = re.compile(r"#\s*define\s+(\w+)(\(([^)]*)\))?[ \t]*(.*)$", re.DOTALL)
_HOST_HEADER = re.compile(
    r"#\s*include\s*[<\"](torch|ATen|c10|pybind11|THC|cublas|cudnn|curand|cusparse|cusolver)"
)
_BROUGHT = (
    "#include <algorithm>\n#include <cfloat>\n#include <climits>\n#include <cmath>\n"
    "#include <cstdint>\n#include <limits>\n"
)
"""Headers on which kernels rely because torch's headers include them."""

_OF_TORCH = {"torch", "at", "c10", "pybind11", "py", "Tensor", "PYBIND11_MODULE", "TORCH_LIBRARY"}
_TYPES = ("struct", "class", "union", "enum")
_MOST_TOKENS = 200_000


class Token(NamedTuple):
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Macro:
    """`parameters`: None for an object-like macro."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


@dataclass
class Function:
    """A host function, or one that is compiled for both host and device."""

    name: str
    templates: tuple[str, ...]
    parameters: Sequence[Token]
    body: Sequence[Token]


@dataclass
class Parted:
    """`device`: text for nvcc. `kernels`: name → its qualified C++ name. `constants`: the tokens of
    each top-level statement that assigns a value to a name. `bound`: Python names → functions."""

    device: str = ""
    kernels: dict[str, str] = field(default_factory=dict)
    templates: set[str] = field(default_factory=set)
    """The names of kernels that are templates."""
    functions: dict[str, list[Function]] = field(default_factory=dict)
    constants: list[Sequence[Token]] = field(default_factory=list)
    macros: dict[str, Macro] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)


def parted(text: str, host_text: str = "") -> Parted:
    """Split an extension's CUDA text; host_text has functions that nvcc never sees."""
    found = Parted()
    lines = _without_directives(text, found)
    _Chunks(lines, text, found).part()
    _Chunks(_without_directives(host_text, found), host_text, Parted(), found).part()
    return found


def tokens(text: str) -> list[Token]:
    """Split a text into tokens. Raises Refused for an invalid C++ token."""
    found, at = list[Token](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Refused(f"`{text[at : at + 10]}` in its host code is no C++ that is read")
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], at))
        at = match.end()
    if len(found) > _MOST_TOKENS:
        raise Refused("its source is too long to be read")
    return found


def words(some: Iterable[Token]) -> str:
    """Join tokens into a line of text."""
    return " ".join(token.text for token in some)


def _without_directives(text: str, found: Parted) -> str:
    """Blank out preprocessor lines in the text, and keep their macros."""
    plain = _TOKEN.sub(lambda m: _blank(m[0]) if m["space"] else m[0], text)

    def taken(line: re.Match[str]) -> str:
        if line[1] == "define":
            _define(line[0], found)
        return _blank(line[0])

    return _DIRECTIVE.sub(taken, plain)


def _define(line: str, found: Parted) -> None:
    match = _DEFINE.search(line.replace("\\\n", " "))
    if match is None:
        return
    names = tuple(p.strip() for p in match[3].split(",")) if match[2] else None
    try:
        body = tuple(tokens(match[4]))
    except Refused:  # such as `#`; rejected where it is used
        body = (Token("sign", "#", 0),)
    found.macros[match[1]] = Macro(names, body)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


class _Chunks:
    """The top-level statements and definitions in a source text."""

    def __init__(self, lines: str, text: str, found: Parted, host: Parted | None = None) -> None:
        self._tokens, self._text = tokens(lines), text
        self._found, self._host = found, host or found
        self._dropped: list[tuple[int, int]] = []

    def part(self) -> None:
        self._within(0, len(self._tokens), ())
        kept = self._text
        for start, end in self._dropped:
            kept = kept[:start] + _blank(kept[start:end]) + kept[end:]
        has_brought = False
        lines = []
        for line in kept.split("\n"):
            if not _HOST_HEADER.search(line):
                lines.append(line)
                continue
            lines.append("")
            has_brought = True
        before = f"{_BROUGHT}#line 1\n" if has_brought else ""
        self._found.device = before + "\n".join(lines)

    def _within(self, at: int, end: int, space: tuple[str, ...]) -> None:
        while at < end:
            stop, inner = self._end_of(at, end)
            if inner is not None:
                named = [t.text for t in self._tokens[at:inner] if t.kind == "name"]
                names = named[1:] if named[:1] == ["namespace"] else []
                self._within(inner + 1, stop - 1, (*space, *names))
            else:
                self._take(at, stop, space)
            at = stop

    def _end_of(self, at: int, end: int) -> tuple[int, int | None]:
        """The end of a chunk, and the position of its opening brace if it contains other chunks."""
        first, depth, is_function = self._tokens[at].text, 0, False
        is_value, head = False, _after_template(self._tokens, at)
        for here in range(at, end):
            text = self._tokens[here].text
            if text == "{" and not depth:
                language = first == "extern" and self._tokens[here - 1].kind == "text"
                if first == "namespace" or (language and here == at + 2):
                    return self._closing(here, end), here
                is_function = not is_value and any(
                    t.text == "(" for t in self._tokens[at:here]
                )  # fmt: skip
            depth += (text in "([{") - (text in ")]}")
            is_value |= text == "=" and not depth and here >= head
            if depth == 0 and text == ";":
                return here + 1, None
            if depth == 0 and text == "}" and is_function:
                more = here + 1 < end and self._tokens[here + 1].text == ";"
                return here + 1 + more, None
        return end, None

    def _closing(self, at: int, end: int) -> int:
        depth = 0
        for here in range(at, end):
            text = self._tokens[here].text
            depth += (text == "{") - (text == "}")
            if not depth:
                return here + 1
        raise Refused("its source has a brace that nothing closes")

    def _take(self, at: int, stop: int, space: tuple[str, ...]) -> None:
        own = self._tokens[at:stop]
        names = {token.text for token in own if token.kind == "name"}
        head, body = _head_and_body(own)
        signature = {token.text for token in head}
        if body is None or signature & set(_TYPES) - {"typename", "class"} or not _is_call(head):
            if names & _OF_TORCH:
                self._drop(own)
            if "PYBIND11_MODULE" in names:
                self._host.bound.update(_bound(own))
            elif not signature & {"template", *_TYPES, "typedef", "using"}:
                self._host.constants.append(own)
            return
        if "PYBIND11_MODULE" in signature:
            self._host.bound.update(_bound(own))
            self._drop(own)
            return
        function = _function(head, body)
        if "__global__" in signature:
            self._found.kernels[function.name] = "::".join((*space, function.name))
            if "template" in signature:
                self._found.templates.add(function.name)
            return
        if "__device__" not in signature and "constexpr" not in signature:
            self._drop(own)
        if "__host__" in signature or "__device__" not in signature:
            self._host.functions.setdefault(function.name, []).append(function)

    def _drop(self, own: Sequence[Token]) -> None:
        self._dropped.append((own[0].at, own[-1].at + len(own[-1].text)))


def _head_and_body(own: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token] | None]:
    depth = 0
    for at, token in enumerate(own):
        if token.text == "{" and not depth:
            end = len(own) - 1 - (own[-1].text == ";")
            return own[:at], own[at + 1 : end]
        depth += (token.text in "([") - (token.text in ")]")
    return own, None


def _is_call(head: Sequence[Token]) -> bool:
    return any(token.text == "(" for token in head) and not any(t.text == "=" for t in _flat(head))


def _flat(head: Sequence[Token]) -> Iterator[Token]:
    """The tokens outside all brackets; template angle brackets count as brackets too."""
    depth = 0
    for token in head:
        depth += (token.text in "([<") - (token.text in ")]>")
        if not depth:
            yield token


def _function(head: Sequence[Token], body: Sequence[Token]) -> Function:
    """Parse a function definition: the name precedes the last pair of brackets at the top
    level."""
    depth, open_at, close_at = 0, -1, -1
    templates = _after_template(head, 0)
    for at in range(templates, len(head)):
        text = head[at].text
        if text == "(":
            # __launch_bounds__(256) and attributes also have brackets.
            if not depth and open_at < 0 and not head[at - 1].text.startswith("__"):
                open_at = at
            depth += 1
        elif text == ")":
            depth -= 1
            if not depth and open_at >= 0 and close_at < open_at:
                close_at = at
    if open_at < 1 or close_at < 0:
        raise Refused(f"`{words(head)[:60]}` in its source is not understood")
    kinds = tuple(
        after.text
        for before, after in itertools.pairwise(head[:templates])
        if before.kind == "name" and after.kind == "name"
    )  # fmt: skip
    return Function(head[open_at - 1].text, kinds, head[open_at + 1 : close_at], body)


def _after_template(head: Sequence[Token], at: int) -> int:
    """The position after `template <…>`."""
    if at >= len(head) or head[at].text != "template":
        return at
    depth = 0
    for here in range(at + 1, len(head)):
        depth += (head[here].text == "<") - (head[here].text == ">")
        depth -= 2 * (head[here].text == ">>")
        if depth <= 0:
            return here + 1
    return at


def _bound(own: Sequence[Token]) -> dict[str, str]:
    """Map each Python name to its C++ function, from lines such as `m.def("forward", &forward,
    …)`."""
    found, at = {}, 0
    while at + 5 < len(own):
        if own[at].text == "def" and own[at + 1].text == "(" and own[at + 2].kind == "text":
            rest = own[at + 4 : at + 6]
            named = [token.text for token in rest if token.kind == "name"]
            if named:
                found[own[at + 2].text.strip('"')] = named[0]
        at += 1
    return found
