"""Stable anchors: a case has the same link in every report, and a figure the same file name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_LONGEST = 180
"""The maximum length of a slug: file systems allow 255 characters, and there is text before and
after it."""


def slug(text: str) -> str:
    """A case id, metric or title as an HTML id and file name."""
    found = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")
    if len(found) <= _LONGEST:
        return found
    return f"{found[: _LONGEST - 13]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def distinct_slugs(names: Iterable[str]) -> dict[str, str]:
    """A file name for each text; a number is added if the name would be empty or a duplicate."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        stem = slug(name) or "problem"
        taken = {each.lower() for each in found.values()}
        number = 1
        while (own := stem if number == 1 else f"{stem}-{number}").lower() in taken:
            number += 1
        found[name] = own
    return found


def case_anchor(case: str) -> str:
    return f"case-{slug(case)}"


def counter_anchor(metric: str) -> str:
    return f"counter-{slug(metric)}"
