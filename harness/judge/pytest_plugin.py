"""The pytest fixture `cuda_kernel`, which tests a kernel's correctness and cost.

    def test_transpose(cuda_kernel):
        report = cuda_kernel("transpose.cu", problem, entry="transpose", grid=…, block=…, args=[…])
        assert report.bank_conflicts == 0

The fixture needs no GPU. A kernel that is incorrect, or breaks a budget of its `expect`, fails the
test, which shows the fault and the lines around it. At the end, a table lists all kernels;
`--junit-xml` records each row as a property of its test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.judge.api import AnyKernel, AnyProblem
    from harness.judge.results import Report


PROPERTY = "cuda_kernel"
"""The name of the user property that holds a kernel's row."""
WORDS = 3
"""The columns that are not numbers: test, kernel and verdict."""
COUNTED = ("instructions", "sectors", "bank_conflicts", "registers", "spills")
"""The exact figures that a kernel's row shows in addition to its times."""


class CudaKernel:
    """Checks kernels for one test.

    `beside`: the folder of the test's file, to which paths are relative. `properties`: the test's
    properties, to which each kernel's row is added.
    """

    def __init__(self, beside: Path, properties: list[tuple[str, object]]) -> None:
        self._beside = beside
        self._properties = properties

    def __call__(self, kernel: AnyKernel, problem: AnyProblem, **options: Any) -> Report:
        """Check a kernel as `harness.check` does; fail the test unless it is correct."""
        __tracebackhide__ = True
        report = self.judged(kernel, problem, **options)
        self._pass(report)
        return report

    def judged(self, kernel: AnyKernel, problem: AnyProblem, **options: Any) -> Report:
        """Check a kernel but accept any verdict, for tests of kernels that must be rejected."""
        from harness.judge import api

        return self._noted(api.check(self._found(kernel), self._place(problem), **options))

    def time(
        self, kernel: AnyKernel, problem: AnyProblem, against: AnyKernel | None = None,
        **options: Any,
    ) -> Report:  # fmt: skip
        """Time a kernel on the GPU, against another if given; skip the test without a GPU."""
        __tracebackhide__ = True
        from harness.errors import BackendUnavailable
        from harness.judge import api

        other = None if against is None else self._found(against)
        try:
            report = self._noted(
                api.time(self._found(kernel), self._place(problem), against=other, **options)
            )
        except BackendUnavailable as error:
            pytest.skip(str(error).splitlines()[0])
        self._pass(report)
        return report

    def _noted(self, report: Report) -> Report:
        self._properties.append((PROPERTY, row(report)))
        return report

    @staticmethod
    def _pass(report: Report) -> None:
        __tracebackhide__ = True
        if not report.is_right or report.told.broken:
            pytest.fail("\n".join(filter(None, [report.text, report.excerpt])), pytrace=False)

    def _found(self, kernel: AnyKernel) -> AnyKernel:
        """Resolve a kernel's file name, which is relative to the test's file."""
        from dataclasses import replace

        from harness.judge.submissions import Kernel, is_path

        if isinstance(kernel, Kernel):
            return replace(kernel, source=str(self._place(kernel.source)))
        return self._place(kernel) if isinstance(kernel, str) and is_path(kernel) else kernel

    def _place(self, named: Any) -> Any:
        """A path under the test's folder, if it exists; anything else is returned unchanged."""
        from harness.judge.submissions import is_path

        is_text = isinstance(named, str) and not is_path(named) and "\n" in named
        if not isinstance(named, str | Path) or is_text:
            return named
        try:
            there = self._beside / named
            return there if there.exists() else named
        except OSError:  # a text that is too long for a name
            return named


def row(report: Report) -> dict[str, str]:
    """A kernel's row in the table: its name, verdict, times and exact counts, as text."""
    found = {"kernel": report.told.kernel, "verdict": report.verdict}
    if report.time_ns:
        found["time"] = f"{report.time_ns.value / 1e3:.4g} µs"
    if report.speedup:
        found["speed-up"] = f"{report.speedup.value:.3g}x"
    exact = {**report.counters, "bank_conflicts": report.told.bank_conflicts}
    known = {name: exact.get(name) for name in COUNTED}
    counts = {name: f"{value:,.0f}" for name, value in known.items() if value is not None}
    return found | counts


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List every kernel that was judged in a test."""
    rows = [
        {"test": each.nodeid.rpartition("::")[2], **found}
        for reports in terminalreporter.stats.values()
        for each in reports
        if getattr(each, "when", "") == "call"
        for name, found in each.user_properties
        if name == PROPERTY
    ]
    if not rows:
        return
    columns = list(dict.fromkeys(name for each in rows for name in each))
    lines = [columns, *([each.get(name, "") for name in columns] for each in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(columns))]
    terminalreporter.section("CUDA kernels")
    for line in lines:
        cells = [
            text.ljust(width) if n < WORDS else text.rjust(width)
            for n, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        terminalreporter.write_line("  ".join(cells).rstrip())


@pytest.fixture
def cuda_kernel(request: pytest.FixtureRequest, _judging: None) -> CudaKernel:
    """Check CUDA kernels without a GPU: `cuda_kernel(kernel, problem, **launch)` → a Report."""
    return CudaKernel(request.path.parent, request.node.user_properties)


@pytest.fixture(scope="session")
def _judging() -> Iterator[None]:
    """End the judge that the first check started."""
    yield
    from harness.judge import api

    api.close()
