"""Write docs/generated/reliability.md: every fault that a test plants, with its outcome.

Tests state the faults with `@pytest.mark.fault("what goes wrong", outcome="what becomes of it")`;
the tests are collected but not run. With --check the page is not changed, and the exit code says
whether it is up to date.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "generated" / "reliability.md"

HEAD = """\
# Reliability

<!-- written by scripts/pages/reliability_page.py; do not edit: make reliability-page -->

The table lists faults around a measurement, their consequences, and the test that shows each. A
test marked GPU needs one and runs with `make test-gpu`; all other tests run with `make test`. The
latest output of `make test-gpu` is `reports/h200/reliability/test-gpu.txt`; that of the tests with
little memory, run with the whole collection, is `reports/h100/reliability/test-gpu-memory.txt`.
`made.json` in each folder names the commits.
"""

AREAS = {
    "comparison": "Comparing runs",
    "run": "Processes, deadlines and resuming",
    "backends": "The GPU",
    "timed": "A run as a whole",
    "compiler": "Compiling",
    "commands": "The command line",
    "matrix": "The matrix",
    "ncu": "Nsight Compute and its reports",
    "emulator": "The emulator",
    "measure": "Measuring",
    "report": "The pages",
    "journal": "Journals, and runs from elsewhere",
    "scripts": "Broken files",
    "": "The program as a whole",
}
"""Folder of tests → heading, in the page's order. Folders that are not listed here come last, by
name."""


@dataclass(frozen=True)
class Fault:
    """One row. `test`: the name of the test function. `where`: its file under tests/."""

    what: str
    outcome: str
    test: str
    where: str
    needs_gpu: bool

    @property
    def area(self) -> str:
        return self.where.rpartition("/")[0].partition("/")[0]


class _Collected:
    """A pytest plugin that records collected tests before any marker selection drops some."""

    def __init__(self) -> None:
        self.faults: dict[Fault, None] = {}
        self.wrong: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            where = Path(str(item.path)).relative_to(ROOT / "tests").as_posix()
            test = getattr(item, "originalname", None) or item.name
            for mark in item.iter_markers("fault"):
                what = mark.args[0] if mark.args else mark.kwargs.get("what")
                outcome = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("outcome")
                if not isinstance(what, str) or not isinstance(outcome, str):
                    self.wrong.append(
                        f"tests/{where}: {test}: fault(what, outcome) takes two texts"
                    )
                    continue
                gpu = item.get_closest_marker("gpu") is not None
                self.faults[Fault(what, outcome, test, where, gpu)] = None
        items.clear()  # nothing is run

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.wrong.append(f"{report.nodeid}: {str(report.longrepr).strip().splitlines()[-1]}")


def collected(folder: Path = ROOT / "tests") -> tuple[list[Fault], list[str]]:
    """Collect every fault of the tests in a folder, in order, and the collection errors."""
    plugin = _Collected()
    with redirect_stdout(StringIO()):
        pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
             f"--rootdir={ROOT}", f"--config-file={ROOT / 'pyproject.toml'}",
             "--override-ini=addopts=--strict-markers", str(folder)],
            plugins=[plugin],
        )  # fmt: skip
    return list(plugin.faults), plugin.wrong


def page(faults: Iterable[Fault]) -> str:
    """The page's text."""
    by_area: dict[str, list[Fault]] = {area: [] for area in AREAS}
    for fault in faults:
        by_area.setdefault(fault.area, []).append(fault)
    known = list(AREAS)
    ordered = sorted(by_area, key=lambda a: (known.index(a) if a in known else len(known), a))
    parts = [HEAD]
    for area in ordered:
        rows = by_area[area]
        if not rows:
            continue
        parts.append(f"\n## {AREAS.get(area, area.replace('_', ' ').capitalize())}\n\n")
        parts.append("| fault | what becomes of it | test |\n|---|---|---|\n")
        for fault in sorted(rows, key=lambda f: (f.where, f.what, f.test)):
            path = Path(os.path.relpath(ROOT / "tests" / fault.where, PAGE.parent)).as_posix()
            test = f"[`{fault.test}`]({path}){' (GPU)' if fault.needs_gpu else ''}"
            cells = (_cell(fault.what), _cell(fault.outcome), test)
            parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


def _cell(text: str) -> str:
    """Escape text for a Markdown cell."""
    escaped = " ".join(text.split())
    for character in "\\`*_{}[]<>#|":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; with --check, only check whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Help)
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    asked = parser.parse_args(arguments)
    faults, wrong = collected()
    for each in wrong:
        print(each, file=sys.stderr)
    if wrong or not faults:
        print(
            "docs/generated/reliability.md is left as it is: the tests cannot be collected",
            file=sys.stderr,
        )
        return 1
    text = page(faults)
    if not asked.check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is out of date: make reliability-page", file=sys.stderr)
    return 1


_Help = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    sys.exit(main())
