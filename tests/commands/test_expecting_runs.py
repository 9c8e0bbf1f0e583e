"""Budgets in whole emulated runs: exit codes, the terminal, the page and the files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from harness import load
from harness.__main__ import app
from harness.analysis.budgets import Check, checks
from harness.budgets import Budget
from harness.commands.printed.budgets import lines
from harness.comparison.sides.baselines import resolve
from harness.errors import UsageError
from harness.run.folder import Folder

pytestmark = pytest.mark.usefixtures("importable", "cache")

KERNEL = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    __shared__ DTYPE tile[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int own = STRIDE * (threadIdx.x % 32);
    if (i < n) tile[own] = 2 * input[i];
    __syncwarp();
    if (i < n) output[i] = tile[own];
}
"""
COPYING = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    __shared__ alignas(16) DTYPE tile[32];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = __cvta_generic_to_shared(tile), at = __cvta_generic_to_shared(&barrier);
    const unsigned first = blockIdx.x * blockDim.x, i = first + threadIdx.x;
    const bool whole = first + 32 <= n;
    if (threadIdx.x == 0 && whole) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;"
                     :: "r"(at) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], 128, [%2];"
                     :: "r"(to), "l"(input + first), "r"(at) : "memory");
    }
    __syncthreads();
    for (int done = !whole; !done;)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(at) : "memory");
    if (i < n) output[i] = STRIDE * (whole ? tile[threadIdx.x] : input[i]);
}
"""
LINE = 5
"""The line of the store, which has 32-way bank conflicts if STRIDE is 32; the load on line 7 has as
many."""


@pytest.fixture
def matrix(folder: Path) -> Callable[[int, str], Path]:
    """The tiny problem's matrix, with budgets, and a kernel with strided accesses to shared
    memory."""
    (folder / "kernels" / "double" / "v0.cu").write_text(KERNEL)
    path = folder / "bench.yaml"
    text = path.read_text().replace("block: [64, 128]", "block: [32, 64]")

    def write(stride: int, expect: str) -> Path:
        more = f"source: v0.cu\n        defines: {{STRIDE: {stride}}}\n        expect: {expect}"
        path.write_text(text.replace("source: v0.cu", more))
        return path

    return write


def run(matrix: Path, *more: str | Path) -> Result:
    command = ["run", "--config", matrix, "--backend", "emulator", "--out", matrix.parent / "run",
               "--size", "n=1024", "--launch", "block=32", *more]  # fmt: skip
    return CliRunner().invoke(app, list(map(str, command)))


def test_a_broken_budget_ends_the_run_with_1_and_is_told_with_its_line_everywhere(
    matrix: Callable[[int, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    close = Folder.close

    def noted(self: Folder, exit_code: int, *more: Any) -> None:
        closed.append(exit_code)
        close(self, exit_code, *more)

    monkeypatch.setattr(Folder, "close", noted)
    path = matrix(32, "{bank_conflicts: none, spills: none, barrier_stalls: none}")
    out, where = path.parent / "run", f"kernels/double/v0.cu:{LINE}"
    ended = run(path, "--json", out.parent / "r.json", "--markdown", out.parent / "r.md")
    assert ended.exit_code == 1, ended.output
    assert closed == [1]  # once, and never as passed
    assert "BUDGET BROKEN double/v0/float32/n=1024/block=32" in ended.output
    assert "bank_conflicts is 1,984, expected none (machine-exact) at" in ended.output
    assert "budgets: 1 kept, 1 broken, 1 not checked" in ended.output
    assert "1 not checked (barrier_stalls): not collected" in ended.output
    assert json.loads((out / "run.json").read_text())["exit_code"] == 1
    told = {b["budget"]: b for b in json.loads((out.parent / "r.json").read_text())["budgets"]}
    assert told["bank_conflicts"]["status"] == "broken"
    assert told["bank_conflicts"]["value"] == 1984
    assert told["bank_conflicts"]["where"].endswith(where)
    assert "Budgets that are not kept" in (out.parent / "r.md").read_text()
    rows = {row["budget"]: row for row in csv.DictReader((out / "budgets.csv").open())}
    assert rows["bank_conflicts"]["where"].endswith(where)
    assert (rows["spills"]["status"], rows["spills"]["value"]) == ("kept", "0")
    for page in ("report.html", "problems/double.html"):
        text = (out / page).read_text()
        assert "Budgets that are not kept" in text
        assert f"{where}</li>" in text
    assert load(out).planned["double/v0/float32/n=1024/block=32"].expect == {
        "bank_conflicts": "none", "spills": "none", "barrier_stalls": "none",
    }  # fmt: skip


@pytest.mark.usefixtures("without_pages")
def test_a_budget_may_limit_what_the_bulk_copy_unit_does(
    matrix: Callable[[int, str], Path],
) -> None:
    sectors = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"
    path = matrix(2, f"{{{sectors}: 128, smsp__sass_inst_executed_op_tma_st.sum: none}}")
    (path.parent / "kernels" / "double" / "v0.cu").write_text(COPYING)
    ended = run(path)
    assert ended.exit_code == 0, ended.output
    assert "budgets: 2 kept" in ended.output
    ended = run(matrix(2, f'{{{sectors}: "< 128", smsp__sass_inst_executed_op_dshared.sum: none}}'))
    assert ended.exit_code == 1
    assert f"{sectors} is 128, expected less than 128 (machine-exact)" in ended.output


@pytest.mark.usefixtures("without_pages")
def test_kept_budgets_are_counted_and_a_changed_one_is_judged_without_doing_anything_anew(
    matrix: Callable[[int, str], Path],
) -> None:
    ended = run(matrix(32, '{bank_conflicts: ">= 1000"}'))
    assert ended.exit_code == 0, ended.output
    assert "budgets: 1 kept" in ended.output
    again = run(matrix(32, '{bank_conflicts: "<= 1000"}'))
    assert again.exit_code == 1
    assert "bank_conflicts is 1,984, expected at most 1,000" in again.output
    assert "anew" not in again.output
    mended = run(matrix(1, '{bank_conflicts: "<= 1000"}'))
    assert mended.exit_code == 0, mended.output
    assert "anew: double/v0" in mended.output


def test_a_matrix_without_budgets_has_no_file_of_them(matrix: Callable[[int, str], Path]) -> None:
    path = matrix(1, "{spills: none}")
    assert run(path).exit_code == 0
    assert (path.parent / "run" / "budgets.csv").is_file()
    path.write_text(path.read_text().replace("        expect: {spills: none}\n", ""))
    assert run(path).exit_code == 0
    assert not (path.parent / "run" / "budgets.csv").exists()
    assert "Budgets" not in (path.parent / "run" / "problems" / "double.html").read_text()


def test_broken_budgets_of_several_cases_are_told_once_and_reasons_are_summed_up() -> None:
    def check(case: str, status: str, reason: str = "", value: float | None = None) -> Check:
        return Check(case, "p", "v", "float32", "spills", Budget("==", 0), status, value,  # type: ignore[arg-type]
                     "measured", "kernel k" if value else "", reason)  # fmt: skip

    found = [check("p/v/1", "broken", value=8.0), check("p/v/2", "broken", value=16.0),
             check("p/v/3", "not checked", "not collected")]  # fmt: skip
    assert list(lines(found)) == [
        "BUDGET BROKEN p/v/1 and 1 more\n  spills is 8, expected none (measured) at kernel k",
        "budgets: 2 broken, 1 not checked",
        "  1 not checked (spills): not collected",
    ]
    assert list(lines([])) == []


@pytest.mark.usefixtures("without_pages")
def test_a_run_is_kept_by_a_name_when_it_has_ended_failed_or_not(
    matrix: Callable[[int, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = matrix(32, "{bank_conflicts: none}")
    monkeypatch.chdir(path.parent)
    refused = run(path, "--save-baseline", "../elsewhere")
    assert isinstance(refused.exception, UsageError)
    assert not (path.parent / "run").exists()
    ended = run(path, "--save-baseline", "before")
    assert ended.exit_code == 1
    assert "kept as reports/baselines/before" in ended.output
    kept = load(resolve("before"))
    assert list(kept.planned) == list(load("run").planned)
    assert [check.status for check in checks(kept)] == ["broken"]
