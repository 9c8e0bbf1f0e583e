"""Say which variant to use: the fastest at each size, as briefly as the sizes allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.ladder import Ladder, Rung
from harness.report import format as fmt

MANY_KEYS = 3
"""The largest number of differing keys that identify sizes; if more differ, only one of the keys is
used."""


@dataclass(frozen=True)
class Choice:
    """One variant, and the neighbouring sizes at which no other variant was shown to be faster."""

    rung: Rung
    ladders: Sequence[Ladder]
    """The ladders of these sizes, the smallest first."""


def choices(ladders: Sequence[Ladder]) -> list[Choice]:
    """Choose as few variants as possible for one problem and type, from the smallest size to the
    largest.

    A variant that cannot be told apart from the fastest is treated as equally good, so a variant
    that is good at several sizes in a row is named once.
    """
    found: list[Choice] = []
    for ladder in sorted((x for x in ladders if x.winner), key=lambda x: x.extent):
        assert ladder.winner is not None
        good = {r.planned.variant: r for r in (ladder.winner, *ladder.tied)}
        before = found[-1].ladders if found else []
        both = [v for v in good if all(_does(x, v) for x in before)]
        if before and both:
            found[-1] = Choice(good[both[0]], [*before, ladder])
        else:
            found.append(Choice(ladder.winner, [ladder]))
    return found


def _does(ladder: Ladder, variant: str) -> bool:
    return any(r and r.planned.variant == variant for r in (ladder.winner, *ladder.tied))


def which_when(ladders: Sequence[Ladder]) -> str:
    """`n ≤ 2²⁰: v3a; n ≥ 2²⁸: v1a`; empty if one variant is best at all measured sizes.

    The text says nothing about the sizes in between, because none was measured.
    """
    found = choices(ladders)
    if len(found) < 2:
        return ""
    sizes = [x.sizes for each in found for x in each.ladders]
    keys = [key for key in sizes[0] if len({size.get(key) for size in sizes}) > 1]
    if len(keys) == 1:
        return "; ".join(
            f"{_stretch(keys[0], each, i == 0, i == len(found) - 1)}: {each.rung.short}"
            for i, each in enumerate(found)
        )
    if len(keys) > MANY_KEYS:
        apart = (key for key in keys if len({size[key] for size in sizes}) == len(sizes))
        keys = [next(apart, keys[0])]
    if all(len(set(map(size.get, keys))) == 1 for size in sizes):
        keys = [" = ".join(keys)]  # as for square matrices
    return _listed(found, keys)


def which_of_each_type(ranked: Sequence[Sequence[Ladder]]) -> list[str]:
    """`Fastest, float32: n ≤ 2²⁰: v3a; n ≥ 2²⁸: v1a.`, if the fastest changes with size."""
    several = len(ranked) > 1
    return [
        f"Fastest{f', {own[0].dtype}' if several else ''}: {told}."
        for own in ranked
        if (told := which_when(own))
    ]


def _listed(found: Sequence[Choice], keys: Sequence[str]) -> str:
    """Describe the choice if no single size parameter orders the sizes: each size with its variant,
    then "otherwise" and the most frequent variant."""
    at: dict[str, list[str]] = {}
    for each in found:
        at.setdefault(each.rung.short, []).extend(_at(x, keys) for x in each.ladders)
    most = max(at, key=lambda short: len(at[short]))
    told = [
        f"{' or '.join(where)}: {short}"
        for short, where in at.items()
        if short != most or len(where) == 1
    ]
    return "; ".join(told + [f"otherwise {most}"] * (len(at[most]) > 1))


def _stretch(key: str, choice: Choice, first: bool, last: bool) -> str:
    """`n ≤ 2²⁰`, `n = 2²⁴`, `2²² ≤ n ≤ 2²⁴`, `n ≥ 2²⁸`: within the measured range."""
    low, high = (fmt.count(x.sizes[key]) for x in (choice.ladders[0], choice.ladders[-1]))
    if first:
        return f"{key} ≤ {high}"
    if last:
        return f"{key} ≥ {low}"
    return f"{key} = {low}" if low == high else f"{low} ≤ {key} ≤ {high}"


def _at(ladder: Ladder, keys: Sequence[str]) -> str:
    return fmt.assignments({key: ladder.sizes[key.split(" = ")[0]] for key in keys})
