"""Sizes at which the base verified a variant and the new side did not.

A kernel may be wrong only at a size that is no longer verified, so fewer sizes leave the comparison
undecided. More sizes are fine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from harness.cases import listed
from harness.comparison.changes import CLOSING, Change
from harness.comparison.pairs import Side
from harness.journal.records import Planned, Verified
from harness.tables import Run

Shape = tuple[str, str, str, str]
"""Problem, variant, type and launch shape."""
Sizes = dict[str, Mapping[str, int]]
"""Sizes by their text."""


def missing(told: Sequence[Change], base: str) -> Iterator[str]:
    """The sizes that the base verified and the new side did not, one sentence per variant.

    `base`: its name. A journal without verified launches does not tell, and nothing is said of it.
    """
    both = [(c, c.pair.base, c.pair.new) for c in told if c.pair.base and c.pair.new]
    verified = {id(s.run): _verified(s.run) for _, *sides in both for s in sides if s}
    if not all(verified.values()):
        return
    shapes: dict[tuple[Shape, Shape], tuple[Side, Side]] = {}
    explained: dict[Shape, set[str]] = defaultdict(set)
    for change, was, now in both:
        assert was is not None
        assert now is not None
        if not now.planned.is_library:
            shapes[_shape(was.planned), _shape(now.planned)] = was, now
        if change.kind in CLOSING or change.kind == "no longer run":  # which is said anyway
            explained[_shape(now.planned)].add(_text(now.planned.sizes))
        if change.kind == "newly faulty":  # a failure ends its launch shape's verification
            explained[_shape(now.planned)].update(verified[id(was.run)][_shape(was.planned)])
    found: dict[tuple[str, str], Sizes] = defaultdict(dict)
    for (before, after), (was, now) in shapes.items():
        there = verified[id(now.run)].get(after, {}).keys() | explained[after]
        for text, sizes in verified[id(was.run)].get(before, {}).items():
            if text not in there:
                found[after[0], after[1]][text] = sizes
    for (problem, variant), sizes_of in found.items():
        yield (
            f"{problem}/{variant} was verified at {listed(sizes_of.values())} in {base}, and is "
            "not verified there now"
        )


def _verified(run: Run) -> dict[Shape, Sizes]:
    found: dict[Shape, Sizes] = defaultdict(dict)
    for record in run.of(Verified):
        found[_shape(record)][_text(record.sizes)] = record.sizes
    return found


def _shape(of: Planned | Verified) -> Shape:
    return of.problem, of.variant, of.dtype, _text(of.launch)


def _text(named: Mapping[str, int]) -> str:
    return repr(sorted(named.items()))
