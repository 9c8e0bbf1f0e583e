"""PTX text as a stream of tokens, each with its line."""

from __future__ import annotations

import re

from harness.emulator.errors import PtxSyntaxError, shown

_TOKEN = re.compile(
    r"""
    (?P<newline>\r\n?|\n)
  | (?P<space>[ \t\f\v]+|//[^\r\n]*)
  | (?P<comment>/\*.*?\*/)
  | (?P<endless>/\*)
  | (?P<string>"[^"\n]*")
  | (?P<bits>0[fF][0-9a-fA-F]{8}(?![0-9a-fA-F])|0[dD][0-9a-fA-F]{16})
  | (?P<float>\d+\.\d*(?:[eE][+-]?\d+)?)
  | (?P<int>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
  | (?P<name>\.[A-Za-z_][\w$]*(?:::[\w$]+)*|[%$A-Za-z_][\w$.]*(?:::[\w$.]+)*)
  | (?P<mark>[\[\]{}()<>,;:=+\-*/@!|&~^?])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NAME = re.compile(r"[%$A-Za-z_][\w$]*\Z", re.ASCII)


class Tokens:
    """The tokens of a text, and a place among them."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"PTX is text, and this is a {type(text).__name__}; read the file with "
                "Path(...).read_text()"
            )
        self.tokens: list[str] = []
        self.lines: list[int] = []
        self.at = 0
        self._tokenize(text)

    def _tokenize(self, text: str) -> None:
        line, at = 1, 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise PtxSyntaxError(line, f"unexpected character {text[at]!r}")
            at = match.end()
            kind = match.lastgroup
            if kind == "endless":
                raise PtxSyntaxError(line, "a comment that never ends")
            if kind == "newline":
                line += 1
            elif kind == "comment":
                line += match.group().count("\n")
            elif kind != "space":
                self.tokens.append(match.group())
                self.lines.append(line)
        self.tokens.append("")
        self.lines.append(line)

    @property
    def line(self) -> int:
        return self.lines[self.at]

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self, expected: str | None = None) -> str:
        token = self.tokens[self.at]
        if expected is not None and token != expected:
            found = shown(token) if token else "the end of the file"
            raise PtxSyntaxError(self.line, f"expected {expected!r}, found {found}")
        if token == "":
            raise PtxSyntaxError(self.line, "the file ends in the middle of a statement")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take()
        try:
            return sign * parse_integer(token)
        except ValueError:
            raise self.unexpected("an integer of up to 64 bits", token) from None

    def name(self) -> str:
        """Take the name of something."""
        token = self.take()
        if not _NAME.match(token):
            raise self.unexpected("a name", token)
        return token

    def unexpected(self, wanted: str, found: str) -> PtxSyntaxError:
        """The error about the token that was taken last."""
        return PtxSyntaxError(self.lines[self.at - 1], f"expected {wanted}, found {shown(found)}")

    def rest_of_line(self) -> list[str]:
        line, out = self.line, []
        while self.peek() != "" and self.line == line:
            out.append(self.take())
        return out


def parse_integer(token: str) -> int:
    """The value of an integer literal. Raises ValueError for what is none, or has over 64 bits."""
    digits = token.rstrip("U")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8 if octal else 0)
    if value >> 64:
        raise ValueError("more than 64 bits")
    return value
