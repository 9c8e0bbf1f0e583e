"""The matrix: a bench.yaml with the common settings, and each problem's own bench.yaml.

`kernels/<problem>/bench.yaml` is found by its location. `problems:` at the top may list the
problems of the run, or hold their bodies, so that a whole matrix can be one file. Everything is
validated before anything is compiled, and every error names the file, the line and the key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.console.suggestions import command, did_you_mean
from harness.files import strict_yaml
from harness.files.strict_yaml import Document, YamlLocation
from harness.matrix import files, merge, written
from harness.matrix.values import name as checked_name
from harness.matrix.variants import Problem
from harness.matrix.written import Limits, Timing

MATRIX = files.MATRIX
MOST_CASES = 100_000
"""A matrix with more cases than this, over all sizes, is rejected as a mistake."""


@dataclass(frozen=True)
class Bench:
    """The whole matrix, merged. Its `repr` includes everything that affects the run, but no file
    locations."""

    problems: Mapping[str, Problem]
    timing: Timing
    limits: Limits
    kernels: Path = field(repr=False)
    """The folder that holds a folder for each problem."""


def load(path: Path | None = None, kernels: Path | None = None) -> Bench:
    """Load the matrix. Raises a ConfigError that names the file, the line, the key and what is
    expected there.

    `path`: the top-level file; by default bench.yaml in the current folder if it exists, else the
    default timing and limits. `kernels`: the folder of problems; by default `kernels/` next to the
    file.
    """
    top, at, kernels = _top(path, kernels)
    if top.says("problems"):
        bodies = list(_listed(top.problems, at.at("problems"), kernels))
    else:
        bodies = [(name, *_own(kernels, name, None)) for name in files.found(kernels)]
    if not bodies:
        raise files.no_problems(kernels, at)
    problems = {}
    for name, data, place in bodies:
        problems[name] = _problem(name, data, place)
        files.check(kernels, problems[name])
    _bound(problems)
    return Bench(problems, top.timing, top.limits, kernels)


def _top(path: Path | None, kernels: Path | None) -> tuple[written.Top, YamlLocation, Path]:
    """The settings for all problems, their location, and the folder of problems."""
    named = path is not None
    path = path or MATRIX
    document = strict_yaml.read(path) if named or path.exists() else Document(path, None, {})
    at = YamlLocation(document)
    if not isinstance(document.data, dict | None):
        raise at.error("write keys and values here", "timing:, limits: or `problems:`")
    top = written.checked(written.Top, document.data or {}, at)
    return top, at, kernels or path.parent / "kernels"


def _problem(name: str, data: Any, place: YamlLocation) -> Problem:
    return merge.problem(name, written.checked(written.Problem, data, place), place)


def _listed(said: Any, at: YamlLocation, kernels: Path) -> Iterator[tuple[str, Any, YamlLocation]]:
    """The problems that `problems:` names, each with its body and location."""
    if not isinstance(said, dict | list) or not said:
        raise at.error(
            "write a list of names, or names with bodies",
            "without `problems:` every folder with a bench.yaml belongs to the run",
        )
    seen = set()
    for index, name in enumerate(said):
        here = at.at(name if isinstance(said, dict) else index)
        try:
            checked_name(name if isinstance(name, str) else "")
        except ValueError as error:
            raise here.error(str(error)) from None
        if name in seen:
            raise here.error(f"`{name}` is listed twice")
        seen.add(name)
        if isinstance(said, dict) and said[name] is not None:
            yield name, said[name], here
        else:
            yield name, *_own(kernels, name, here)


def _own(kernels: Path, name: str, at: YamlLocation | None) -> tuple[Any, YamlLocation]:
    """A problem's body, read from its own file; `at` is the location at which the problem is
    named."""
    path = kernels / name / files.OWN_MATRIX
    if at is not None and not os.path.isfile(path):
        there = files.found(kernels)
        raise at.error(
            f"{path} does not exist{did_you_mean(name, there)}",
            "write a problem's matrix there, or here, below its name",
        )
    files.inside(kernels, path, at or YamlLocation(Document(path, None, {})))
    document = strict_yaml.read(path)
    place = YamlLocation(document)
    try:
        checked_name(name)
    except ValueError as error:
        raise place.error(f"the folder's name is the problem's: {error}") from None
    if document.data is None:
        raise place.error("the file is empty", f"{command('new my_problem')} writes one that works")
    return document.data, place


def _bound(problems: Mapping[str, Problem]) -> None:
    """Reject an implausibly large matrix before its cases are listed."""
    total = 0
    for problem in problems.values():
        total += problem.count()
        if total > MOST_CASES:
            raise problem.place.error(
                f"with this problem's {problem.count():,} the matrix has {total:,} cases (variants "
                f"× dtypes × sizes × launch shapes); at most {MOST_CASES:,}",
                "shorten a list, or split the matrix into several files for --config",
            )
