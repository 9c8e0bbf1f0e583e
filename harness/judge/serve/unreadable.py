"""What can still be said about a line that cannot be read: its id, and the field that is to blame.

A sender matches replies to requests by their ids, so a reply without one is lost on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

_TOKEN = re.compile(rb'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)(?P<colon>\s*:\s*)?|[][{}]', re.S)
_ID = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9][0-9]{0,99}))(?=[\s,}])', re.S)
_MOST_TOKENS = 200_000
"""The most tokens to look at: more than any request has, and a fraction of a second."""
_LONE = re.compile("[\ud800-\udfff]")


def id_in(line: bytes) -> int | str | None:
    """The text or integer at a line's top level that is called `id`; None if it is not found."""
    found, depth = None, 0
    if not line.lstrip().startswith(b"{"):
        return None
    for count, token in enumerate(_TOKEN.finditer(line)):
        if count >= _MOST_TOKENS:
            break
        if token["string"] is None:
            depth += 1 if token[0] in b"[{" else -1
        elif depth == 1 and token["string"] == b'"id"' and token["colon"]:
            value = _ID.match(line, token.end())
            found = value[1] if value else None
    try:
        return None if found is None else from_json(found)
    except ValueError:
        return None


def lone_surrogate_in(line: bytes) -> tuple[str, str] | None:
    """The field of a line that holds half of a surrogate pair, and that half, as JSON writes it.

    None if there is no such field, or the line is no JSON even so.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    for at, text in _texts(data):
        if half := _LONE.search(text):
            return ".".join(_LONE.sub("\N{REPLACEMENT CHARACTER}", part) for part in at), (
                f"\\u{ord(half[0]):04x}"
            )
    return None


def _texts(data: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text in data, with its path; a key is at its own path."""
    todo: list[tuple[tuple[str, ...], Any]] = [((), data)]
    while todo:
        at, value = todo.pop()
        if isinstance(value, str):
            yield at, value
        elif isinstance(value, dict):
            for key in reversed(value):
                todo += [((*at, key), value[key]), ((*at, key), key)]
        elif isinstance(value, list):
            todo += [((*at, str(n)), each) for n, each in reversed([*enumerate(value)])]
