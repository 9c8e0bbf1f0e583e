"""The text between two markers of a page, `<!-- name:begin -->` and `<!-- name:end -->`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path


def origin(table: Path, root: Path, commits: str = "") -> str:
    """The line below a table: its file, and the commit and machine that produced it.

    `commits`: what to print in place of the commit, if several commits produced the rows.
    """
    made = json.loads(table.with_name("made.json").read_text())[table.name]
    commit = commits or made["commit"]["id"]
    return f"`{table.relative_to(root)}`, commit {commit}, {made['machine']}."


def keep(page: Path, contents: Mapping[str, str], check: bool, command: str) -> int:
    """Write each content between its markers; with `check`, only check whether all are up to date.

    `contents`: by the markers' name. `command`: the command that regenerates them. Returns the exit
    code.
    """
    try:
        text = wanted = page.read_text(encoding="utf-8")
    except OSError as error:
        return _fail(f"{page} cannot be read: {error.strerror}")
    for name, content in contents.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        once = wanted.count(begin) == wanted.count(end) == 1
        if not once or wanted.index(begin) > wanted.index(end):
            return _fail(f"{page} must hold {begin} and, after it, {end}, once each")
        wanted = f"{wanted.split(begin)[0]}{begin}\n\n{content}\n\n{end}{wanted.split(end)[1]}"
    if not check:
        page.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        return _fail(f"{page} is out of date: {command}")
    return 0


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1
