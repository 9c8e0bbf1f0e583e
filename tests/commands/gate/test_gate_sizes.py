"""`--gate` exits with 3 if a variant is verified, or compared, at fewer sizes than in the base."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit
from tiny_problem import edit
from typer.testing import CliRunner, Result

from harness.__main__ import app

pytestmark = pytest.mark.usefixtures("importable", "without_pages")

OWN = """\
dtypes: [float32]
sizes:
  test: {n: [1, 33]}
  bench: {n: [2**10]}
  emulate: {n: [2**10, 1000]}
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
extern "C" __global__ void twice(const float* input, float* output, int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = 0;
    for (int r = 0; r < rounds; r++) x = 2 * input[i < n ? i : 0] + 0 * x;
    if (i < n) output[i] = x;
}
"""
UNGUARDED = KERNEL.replace("if (i < n) ", "").replace("i < n ? i : 0", "i")


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


def harness(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def beside(*arguments: str) -> Result:
    return harness("beside", "git:HEAD", "--backend", "emulator", "--out", "run", "--gate",
                   "--uncommitted", "--changed-only", *arguments)  # fmt: skip


def run(out: str) -> Result:
    return harness("run", "--backend", "emulator", "--out", out)


def said(ended: Result) -> str:
    return " ".join(ended.output.split())


def without_test_sizes(double: Path) -> None:
    edit(double / "bench.yaml", "test: {n: [1, 33]}", "test: {n: [1024]}")


def without_emulated_sizes(double: Path) -> None:
    edit(double / "bench.yaml", "emulate: {n: [2**10, 1000]}", "emulate: {n: [2**10]}")


@pytest.mark.fault(
    "a pull request that drops the sizes at which a kernel needs its guard, and the guard",
    outcome="`--gate` exits with 3 and names the sizes that only the base has",
)
@pytest.mark.parametrize("guard", [True, False], ids=["with its guard", "alone"])
def test_test_sizes_that_only_the_base_has_cannot_be_told(double: Path, guard: bool) -> None:
    without_test_sizes(double)
    if guard:
        without_emulated_sizes(double)
        (double / "v1.cu").write_text(UNGUARDED)
    ended = beside()
    assert ended.exit_code == 3, ended.output
    assert "CANNOT TELL double: only git:HEAD has the test size n=1, n=33" in said(ended)
    if guard:
        assert "double: only git:HEAD has the `emulate` size n=1000; both" in said(ended)
    else:
        assert "nothing is left to compare" in said(ended)


def test_more_sizes_than_in_the_base_are_fine(double: Path) -> None:
    edit(double / "bench.yaml", "test: {n: [1, 33]}", "test: {n: [1, 33, 65]}")
    edit(double / "bench.yaml", "[2**10, 1000]", "[2**10, 1000, 999]")
    edit(double / "v1.cu", "float x = 0;", "float x = 0.0f;")
    ended = beside()
    assert ended.exit_code == 0, ended.output


def test_a_size_of_the_other_run_that_is_no_longer_verified_cannot_be_told(double: Path) -> None:
    assert run("run-before").exit_code == 0
    without_test_sizes(double)
    without_emulated_sizes(double)
    (double / "v1.cu").write_text(UNGUARDED)
    assert run("run-after").exit_code == 0
    ended = harness("compare", "run-before", "run-after", "--gate")
    assert ended.exit_code == 3, ended.output
    assert (
        "CANNOT TELL double/v1 was verified at n=1, n=33, n=1000 in the base, and is not verified "
        "there now"
    ) in said(ended)
    assert harness("compare", "run-after", "run-after", "--gate").exit_code == 0


@pytest.mark.fault(
    "a `when:` that leaves a kernel unverified at every test size, in a change without its guard",
    outcome="`--gate` exits with 3 and names the sizes; a plain run notes it",
)
def test_a_limit_that_leaves_out_test_sizes_cannot_be_told(double: Path) -> None:
    without_emulated_sizes(double)
    commit(double.parents[1])
    edit(double / "bench.yaml", "    builds_on: v0\n",
         "    builds_on: v0\n    when: n % 256 == 0\n")  # fmt: skip
    (double / "v1.cu").write_text(UNGUARDED)
    ended = beside("--json", "run.json")
    assert ended.exit_code == 3, ended.output
    assert "CANNOT TELL double/v1 was verified at n=1, n=33 in git:HEAD, and is not" in said(ended)
    assert (
        "is verified at no test size: the variant is limited to `n % 256 == 0`"
        in Path("run.json").read_text()
    )
    ended = run("run-plain")
    assert ended.exit_code == 0, ended.output
    assert (
        "note: double/v1 is not verified at n = 1; n = 33: the variant is limited to `n % 256 == 0`"
    ) in said(ended)


@pytest.mark.fault(
    "an argument that asks for more work only at sizes that are too large to be counted",
    outcome="`--gate` exits with 3: a counted size stands for others only if launched as before",
)
def test_another_launch_at_a_counted_size_does_not_speak_for_one_that_is_not_counted(
    double: Path,
) -> None:
    edit(double / "bench.yaml", "  emulate: {n: [2**10, 1000]}\n", "")
    edit(double / "bench.yaml", "bench: {n: [2**10]}", "bench: {n: [2**10, 2**28]}")
    edit(double / "v1.cu", "int rounds)", "int rounds, int unused)")
    edit(double / "bench.yaml", "    steps: {twice: {args: [input, output, n, 1]}}",
         "    steps: {twice: {args: [input, output, n, 1, 0]}}")  # fmt: skip
    commit(double.parents[1])
    edit(double / "v1.cu", "float x = 0;", "float x = 0.0f;")
    ended = beside()
    assert ended.exit_code == 0, ended.output
    edit(double / "bench.yaml", "output, n, 1, 0]", 'output, n, "1 + 63 * (n > 5000)", 1]')
    ended = beside()
    assert ended.exit_code == 3, ended.output
    assert "CANNOT TELL double/v1 changed, and was not compared: verified at the test" in said(
        ended
    )
