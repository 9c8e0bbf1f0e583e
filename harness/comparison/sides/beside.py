"""Make a matrix of a commit's kernels and the current ones, so that one run measures both.

Each problem has the current variants and, with a suffix, those of the commit, compiled from the
commit's own sources and headers. problem.py, sizes, timing and limits are the current ones. The two
sides share the rounds of one run, so neither drift nor placement can make them differ.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.cases import listed
from harness.comparison.sides.commits import Commit, tracked
from harness.errors import ConfigError, ProblemError, UsageError
from harness.files import python_packages
from harness.files.strict_yaml import Document
from harness.matrix import files, model, selection
from harness.matrix.model import Bench
from harness.matrix.variants import Problem, Variant
from harness.problem import loading, uses

SUFFIX = "__base"
"""The suffix of the commit's variants, and the name of the folder for its kernels."""


@dataclass(frozen=True)
class Base:
    """A commit's matrix. `home`: the folder with its files, laid out as in the repository."""

    commit: Commit
    bench: Bench
    home: Path

    @property
    def given(self) -> str:
        return self.commit.given


@dataclass(frozen=True)
class Sides:
    """The run to make. `bench`: the matrix with both sides. `only`: patterns for --only that match
    both sides. `notes`: remarks on what the two sides do not share."""

    bench: Bench
    only: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    """The problem and variant of each pair that both sides have, under today's names."""
    notes: tuple[str, ...]
    not_compared: tuple[str, ...] = ()
    """The notes on changes that are not compared, because today's version is used for both
    sides."""

    def without(self, unchanged: Sequence[tuple[str, str]]) -> Sides:
        """Remove these pairs; keep a current baseline that the remaining variants need."""
        problems = {}
        chosen = selection.matching(self.bench, self.only)
        for name, problem in self.bench.problems.items():
            gone = {variant for at, variant in unchanged if at == name}
            left = {
                each: v for each, v in problem.variants.items()
                if each.removesuffix(SUFFIX) not in gone or each == problem.baseline
            }  # fmt: skip
            left = {
                each: replace(v, builds_on=v.builds_on if v.builds_on in left else "")
                for each, v in left.items()
            }
            baseline = problem.baseline
            is_asked = baseline in chosen.get(name, ()) and (name, baseline) not in unchanged
            if left.keys() - {baseline} or is_asked:
                problems[name] = replace(problem, variants=left)
        pairs = tuple(pair for pair in self.pairs if pair not in unchanged)
        bench = replace(self.bench, problems=problems)
        return replace(self, bench=bench, pairs=pairs, only=matching_both(bench, self.only))


def about(commit: Commit, not_compared: Sequence[str] = ()) -> dict[str, Any]:
    """The entry in run.json about the two sides."""
    said: dict[str, Any] = {"base": commit.given, "commit": commit.sha, "suffix": SUFFIX}
    return said | ({"not_compared": list(not_compared)} if not_compared else {})


def below(root: Path, path: Path) -> str:
    """A path relative to the repository's root. Raises UsageError if it is outside the
    repository."""
    full = path.resolve()
    if not full.is_relative_to(root.resolve()):
        raise UsageError(f"{path} is not in the repository {root}")
    return full.relative_to(root.resolve()).as_posix()


def base_of(commit: Commit, config: Path, kernels: Path, into: Path) -> Base:
    """The commit's matrix, with its kernels written under `into`. Raises UsageError."""
    folder, matrix = below(commit.root, kernels), below(commit.root, config)
    if not commit.files(folder):
        raise UsageError(
            f"{commit.given}: commit {commit.sha[:10]} has no folder {folder}\n"
            "  compare with a commit that has one, or name another with --kernels"
        )
    has_matrix = commit.has(matrix)
    commit.extract([folder, *([matrix] if has_matrix else [])], into)
    if not has_matrix:
        (into / matrix).parent.mkdir(parents=True, exist_ok=True)
        (into / matrix).write_text("")
    try:
        return Base(commit, model.load(into / matrix, into / folder), into)
    except ConfigError as error:
        text = str(error).replace(f"{into}/", f"{commit.given}:")
        raise UsageError(
            f"the matrix of {commit.given} cannot be used by this harness\n  {text}"
        ) from None


def write_kernels(root: Path, today: Path, base: Path, folder: Path) -> None:
    """Create a problems folder with the current files, and with the commit's files under SUFFIX."""
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    for name in tracked(root, below(root, today)):
        target = new / (root / name).relative_to(root / below(root, today))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target)
    shutil.copytree(base, new / SUFFIX)
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def sides(today: Bench, base: Base, patterns: Sequence[str], folder: Path) -> Sides:
    """Combine both sides of the chosen cases in one matrix, whose kernels are in `folder`."""
    both = today, base.bench
    ours, theirs = (selection.matching(bench, patterns) for bench in both)
    for pattern in patterns:
        if not any(selection.matching(bench, [pattern]) for bench in both):
            selection.rows(today, [pattern])  # raises an error that lists the valid names
    problems: dict[str, Problem] = {}
    pairs: list[tuple[str, str]] = []
    notes: list[str] = []
    left_out = [
        f"{name}: only {base.given} has this problem; it is left out"
        for name in theirs if name not in today.problems
    ]  # fmt: skip
    for name, problem in today.problems.items():
        if not ours.get(name) and not theirs.get(name):
            continue
        old = base.bench.problems.get(name)
        known = {} if old is None else {v: old.variants[v] for v in theirs.get(name, ())
                                        if v in old.variants}  # fmt: skip
        own = {v: it for v, it in problem.variants.items()
               if v in ours.get(name, ()) or v == problem.baseline}  # fmt: skip
        _refuse_names(problem, own)
        problems[name] = replace(
            problem, variants=_both(own, known, name, base), libraries={}, library=()
        )
        pairs += [(name, v) for v in own if v in known]
        if old is not None:
            left_out += [*_other_problem(today, base, name), *_other_sizes(problem, old, base)]
        notes += _alone(name, [v for v in own if v in ours.get(name, ())], known, base)
    bench = replace(today, problems=problems, kernels=folder)
    only = matching_both(bench, patterns)
    return Sides(bench, only, tuple(pairs), (*left_out, *notes), tuple(left_out))


def matching_both(bench: Bench, patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns, extended so that each matches the variants of both sides."""
    found: list[str] = []
    for pattern in patterns:
        problem, *rest = pattern.split("/")
        twin = "/".join([problem, rest[0] + SUFFIX, *rest[1:]]) if rest else pattern
        found += [each for each in (pattern, twin) if selection.matching(bench, [each])]
    return tuple(dict.fromkeys(found))


def _refuse_names(problem: Problem, own: Mapping[str, Variant]) -> None:
    for name, variant in own.items():
        if name.endswith(SUFFIX):
            raise variant.place().error(
                f"a name must not end in {SUFFIX}, as the names of the commit's variants do"
            )
    if problem.name == SUFFIX:
        raise problem.place.error("a problem must not have the name of the commit's folder")


def _both(
    own: Mapping[str, Variant], known: Mapping[str, Variant], problem: str, base: Base
) -> dict[str, Variant]:
    """The current variants, each followed by the commit's; then those that only the commit has."""
    found: dict[str, Variant] = {}
    for name in dict.fromkeys([*own, *known]):
        if name in own:
            above = own[name].builds_on
            found[name] = replace(own[name], builds_on=above if above in own else "")
        if name in known:
            moved = _moved(known[name], problem, base)
            above = moved.builds_on
            moved = replace(moved, builds_on=above + SUFFIX if above in known else "")
            found[moved.name] = moved
    return found


def _moved(variant: Variant, problem: str, base: Base) -> Variant:
    """The commit's variant, compiled from its folder next to the current one.

    The variant's budgets are dropped: its costs only serve as the reference for the current
    variant.
    """
    home = f"../{SUFFIX}/{problem}/"
    kernels = base.bench.kernels
    include = [
        each if python_packages.is_inside(each) else f"{SUFFIX}/{each}"
        for each in files.include_folders(kernels, problem, variant.include)
    ]
    return replace(
        variant,
        name=variant.name + SUFFIX,
        source=variant.source and home + variant.source,
        function=variant.function and home + variant.function,
        sources=tuple(home + each for each in variant.sources),
        include=(*include, SUFFIX, f"{SUFFIX}/{problem}"),
        expect={},
        places=_placed(variant, base),
    )


def _placed(variant: Variant, base: Base) -> Mapping[Any, Any]:
    """Make the variant report locations in the commit's files instead of in the copies."""

    def of(document: Document) -> Document:
        path = document.path.relative_to(base.home)
        return replace(document, path=Path(f"{base.given}:{path}"))

    return {at: replace(place, document=of(place.document)) for at, place in variant.places.items()}


def _other_problem(today: Bench, base: Base, name: str) -> list[str]:
    """Note that both sides use the current problem.py, if the commit has a different one."""
    now, then = (bench.kernels / name / "problem.py" for bench in (today, base.bench))
    if not then.is_file() or (_same_program(then, now) and _same_uses(today, base, name)):
        return []
    return [f"{name}: {base.given} has another problem.py; both sides are held to today's"]


def _same_uses(today: Bench, base: Base, name: str) -> bool:
    """Return whether both sides have the same data files, and the same modules that problem.py
    imports from the folder of all problems."""
    now, then = today.kernels.resolve(), base.bench.kernels.resolve()
    with suppress(ProblemError):  # planning reports it
        loading.load(now / name)  # only an import tells which modules it uses
    used = {
        path.relative_to(home)
        for home in (now, then)
        for path in uses.files_of(home / name)
        if path.is_relative_to(home)
    }
    return all(_content(now / path) == _content(then / path) for path in used)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _same_program(one: Path, other: Path) -> bool:
    """Return whether two Python files are the same program, apart from comments and layout."""
    was, now = one.read_bytes(), other.read_bytes()
    try:
        return was == now or ast.dump(ast.parse(was)) == ast.dump(ast.parse(now))
    except (SyntaxError, ValueError):
        return False


def _other_sizes(problem: Problem, old: Problem, base: Base) -> list[str]:
    """Note that nothing is compared or verified at sizes that only the commit lists."""
    found = []
    for was, now, what, do in (
        (old.sizes.test, problem.sizes.test, "test size", "are verified"),
        (old.sizes.bench, problem.sizes.bench, "size", "run"),
        (old.sizes.emulate, problem.sizes.emulate, "`emulate` size", "run"),
    ):
        if gone := [size for size in was if size not in now]:
            found.append(
                f"{problem.name}: only {base.given} has the {what} {listed(gone)}; "
                f"both sides {do} at today's"
            )
    return found


def _alone(problem: str, own: Sequence[str], known: Mapping[str, Variant], base: Base) -> list[str]:
    new = [name for name in own if name not in known]
    gone = [name for name in known if name not in own]
    found = []
    if new:
        found.append(f"{problem}: {base.given} has no {', '.join(new)}")
    if gone:
        found.append(f"{problem}: only {base.given} has {', '.join(gone)}")
    return found
