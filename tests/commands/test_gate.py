"""`beside … --gate`: every change is compared exactly, or the gate exits with 3 and gives the
reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from repositories import commit
from tiny_problem import edit
from typer.testing import CliRunner, Result

from harness.__main__ import app
from harness.commands.printed import labels
from harness.emulator.sass.cubin import disassembler

pytestmark = pytest.mark.usefixtures("importable", "without_pages")

OWN = """\
dtypes: [float32]
sizes: {test: {n: [1, 33]}, bench: {n: [2**10]}}
launch: {block: [32]}
baseline: v0
defaults:
  steps:
    twice: {grid: "ceil_div(n, block)", block: block, args: [input, output, n, 1]}
variants:
  v0: {}
  v1:
    builds_on: v0
    steps: {twice: {args: [input, output, n, 1]}}
"""
KERNEL = """\
__constant__ int first = 1;
__device__ int table[2] = {1, 1};
extern "C" __global__ void twice(const float* input, float* output, int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0;
    for (int r = 0; r < rounds * first * table[n & 1]; r++) x = 2 * input[i < n ? i : 0] + 0 * x;
    if (i < n) output[i] = x;
}
"""


@pytest.fixture
def double(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A problem with two variants, committed in a repository that is the working directory."""
    (folder / "bench.yaml").write_text("timing: {rounds: 6}\n")
    double = folder / "kernels" / "double"
    (double / "bench.yaml").write_text(OWN)
    for name in ("v0", "v1"):
        (double / f"{name}.cu").write_text(KERNEL)
    commit(folder)
    monkeypatch.chdir(folder)
    return double


def gate(*arguments: str) -> Result:
    command = ["beside", "git:HEAD", "--backend", "emulator", "--out", "run", "--gate",
               "--uncommitted", "--changed-only", *arguments]  # fmt: skip
    return CliRunner().invoke(app, command)


def uncounted(folder: Path) -> None:
    (folder / "bench.yaml").write_text("timing: {rounds: 6}\nlimits: {emulate_bytes: 16}\n")
    commit(folder)


@pytest.mark.fault(
    "64 times the work by another argument, constant or initial value, of the same machine code",
    outcome="`--gate` exits with 1: identity is of data and launches, not of code alone",
)
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("bench.yaml", "    steps: {twice: {args: [input, output, n, 1]}}",
         "    steps: {twice: {args: [input, output, n, 64]}}"),
        ("v1.cu", "first = 1", "first = 64"),
        ("v1.cu", "table[2] = {1, 1}", "table[2] = {64, 64}"),
    ],
    ids=["argument", "constant", "variable"],
)  # fmt: skip
def test_the_same_code_with_64_times_the_work_closes_the_gate(
    double: Path, file: str, old: str, new: str
) -> None:
    edit(double / file, old, new)
    ended = gate()
    assert ended.exit_code == 1, ended.output
    assert "warp instructions" in ended.output
    assert "identical" not in ended.output


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    steps: {twice: {args: [input, output, n, 1]}}",
         "    steps: {twice: {args: [input, output, n, 64]}}"),
        ("    steps: {twice: {args: [input, output, n, 1]}}",
         "    steps: {twice: {block: [block, 2], args: [input, output, n, 1]}}"),
        ("    steps: {twice: {args: [input, output, n, 1]}}",
         "    steps: {twice: {shared: 64, args: [input, output, n, 1]}}"),
    ],
    ids=["argument", "block", "shared memory"],
)  # fmt: skip
def test_a_change_of_the_matrix_alone_to_what_is_not_counted_cannot_be_told(
    double: Path, old: str, new: str
) -> None:
    uncounted(double.parents[1])
    edit(double / "bench.yaml", old, new)
    ended = gate()
    assert ended.exit_code == 3, ended.output
    assert "double/v1 changed, and was not compared: verified at the test sizes" in ended.output


@pytest.mark.fault(
    "a changed kernel with an instruction for which no machine code is executed",
    outcome="`--gate` exits with 3; the run's last lines say that it was counted in PTX alone",
)
def test_a_kernel_that_falls_back_to_ptx_cannot_be_told(double: Path) -> None:
    never = (
        "if (n < 0) { unsigned int counter;"
        ' asm volatile("mov.u32 %0, %%pm0;" : "=r"(counter));'
        " x = counter; }"
    )
    edit(double / "v1.cu", "    float x = 0;", f"    float x = 0; {never}")
    edit(double / "bench.yaml", "    builds_on: v0\n",
         "    builds_on: v0\n    expect: {instructions: 1}\n")  # fmt: skip
    ended = gate("--arch", "sm_120")
    assert ended.exit_code == 3, ended.output
    said = " ".join(ended.output.split())
    assert "COUNTERS code-exact" in said
    assert "BEWARE double/v1 counted in PTX alone" in said
    assert "double/v1 changed, and was counted in PTX alone" in said
    assert "not checked (instructions): counted in PTX" in said
    assert "CANNOT TELL budget instructions of double/v1 could not be checked" in said


def test_a_run_without_a_disassembler_says_so_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(disassembler, "candidates", lambda: [("/nowhere/nvdisasm", "NVDISASM")])
    labels.say_before("cuda", "sm_90")
    assert not capsys.readouterr().out
    labels.say_before("emulator", "sm_90")
    said = " ".join(capsys.readouterr().out.split())
    assert "BEWARE this run counts in PTX alone" in said
    assert "pip install 'nvidia-cuda-nvdisasm" in said


def test_another_problem_that_stands_for_both_sides_cannot_be_told(double: Path) -> None:
    problem = double / "problem.py"
    problem.write_text(f"# a comment\n{problem.read_text()}")
    assert gate().exit_code == 0
    edit(problem, "output[i] = 2 input[i]", "twice")
    ended = gate()
    assert ended.exit_code == 3, ended.output
    assert "CANNOT TELL double: git:HEAD has another problem.py" in ended.output
    edit(double / "v1.cu", "float x = 0", "float x = 0.0f")
    ended = gate()
    assert ended.exit_code == 3, ended.output
    assert "Cannot tell: double: git:HEAD has another problem.py" in ended.output


@pytest.mark.fault(
    "a module or a data file that problem.py uses, changed together with a kernel",
    outcome="The gate cannot tell: it is part of problem.py.",
)
@pytest.mark.parametrize("name", ["of_double.py", "data.bin"])
def test_what_a_problem_imports_or_reads_is_part_of_it(double: Path, name: str) -> None:
    problem = double / "problem.py"
    imports = f"import sys\nsys.path.insert(0, {str(double)!r})\nimport of_double\n"
    problem.write_text(imports + problem.read_text())
    (double / "of_double.py").write_text("TOLERANCE = 0\n")
    (double / "data.bin").write_bytes(b"0")
    commit(double.parents[1])
    ended = gate("--changed-only")
    assert ended.exit_code == 0, ended.output
    (double / name).write_text("TOLERANCE = 9\n")
    for more in ([], ["--changed-only"]):
        ended = gate(*more)
        assert ended.exit_code == 3, ended.output
        assert "double: git:HEAD has another problem.py" in ended.output


def test_a_size_that_only_the_base_has_cannot_be_told(double: Path) -> None:
    edit(double / "bench.yaml", "bench: {n: [2**10]}", "bench: {n: [2**11]}")
    ended = gate()
    assert ended.exit_code == 3, ended.output
    assert "double: only git:HEAD has the size n=1024" in ended.output


def test_a_new_variant_is_run_and_passes_where_it_is_right(double: Path) -> None:
    edit(double / "bench.yaml", "variants:\n", "variants:\n  v2: {builds_on: v0}\n")
    (double / "v2.cu").write_text(KERNEL)
    ended = gate()
    assert ended.exit_code == 0, ended.output
    shutil.rmtree("run")
    edit(double / "v2.cu", "2 * input", "3 * input")
    ended = gate()
    assert ended.exit_code == 1, ended.output
    assert "NEWLY FAULTY double/v2" in ended.output


def test_a_variant_that_went_was_not_compared(double: Path) -> None:
    text = (double / "bench.yaml").read_text()
    (double / "bench.yaml").write_text(text[: text.index("  v1:")])
    ended = gate()
    assert ended.exit_code == 3, ended.output
    assert "only git:HEAD has double/v1: nothing was compared with it" in ended.output


def test_a_budget_that_is_new_is_checked_though_nothing_else_changed(double: Path) -> None:
    edit(double / "bench.yaml", "    builds_on: v0\n",
         "    builds_on: v0\n    expect: {global_atomics: none, instructions: none}\n")  # fmt: skip
    ended = gate()
    assert ended.exit_code == 1, ended.output
    assert "BUDGET BROKEN double/v1" in ended.output
    assert "identical" in ended.output


@pytest.mark.parametrize(
    ("arch", "start"),
    [("sm_90", "COUNTERS machine-exact"), ("sm_80", "COUNTERS code-exact"),
     ("sm_50", "BEWARE this run counts in PTX alone")],
)  # fmt: skip
def test_a_run_says_first_which_labels_its_counters_have(arch: str, start: str) -> None:
    said = labels.of_architecture(arch)
    assert said.startswith(start)
    assert arch in said
