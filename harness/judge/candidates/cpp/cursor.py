"""A position in a token sequence: reads the next token, and quotes it in refusals."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.candidates.cpp.text import Token, words
from harness.judge.candidates.errors import Refused


class Cursor:
    """Reads tokens in order."""

    def __init__(self, some: Sequence[Token]) -> None:
        self._tokens, self._at = some, 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._tokens)

    def _text(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _kind(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at].kind if at < len(self._tokens) else ""

    def _next(self) -> str:
        text = self._text()
        self._at += 1
        return text

    def _if(self, text: str) -> bool:
        if self._text() == text and self._kind() != "text":
            self._at += 1
            return True
        return False

    def _want(self, text: str) -> None:
        if not self._if(text):
            raise self._refused()

    def _refused(self) -> Refused:
        near = words(self._tokens[max(0, self._at - 6) : self._at + 6])
        return Refused(f"host code that is not read: `{near}`")
