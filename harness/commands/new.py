"""`new`: write and test the skeleton of a problem with two variants."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import typer
from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.console.progress import console
from harness.console.suggestions import command
from harness.errors import UsageError
from harness.journal.file import read_journal
from harness.journal.records import Outcome
from harness.machine import devices, environment
from harness.matrix import model
from harness.matrix.values import name as checked_name
from harness.run.executor import LocalExecutor
from harness.run.runner import Runner

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
FILES = ("problem.py", "bench.yaml", "v0_plain.cu", "v1_grid_stride.cu")


def new(problem: str, config: Path | None, kernels: Path | None) -> None:
    """Create the problem. Raises UsageError if the name is invalid or taken."""
    try:
        checked_name(problem)
    except ValueError as error:
        raise UsageError(f"{problem!r} cannot be a problem: {error}") from None
    folder = (kernels or (config or model.MATRIX).parent / "kernels") / problem
    if folder.exists():
        raise UsageError(f"{folder} exists already; choose another name, or delete it")
    for path in write(folder):
        console.print(f"wrote {path}", markup=False)
    _test(model.load(config, kernels), problem)
    console.print(
        f"\nIt doubles n numbers. Say in {folder / 'problem.py'} what yours computes, write the\n"
        f"kernels, and then: {command(f'run --only {problem}')}", markup=False,
    )  # fmt: skip


def write(folder: Path) -> list[Path]:
    """Write the skeleton's files. Raises UsageError if that fails."""
    templates = Environment(
        loader=PackageLoader("harness.commands", "skeleton"), undefined=StrictUndefined,
        keep_trailing_newline=True,
    )  # fmt: skip
    title = "".join(word.capitalize() for word in folder.name.split("_") if word)
    written = []
    try:
        folder.mkdir(parents=True)
        for name in FILES:
            text = templates.get_template(f"{name}.j2").render(
                problem=folder.name, title=title, schema=_schema(folder)
            )
            (folder / name).write_text(text)
            written.append(folder / name)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    return written


def _schema(folder: Path) -> str:
    """The path of the bench.yaml schema for an editor; relative if nearby."""
    found, home = SCHEMAS / "problem.schema.json", folder.resolve()
    near = found.is_relative_to(Path.cwd()) and home.is_relative_to(Path.cwd())
    return os.path.relpath(found, home) if near else str(found)


def _test(bench: model.Bench, problem: str) -> None:
    """Verify every variant on the emulator. Exits with 1 if one fails, which should not happen."""
    device = devices.emulated(None)
    with tempfile.TemporaryDirectory() as scratch:
        executor = LocalExecutor(environment.cores())
        Runner(bench, device, "emulator", [problem], Path(scratch), executor=executor).run()
        journal = list(read_journal(Path(scratch) / "journal.jsonl"))
    failed = [r for r in journal if isinstance(r, Outcome) and r.status == "failed"]
    for outcome in failed:
        console.print(f"FAILED {outcome.case}\n  {outcome.reason}", markup=False)
    if failed:
        raise typer.Exit(1)
