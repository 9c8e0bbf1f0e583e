"""`beside git:REF`: build and run that commit's kernels together with the current ones, in one
run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from harness import tables
from harness.analysis import budgets
from harness.cases import how_many
from harness.commands import compare
from harness.commands.printed import pull_request
from harness.commands.request import CarryOut, RunRequest
from harness.commands.runs.running import ENDED
from harness.comparison.judgement import MIN_EFFECT, UNTOLD
from harness.comparison.sides import beside as two_sides
from harness.comparison.sides import commits
from harness.comparison.sides.beside import SUFFIX, Sides
from harness.comparison.sides.commits import Commit
from harness.console.progress import console
from harness.errors import UsageError
from harness.files import scratch
from harness.journal import run_files
from harness.matrix import model
from harness.run import unchanged
from harness.run.folder import another, fresh
from harness.tables import about


@dataclass(frozen=True)
class Comparing:
    """The outputs of the comparison."""

    wanted: compare.CompareOptions
    gate: bool = False
    min_effect: float = MIN_EFFECT
    quiet: bool = False


def carry_out(
    given: str, request: RunRequest, run: CarryOut, comparing: Comparing, changed_only: bool,
    uncommitted: bool,
) -> int:  # fmt: skip
    """Build, run and compare both sides; return the exit code. `run`: a function that does the run
    and its report."""
    comparing.wanted.check()
    config, kernels = request.matrix, request.problems
    today = model.load(request.config, request.kernels)
    commit = commits.find(given, kernels)
    _say_uncommitted(commit, [config, kernels], uncommitted)
    with scratch.folder() as own, _folder(request.out, commit) as folder:
        base = two_sides.base_of(commit, config, kernels, own.resolve())
        sides = two_sides.sides(today, base, request.choice.only, folder / "kernels")
        two_sides.write_kernels(commit.root, kernels, base.bench.kernels, folder / "kernels")
        for text in sides.notes:
            console.print(text, markup=False)
        if changed_only:
            sides = _changed(sides, base)
            if not sides.bench.problems:
                return _nothing_left(sides, comparing, given, kernels)
        pairs = how_many(len(sides.pairs), "variant")
        console.print(f"{pairs} beside those of {given} at {commit.sha[:10]}", markup=False)
        code, _ = run(
            replace(
                request, bench=sides.bench, out=folder,
                beside=two_sides.about(commit, sides.not_compared),
                choice=replace(request.choice, only=sides.only),
            )
        )  # fmt: skip
    return _compared(folder, comparing, code, kernels) if code in ENDED else code


def _nothing_left(sides: Sides, comparing: Comparing, given: str, kernels: Path) -> int:
    """Return the exit code for a comparison in which every variant has the same sources on both
    sides.

    The requested files are written anyway, because other programs wait for them.
    """
    console.print("nothing is left to compare")
    for text in sides.not_compared:
        console.print(f"CANNOT TELL {text}", markup=False)
        pull_request.error("CANNOT TELL", text, kernels)
    comparing.wanted.write_nothing(given, sides.not_compared, kernels)
    return UNTOLD if comparing.gate and sides.not_compared else 0


def _changed(sides: Sides, base: two_sides.Base) -> Sides:
    """Drop the variants that are made from the same files on both sides, and print how many."""
    same = unchanged.variants(sides.bench, SUFFIX, base.bench, sides.pairs)
    console.print(
        f"--changed-only: {len(same)} of {len(sides.pairs)} variants have the same sources and "
        f"headers in {base.given}, and are left out"
    )
    return sides.without(same)


def _say_uncommitted(commit: Commit, paths: list[Path], allowed: bool) -> None:
    """Raise UsageError if the sources to compare are uncommitted, unless that is allowed."""
    places = [two_sides.below(commit.root, path) for path in paths]
    found = commits.uncommitted(commit.root, places)
    if not found:
        return
    text = f"uncommitted changes: {commits.named(found)}"
    if not allowed:
        raise UsageError(
            f"{text}\n  commit them to compare two commits, or compare the files as they are with "
            "--uncommitted"
        )
    console.print(f"today's side has {text}", markup=False)


@contextmanager
def _folder(out: Path | None, commit: Commit) -> Iterator[Path]:
    """Yield the run's folder; a new one is removed if the run never begins."""
    if out is not None and (out / "run.json").exists():
        _refuse_another(out, commit)
    is_new = out is None or not out.exists()
    try:
        folder = out or fresh(datetime.now(timezone.utc))
        folder.mkdir(parents=True, exist_ok=True)
        run_files.check(folder)
    except OSError as error:
        place = error.filename or out or "reports"
        raise UsageError(f"--out {place}: {error.strerror}") from None
    try:
        yield folder
    finally:
        if is_new and not (folder / "run.json").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _refuse_another(folder: Path, commit: Commit) -> None:
    """Reject a folder that belongs to another run, before its kernels are overwritten. The run
    itself checks the rest.
    """
    try:
        before = about.read(folder / "run.json").get("beside")
    except (OSError, ValueError):
        before = None
    kept = {key: before.get(key) for key in two_sides.about(commit)} if before else None
    if kept != two_sides.about(commit):
        what = f"{before['base']} at {before['commit'][:10]}" if before else "no commit's kernels"
        raise another(folder, [f"it has {what}, not {commit.given} at {commit.sha[:10]}, beside "
                               "today's"])  # fmt: skip


def _compared(folder: Path, comparing: Comparing, code: int, kernels: Path) -> int:
    """Print the run's comparison of its two sides; return the gate's exit code if requested."""
    run = tables.load(folder)
    judged = compare.carry_out(
        run, run, comparing.wanted, min_effect=comparing.min_effect, quiet=comparing.quiet,
        kernels=kernels,
    )  # fmt: skip
    if not comparing.gate:
        return code
    broken = any(check.status == "broken" for check in budgets.checks(run))
    return 1 if broken else judged
