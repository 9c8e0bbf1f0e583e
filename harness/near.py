""" "Did you mean": the known names that are nearest to one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are near: those that it begins or ends, then those spelt alike."""
    known = list(known)
    folded = {each.lower(): each for each in known}
    begun = [each for each in known if len(name) > 1 and each.lower().startswith(name.lower())]
    alike = difflib.get_close_matches(name.lower(), folded, most, cutoff=0.6)
    return list(dict.fromkeys([*begun, *(folded[each] for each in alike)]))[:most]


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """`; did you mean …?`, or nothing where no known name is near."""
    found = nearest(name, known, most)
    return f"; did you mean {' or '.join(found)}?" if found else ""
