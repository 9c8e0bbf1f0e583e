"""The part of a source file that determines its behaviour: its statements, without comments.

Comments can thus be improved, and modules moved, without making results out of date. The result is
text, not a syntax tree, so that it is the same in every Python version.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import accumulate

_STRING = r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_C_COMMENT_OR_STRING = re.compile(rf"//[^\n]*|/\*.*?\*/|{_STRING}", re.DOTALL)
_COMMENT_OR_STRING = re.compile(
    rf"""#[^\n]*|(\"{{3}}(?:\\.|[^\\])*?\"{{3}}|'{{3}}(?:\\.|[^\\])*?'{{3}})|{_STRING}""", re.DOTALL
)
_OWN_IMPORT = re.compile(
    r"^[ \t]*(?:from harness[\w.]* import (?:\([^)]*\)|[^\n]*)|import harness[^\n]*)$", re.MULTILINE
)


def statements(text: str, suffix: str) -> str:
    """The statements of a Python, C, C++ or CUDA file, by its suffix.

    Comments, docstrings, blank lines and imports from the harness itself are left out: a module's
    location does not matter, and imported files are hashed separately. Text that Python cannot
    parse is returned unchanged.
    """
    if suffix != ".py":
        return _without_blank_lines(_C_COMMENT_OR_STRING.sub(lambda m: m[1] or " ", text))
    try:
        spans = sorted(_docstrings(text), reverse=True)
    except (SyntaxError, ValueError):
        return text
    for begin, end in spans:
        text = text[:begin] + text[end:]
    text = _COMMENT_OR_STRING.sub(lambda m: m[1] or m[2] or "", text)
    return _without_blank_lines(_OWN_IMPORT.sub("", text))


def _without_blank_lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _docstrings(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of every statement that is only a string."""
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def offset(line: int, column: int) -> int:
        """`column`: in bytes of UTF-8, as in syntax trees."""
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in _every_statement(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            value = node.value
            if isinstance(value.value, str) and value.end_lineno and value.end_col_offset:
                yield (
                    offset(value.lineno, value.col_offset),
                    offset(value.end_lineno, value.end_col_offset),
                )


def _every_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Statements at every depth. Expressions, which make up most of a tree, contain none and are
    skipped."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, block, ()):
            yield inner
            yield from _every_statement(inner)
