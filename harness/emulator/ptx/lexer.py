"""Split PTX text into tokens, each with its line."""

from __future__ import annotations

import re
import string

from harness.emulator.errors import PtxSyntaxError, shown

_MARKS = "[]{}()<>,;:=+-*/@!|&~^?"
_TOKENS = re.compile(
    rf"""
    [ \t\f\v]*(?://.*|(
        "[^"]*"
      | 0[fF][0-9a-fA-F]{{8}}(?![0-9a-fA-F]) | 0[dD][0-9a-fA-F]{{16}}
      | \d+\.\d*(?:[eE][+-]?\d+)?
      | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U? | \d+U?
      | \.[A-Za-z_][\w$]*(?:::[\w$]+)* | [%$A-Za-z_][\w$.]*(?:::[\w$.]+)*
      | [{re.escape(_MARKS)}]
      | \S  # what PTX has no use for
    ))
    """,
    re.VERBOSE | re.ASCII,
)
"""The kinds of token, in the order in which they are tried: a string, a float's bits, a float, an
integer, a name, a mark; or a comment."""
_BLOCK = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?(?P<end>\*/|\Z)', re.DOTALL)
_SINGLE = frozenset(f"{_MARKS}{string.ascii_letters}{string.digits}%$_")
"""The tokens of one character."""
_NAME = re.compile(r"[%$A-Za-z_][\w$]*\Z", re.ASCII)


class Tokens:
    """The tokens of a text, and the current position."""

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
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "/*" in text:
            text = _BLOCK.sub(_blank, text)
        for number, line in enumerate(text.split("\n"), 1):
            found = _TOKENS.findall(line)
            if "//" in line:
                found = [token for token in found if token]
            self.tokens += found
            self.lines += [number] * len(found)
        strange = {token for token in set(self.tokens) if len(token) == 1} - _SINGLE
        if strange:
            at, token = next((i, each) for i, each in enumerate(self.tokens) if each in strange)
            raise PtxSyntaxError(self.lines[at], f"unexpected character {token!r}")
        # Two end marks, because a reader may look at the token after the one it takes.
        self.tokens += ["", ""]
        self.lines += [number, number]

    @property
    def line(self) -> int:
        return self.lines[self.at]

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead]

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
        """Take a name."""
        token = self.take()
        if not _NAME.match(token):
            raise self.unexpected("a name", token)
        return token

    def unexpected(self, wanted: str, found: str) -> PtxSyntaxError:
        """Make an error about the last token taken."""
        return PtxSyntaxError(self.lines[self.at - 1], f"expected {wanted}, found {shown(found)}")

    def rest_of_line(self) -> list[str]:
        begun, line = self.at, self.line
        while self.tokens[self.at] and self.lines[self.at] == line:
            self.at += 1
        return self.tokens[begun : self.at]


def _blank(found: re.Match[str]) -> str:
    """Replace a comment with a space and its line breaks; keep everything else."""
    if not found[0].startswith("/*"):
        return found[0]
    if not found["end"]:
        line = 1 + found.string.count("\n", 0, found.start())
        raise PtxSyntaxError(line, "a comment that never ends")
    return " " + "\n" * found[0].count("\n")


def parse_integer(token: str) -> int:
    """The value of an integer literal. Raises ValueError if the text is not an integer, or has more
    than 64 bits."""
    digits = token.rstrip("U")
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8 if octal else 0)
    if value >> 64:
        raise ValueError("more than 64 bits")
    return value
