"""`--only`: select variants, libraries and cases by pattern.

A pattern is a case's id, or a prefix of one that ends at a `/`: `problem`, `problem/variant`,
`problem/variant/dtype/n=1024/block=64`; * and ? match within a part.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from harness.cases import Case
from harness.console.suggestions import command, nearest
from harness.errors import UsageError
from harness.matrix import files, model

_MOST_LISTED = 40


def rows(bench: model.Bench, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Problem → the variants and libraries whose names match the beginning of a pattern, or all of
    them if there is no pattern.

    Raises UsageError for a pattern that matches nothing.
    """
    for pattern in patterns:
        if not matching(bench, [pattern]):
            known = [f"{problem}/{name}" for problem, name in _rows(bench)]
            raise _nothing(bench, pattern, known)
    return matching(bench, patterns)


def matching(bench: model.Bench, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Work like `rows`, but allow patterns that match nothing."""
    starts = [pattern.split("/")[:2] for pattern in patterns]
    found: dict[str, list[str]] = {}
    for pair in _rows(bench):
        if not patterns or any(_matches(start, pair) for start in starts):
            found.setdefault(pair[0], []).append(pair[1])
    return found


def _rows(bench: model.Bench) -> list[tuple[str, str]]:
    return [(p.name, v.name) for p in bench.problems.values() for v in p.everything()]


def problems(bench: model.Bench, patterns: Sequence[str]) -> list[str]:
    """The problems in which a pattern matches at least one row."""
    return list(rows(bench, patterns))


def cases(
    every: Sequence[Case], patterns: Sequence[str], baselines: Mapping[str, str]
) -> list[Case]:
    """The cases that a pattern matches, with their baselines and libraries.

    `every`: all cases of the chosen rows and of their baselines and libraries. Raises UsageError
    for a pattern that matches nothing.
    """
    chosen = {case.id for case in every if not patterns}
    for pattern in patterns:
        hits = {case.id for case in every if _matches(pattern.split("/"), case.id.split("/"))}
        if not hits:
            raise _unknown(pattern, [case.id for case in every])
        chosen |= hits
    groups = {case.group for case in every if case.id in chosen}
    return [
        case
        for case in every
        if case.id in chosen
        or (case.group in groups and (case.is_library or case.variant == baselines[case.problem]))
    ]


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    return len(pattern) <= len(parts) and all(map(fnmatchcase, parts, pattern))


def _nothing(bench: model.Bench, pattern: str, known: Iterable[str]) -> UsageError:
    problem = pattern.partition("/")[0]
    folder = bench.kernels / problem
    if problem and os.path.isdir(folder) and problem not in bench.problems:
        inside = (folder / files.OWN_MATRIX).is_file()
        why = "is not listed under problems:" if inside else f"has no {files.OWN_MATRIX}"
        return UsageError(f"--only {pattern!r} matches nothing: {folder} {why}")
    return _unknown(pattern, [*known, *bench.problems])


def _unknown(pattern: str, known: Sequence[str]) -> UsageError:
    near = nearest(pattern, known, 3)
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    elif len(known) <= _MOST_LISTED:
        hint = "; there are\n" + "\n".join(f"  {each}" for each in known)
    else:
        hint = f"; {command('list')} shows all {len(known)}"
    return UsageError(f"--only {pattern!r} matches nothing{hint}")
