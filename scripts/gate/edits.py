"""Test that the gate closes for planted regressions and opens for harmless edits, without a GPU.

    python scripts/gate/edits.py --out reports/emulated           all of them, into gate_edits.csv
    python scripts/gate/edits.py --only "a comment in a kernel"   one; with --out, replace its row

Each edit of edits.yaml is made in a separate repository with the kernels of this one. Then `beside
git:HEAD --gate`, the command that checks a pull request, compares the edit with the previous
commit, emulated, in this process.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from typer.testing import CliRunner, Result

from harness.__main__ import app
from harness.report import site

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("edits.yaml")
TABLE = "gate_edits.csv"
COLUMNS = ("edit", "family", "kind", "exit", "reason")
KINDS = {"regressions": "regression", "harmless": "harmless"}
"""Part of edits.yaml → the kind of its edits."""
_GIT = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org",
        "-c", "commit.gpgsign=false")  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """One edit. `file`: its path under kernels/. `variant`: the compared variant, in the form of
    --only."""

    name: str
    family: str
    kind: str
    file: str
    variant: str
    find: str
    replace: str
    times: int = 1

    @property
    def problem(self) -> str:
        return self.file.partition("/")[0]

    def of(self, text: str) -> str:
        """The file's text with the edit. Raises ValueError if the file does not contain the edit's
        original text."""
        if text.count(self.find) != self.times:
            raise ValueError(
                f"{self.name}: {self.file} has {text.count(self.find)} of {self.find!r}"
            )
        return text.replace(self.find, self.replace)

    def is_as_wanted(self, code: int) -> bool:
        """Return whether the gate's result is as required: closed for a regression, open for any
        other edit."""
        return code in (1, 3) if self.kind == "regression" else code == 0


@dataclass(frozen=True)
class Found:
    """The gate's result for an edit."""

    edit: Edit
    exit: int
    reason: str

    def row(self) -> dict[str, object]:
        values = self.edit.name, self.edit.family, self.edit.kind, self.exit, self.reason
        return dict(zip(COLUMNS, values, strict=True))


def edits(data: Mapping[str, Any]) -> Iterator[Edit]:
    for part, kind in KINDS.items():
        for each in data[part]:
            problem, _, source = each["file"].partition("/")
            variant = each.get("only") or Path(source).stem
            yield Edit(each["edit"], each["family"], kind, each["file"], f"{problem}/{variant}",
                       each["find"], each["replace"], each.get("times", 1))  # fmt: skip


def load() -> tuple[list[Edit], dict[str, dict[str, Any]]]:
    """The edits, and the cases that are run for each problem."""
    data = yaml.safe_load(DATA.read_text())
    return list(edits(data)), data["problems"]


class Repository:
    """A repository with the edited problems, at their small sizes, in one commit."""

    def __init__(self, folder: Path, problems: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "kernels" / "common", folder / "kernels" / "common")
        for name, small in problems.items():
            shutil.copytree(ROOT / "kernels" / name, folder / "kernels" / name,
                            ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
            matrix = folder / "kernels" / name / "bench.yaml"
            matrix.write_text(_at_small_sizes(matrix.read_text(), small))
        for header in (ROOT / "kernels").rglob("*.cuh"):  # they may include those of other problems
            copied = folder / "kernels" / header.relative_to(ROOT / "kernels")
            if not copied.exists():
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(header, copied)
        (folder / "bench.yaml").write_text("limits: {qualify_s: 600}\n")
        (folder / ".gitignore").write_text(".cache/\nrun*\n__pycache__/\n")
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "as it is"]):
            subprocess.run([*_GIT, *command], cwd=folder, check=True)

    def gate(self, edit: Edit) -> Found:
        """Make the edit, run the gate, and undo the edit. Run this in the repository's folder."""
        path = self.folder / "kernels" / edit.file
        out, told = self.folder / "run", self.folder / "run.json"
        before = path.read_text()
        command = ["beside", "git:HEAD", "--gate", "--uncommitted", "--changed-only",
                   "--backend", "emulator", "--only", edit.variant,
                   "--out", str(out), "--json", str(told)]  # fmt: skip
        try:
            path.write_text(edit.of(before))
            # Drawing the run's pages would take longer than the comparison.
            with mock.patch.object(site, "write_pages", lambda run: run.folder):
                ended = CliRunner().invoke(app, command)
            return Found(edit, ended.exit_code, _reason(ended, told))
        finally:
            path.write_text(before)
            shutil.rmtree(out, ignore_errors=True)
            told.unlink(missing_ok=True)


def _at_small_sizes(text: str, small: Mapping[str, Any]) -> str:
    """Give a matrix these sizes and launch shapes, and keep every other line.

    Edits refer to the text of lines, so the file is not rewritten: only the values of these keys
    are replaced.
    """
    data = yaml.safe_load(text)
    kept = [(key, data[key]) for key in ("sizes", "launch") if key in data]
    lines, marks = text.splitlines(keepends=True), yaml.compose(text)
    spans = {
        key.value: (key.start_mark.line, value.end_mark.line + (value.end_mark.column > 0))
        for key, value in marks.value
    }  # fmt: skip
    for key, _ in sorted(kept, key=lambda each: -spans[each[0]][0]):
        first, end = spans[key]
        wanted = small["launch"] if key == "launch" else {k: small[k] for k in ("test", "bench")}
        lines[first:end] = [f"{key}: {json.dumps(wanted)}\n"]
    return "".join(lines)


def _reason(ended: Result, told: Path) -> str:
    """Describe why the gate closes for the first case, or that nothing is worse; without a
    comparison, return the last line of output."""
    if not told.is_file():
        printed = str(ended.exception or ended.output).strip().splitlines()
        return printed[-1] if printed else ""
    said = json.loads(told.read_text())
    first = next(iter(said["cases"]), None)
    if said["cannot_tell"] and ended.exit_code == 3:
        return str(said["cannot_tell"][0]).replace(f"{told.parent}/", "")
    if not ended.exit_code or first is None:
        return ", ".join(f"{n} {verdict}" for verdict, n in said["counts"].items())
    return "; ".join(_causes(first)) or str(first["verdict"])


def _causes(case: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why a case closes the gate, with their figures and line."""
    if fault := case["fault"]["new"]:
        yield f"{case['verdict']}: {fault.splitlines()[0]}"
    for each in [*case["compiled"], *case["counters"]]:
        if each["decides"]:
            what = each.get("words") or each["what"]
            at = f" at {each['file']}:{each['line']}" if each["file"] else ""
            yield f"{what} {each['base']:.6g} → {each['new']:.6g}{at}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", help="the name of one edit")
    parser.add_argument("--out", type=Path, help=f"the folder for {TABLE}")
    options = parser.parse_args(arguments)
    out = options.out.resolve() if options.out else None
    every, problems = load()
    wanted = [edit for edit in every if options.only in (None, edit.name)]
    if not wanted:
        parser.error(f"there is no edit {options.only!r}; there are "
                     + ", ".join(repr(edit.name) for edit in every))  # fmt: skip
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder), problems)
        os.chdir(folder)
        for edit in wanted:
            found = repository.gate(edit)
            rows.append(found.row())
            is_right = edit.is_as_wanted(found.exit)
            wrong += not is_right
            print(f"{'' if is_right else 'WRONG '}{edit.kind} {edit.family}: {edit.name}: "
                  f"{found.exit}: {found.reason}", flush=True)  # fmt: skip
    if out:
        _write(out / TABLE, [edit.name for edit in every], rows)
    print(f"{len(rows) - wrong} of {len(rows)} as they have to be")
    return int(wrong > 0)


def _write(path: Path, order: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Write the table, in the edits' order; rows of edits that were not tried this time are
    kept."""
    known: dict[object, Mapping[str, object]] = {}
    if path.is_file():
        with path.open(newline="") as file:
            known = {row["edit"]: row for row in csv.DictReader(file)}
    known |= {row["edit"]: row for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(known[name] for name in order if name in known)


if __name__ == "__main__":
    sys.exit(main())
