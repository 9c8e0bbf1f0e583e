"""Read run.json's description of a problem and its work, including for runs whose records lack
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.journal.records import Planned


def completed(info: Mapping[str, Any], p: Planned) -> Planned:
    """Complete an older record of a case with the work model in run.json.

    This is done only if the bytes are the same; otherwise run.json has a different work model.
    """
    work = mapping(mapping(said_of(info, p.problem).get("work")).get(p.group))
    written = work.get("written_bytes")
    if p.written_bytes is not None or work.get("bytes") != p.bytes or written is None:
        return p
    return replace(
        p,
        written_bytes=whole(written),
        reread_bytes=whole(work.get("reread_bytes")),
        exponentials=whole(work.get("exponentials")),
    )


def said_of(info: Mapping[str, Any], problem: str) -> Mapping[str, Any]:
    """The entry in run.json about a problem."""
    return mapping((info.get("problems") or {}).get(problem))


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping from an untrusted run.json; empty if it is not a mapping."""
    return value if isinstance(value, Mapping) else {}


def whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
