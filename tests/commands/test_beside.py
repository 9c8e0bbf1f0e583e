"""`beside git:REF`: a commit's kernels and the current ones in one emulated run, paired by name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from repositories import commit
from strided_kernels import KERNEL, OWN, PLAIN, STRIDED
from tiny_problem import edit
from typer.testing import CliRunner, Result

from harness import load
from harness.__main__ import app
from harness.backends.emulated_device import emulated_device
from harness.commands import compare
from harness.commands.line.runs import add
from harness.commands.request import RunRequest
from harness.matrix import plan
from harness.report.site import write_pages
from harness.tables import Run

pytestmark = pytest.mark.usefixtures("importable", "without_pages")

INTERRUPTED = 130


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is the working directory; it has a committed problem with three variants,
    two of which include headers."""
    (folder / "bench.yaml").write_text("timing: {rounds: 6}\n")
    double = folder / "kernels" / "double"
    (folder / "kernels" / "common").mkdir()
    (folder / "kernels" / "common" / "factor.cuh").write_text("#define FACTOR 2\n")
    (double / "near.cuh").write_text("#define NEAR 0\n")
    (double / "bench.yaml").write_text(OWN)
    for name in ("v0", "v1"):
        (double / f"{name}.cu").write_text(KERNEL)
    (double / "v2.cu").write_text(PLAIN)
    commit(folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that were passed to a stand-in for `compare`, which returns "cannot tell"."""
    seen: list[Run] = []

    def carry_out(
        base: Run, new: Run, wanted: object, *, min_effect: float, quiet: bool, kernels: Path
    ) -> int:
        assert base is new
        seen.append(new)
        return 3

    monkeypatch.setattr(compare, "carry_out", carry_out)
    return seen


def beside(*arguments: str, given: str = "git:HEAD") -> Result:
    command = ["beside", given, "--backend", "emulator", "--out", "run", *arguments]
    return CliRunner().invoke(app, command)


def planned(*arguments: str, given: str = "git:HEAD") -> tuple[list[str], str]:
    """The variants that would run, and the messages; nothing is compiled."""
    found: list[str] = []

    def carry_out(request: RunRequest) -> tuple[int, Path]:
        assert request.bench is not None
        assert request.out is not None
        device = emulated_device("sm_90")
        cases = plan.resolve(request.bench, device, "emulator", request.choice.only).cases
        found.extend(f"{case.problem}/{case.variant}" for case in cases)
        return INTERRUPTED, request.out

    alone = typer.Typer()
    alone.callback()(lambda: None)
    add(alone, carry_out)
    command = ["beside", given, "--backend", "emulator", "--out", "run", *arguments]
    ended = CliRunner().invoke(alone, command)
    assert ended.exit_code in (0, INTERRUPTED), ended.output
    assert not Path("run").exists()
    return found, ended.output


def of_double(*variants: str) -> list[str]:
    return [f"double/{variant}" for variant in variants]


def source(name: str, folder: str = "double") -> Path:
    return Path("kernels") / folder / name


def test_one_run_has_both_sides_paired_by_name_and_says_so(
    repository: Path, compared: list[Run]
) -> None:
    sha = commit(repository)
    source("v2.cu").write_text(STRIDED)
    ended = beside("--uncommitted")
    assert ended.exit_code == 0, ended.output
    assert "today's side has uncommitted changes: kernels/double/v2.cu" in ended.output
    [run] = compared
    assert run.info["beside"] == {"base": "git:HEAD", "commit": sha, "suffix": "__base"}
    assert [p.variant for p in run.planned.values()] == [
        "v0", "v0__base", "v1", "v1__base", "v2", "v2__base",
    ]  # fmt: skip
    assert {o.status for o in run.outcomes.values()} == {"ok"}
    wavefronts = {
        r.case.split("/")[1]: r.value for r in run.counters.itertuples()
        if r.metric == "memory_l1_wavefronts_shared"
    }  # fmt: skip
    assert wavefronts["v2"] == 32 * wavefronts["v2__base"] == 2048
    made = {case.split("/")[1]: steps[0].sass_sha256 for case, steps in run.compiled.items()}
    assert made["v1"] == made["v1__base"]
    assert made["v2"] != made["v2__base"]
    planned = {p.variant: p for p in run.planned.values()}
    assert (planned["v2__base"].builds_on, planned["v2"].builds_on) == ("v1__base", "v1")
    assert (planned["v0"].is_baseline, planned["v0__base"].is_baseline) == (True, False)


def test_a_commits_source_sees_the_headers_of_that_commit(
    repository: Path, compared: list[Run]
) -> None:
    source("factor.cuh", "common").write_text("#define FACTOR 3\n")
    source("near.cuh").write_text("#define NEAR 1\n")
    commit(repository)
    assert beside(given="git:HEAD~1").exit_code == 1  # the current 3 x + 1 is wrong
    outcomes = {case.split("/")[1]: o.status for case, o in compared[0].outcomes.items()}
    assert outcomes == {
        "v0": "failed", "v1": "failed", "v2": "ok", "v0__base": "ok", "v1__base": "ok",
        "v2__base": "ok",
    }  # fmt: skip


def test_lines_name_the_file_of_todays_and_pages_show_each_sides_own_source(
    repository: Path, compared: list[Run]
) -> None:
    edit(source("bench.yaml"), "v2: {builds_on: v1}",
         "v2: {builds_on: v1, expect: {bank_conflicts: none}}")  # fmt: skip
    source("v2.cu").write_text(STRIDED)
    ended = beside("--uncommitted")
    assert ended.exit_code == 1
    assert "BUDGET BROKEN double/v2/float32" in ended.output
    assert "at kernels/double/v2.cu:4" in ended.output
    write_pages(load("run"))
    page = (repository / "run" / "problems" / "double.html").read_text()
    listed = re.findall("<td>.*?<code>(.*?)</code>", page)
    assert sum("tile[32 * (threadIdx.x % 32)] = 2 * input[i]" in row for row in listed) == 1
    assert sum("tile[threadIdx.x % 32] = 2 * input[i]" in row for row in listed) == 1


def test_what_only_one_side_has_is_said_and_runs_alone(
    repository: Path,
) -> None:
    own = source("bench.yaml")
    edit(own, "  v2: {builds_on: v1}\n", "  v3: {builds_on: v1}\n")
    source("v2.cu").rename(source("v3.cu"))
    edit(source("problem.py"), "output[i] = 2 input[i]", "twice")
    shutil.copytree(source(""), Path("kernels") / "triple")
    commit(repository)
    found, said = planned(given="git:HEAD~1")
    assert "double: git:HEAD~1 has no v3" in said
    assert "double: only git:HEAD~1 has v2" in said
    assert "double: git:HEAD~1 has another problem.py; both sides are held to" in said
    assert "triple: git:HEAD~1 has no v0, v1, v3" in said
    double = of_double("v0", "v0__base", "v1", "v1__base", "v3", "v2__base")
    assert found == [*double, "triple/v0", "triple/v1", "triple/v3"]
    _, back = planned("--only", "double", given="git:HEAD~1")
    assert "triple" not in back


def test_a_problem_that_only_the_commit_has_is_said_and_left_out(repository: Path) -> None:
    shutil.copytree(source(""), Path("kernels") / "triple")
    commit(repository)
    shutil.rmtree(Path("kernels") / "triple")
    commit(repository)
    found, said = planned(given="git:HEAD~1")
    assert "triple: only git:HEAD~1 has this problem; it is left out" in said
    assert {name.partition("/")[0] for name in found} == {"double"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("double/v1", ["v0", "v1", "v1__base"]),
        ("double/v1/float32/n=1024/block=32", ["v0", "v1", "v1__base"]),
        ("doub*/v*", ["v0", "v0__base", "v1", "v1__base", "v2", "v2__base"]),
    ],
)
def test_a_pattern_chooses_of_both_sides(
    repository: Path, pattern: str, expected: list[str]
) -> None:
    assert planned("--only", pattern)[0] == of_double(*expected)


def test_a_pattern_that_matches_neither_side_is_refused(repository: Path) -> None:
    assert refused(beside("--only", "double/v9"), "--only 'double/v9' matches nothing")


def test_changed_only_leaves_out_what_is_made_from_the_same_and_says_how_many(
    repository: Path,
) -> None:
    source("v2.cu").write_text(STRIDED)
    found, said = planned("--uncommitted", "--changed-only")
    assert "--changed-only: 2 of 3 variants have the same sources and headers" in said
    assert found == of_double("v0", "v2", "v2__base")


def test_a_changed_header_changes_every_variant_that_includes_it(repository: Path) -> None:
    source("factor.cuh", "common").write_text("#define FACTOR 2.0f\n")
    found, said = planned("--uncommitted", "--changed-only")
    assert "--changed-only: 1 of 3 variants" in said
    assert found == of_double("v0", "v0__base", "v1", "v1__base")


def test_another_flag_is_a_change_too(repository: Path) -> None:
    edit(source("bench.yaml"), "v2: {builds_on: v1}", "v2: {builds_on: v1, flags: [-O1]}")
    found, said = planned("--uncommitted", "--changed-only")
    assert "--changed-only: 2 of 3 variants" in said
    assert found == of_double("v0", "v2", "v2__base")


def test_where_nothing_changed_nothing_is_run(repository: Path, compared: list[Run]) -> None:
    ended = beside("--changed-only", "--markdown", "c.md", "--junit", "c.xml", "--sarif", "c.sarif")
    assert ended.exit_code == 0, ended.output
    assert "every variant has the same sources" in Path("c.md").read_text()
    assert all(Path(name).read_text() for name in ("c.xml", "c.sarif"))
    assert "3 of 3 variants have the same sources" in ended.output
    assert "nothing is left to compare" in ended.output
    assert not compared
    assert not (repository / "run").exists()


def test_the_gates_exit_code_is_that_of_the_comparison(
    repository: Path, compared: list[Run]
) -> None:
    assert beside("--gate", "--only", "double/v2").exit_code == 3


def test_a_broken_budget_closes_the_gate(repository: Path, compared: list[Run]) -> None:
    edit(source("bench.yaml"), "v2: {", "v2: {expect: {registers: 255}, ")
    assert beside("--gate", "--only", "double/v2", "--uncommitted").exit_code == 1


def test_a_run_with_both_sides_goes_on_in_its_folder_and_keeps_what_is_unchanged(
    repository: Path, compared: list[Run]
) -> None:
    assert beside().exit_code == 0
    source("v2.cu").write_text(STRIDED)
    again = beside("--uncommitted")
    assert again.exit_code == 0, again.output
    assert "anew: double/v2 (double/v2.cu changed)" in again.output
    assert "kept: 5 cases" in again.output


def test_a_folder_with_another_comparison_or_a_plain_run_is_refused_and_left_as_it_is(
    repository: Path, compared: list[Run]
) -> None:
    assert beside().exit_code == 0
    kept = (repository / "run" / "kernels" / "double" / "v2.cu").read_bytes()
    source("v2.cu").write_text(STRIDED)
    commit(repository)
    other = CliRunner().invoke(app, ["beside", "git:HEAD", "--backend", "emulator", "--out", "run"])
    assert refused(other, "run holds another run: it has git:HEAD at")
    assert (repository / "run" / "kernels" / "double" / "v2.cu").read_bytes() == kept
    plain = CliRunner().invoke(app, ["run", "--backend", "emulator", "--out", "run"])
    assert refused(plain, "what today's kernels stand beside differs: git:HEAD at")


def refused(ended: Result, expected: str) -> bool:
    """Assert that the command ended with a user error, which main() prints before it exits with
    2."""
    from harness.errors import HarnessError

    assert isinstance(ended.exception, HarnessError), ended.output
    assert expected in re.sub(r"\s+", " ", str(ended.exception)), ended.exception
    return True


@pytest.mark.fault(
    "uncommitted kernels where a commit is to be compared with",
    outcome="Refused with the files' names, unless --uncommitted takes them as they are.",
)
def test_uncommitted_kernels_are_refused_by_name_unless_they_may(repository: Path) -> None:
    source("v2.cu").write_text(STRIDED)
    source("extra.cu").write_text("")
    assert refused(beside(), "uncommitted changes: kernels/double/v2.cu, kernels/double/extra.cu")
    assert not (repository / "run").exists()


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (lambda: None, "there is no such branch, tag or commit"),
        (lambda: shutil.rmtree(".git"), "is not in a readable git repository"),
    ],
)
def test_a_commit_that_is_not_there_is_refused(
    repository: Path, prepare: Callable[[], None], expected: str
) -> None:
    prepare()
    assert refused(beside(given="git:nowhere"), expected)
    assert not (repository / "run").exists()


@pytest.mark.fault(
    "a commit to compare with that has no kernels",
    outcome="Refused before anything runs; no folder is left.",
)
def test_a_commit_without_kernels_is_refused(repository: Path) -> None:
    shutil.move("kernels", repository.parent / "kernels")
    without = commit(repository)
    shutil.move(repository.parent / "kernels", "kernels")
    commit(repository)
    assert refused(beside(given=f"git:{without}"), "has no folder kernels")
    assert not (repository / "run").exists()


@pytest.mark.fault(
    "a commit to compare with, of which today's harness cannot use the matrix",
    outcome="Refused before anything runs, with the commit's file, line and key.",
)
def test_a_commits_matrix_that_cannot_be_used_is_refused_with_its_line(repository: Path) -> None:
    edit(source("bench.yaml"), "args: [input, output, n]", "args: [input, result, n]")
    commit(repository)
    edit(source("bench.yaml"), "args: [input, result, n]", "args: [input, output, n]")
    commit(repository)
    assert refused(beside(given="git:HEAD~1"),
                   "git:HEAD~1:kernels/double/bench.yaml:7: defaults.steps.twice.args")  # fmt: skip
    edit(source("bench.yaml"), "baseline: v0", "base_line: v0")
    commit(repository)
    edit(source("bench.yaml"), "base_line: v0", "baseline: v0")
    commit(repository)
    assert refused(beside(given="git:HEAD~1"), "the matrix of git:HEAD~1 cannot be used by this "
                   "harness git:HEAD~1:kernels/double/bench.yaml:")  # fmt: skip
    assert not (repository / "run").exists()


def test_a_variant_that_is_named_as_the_commits_are_is_refused(repository: Path) -> None:
    edit(source("bench.yaml"), "  v2: {builds_on: v1}", "  v2__base: {source: v2.cu}")
    commit(repository)
    assert refused(beside(), "variants.v2__base: a name must not end in __base")


def test_the_gate_closes_on_a_bank_conflict_and_names_its_line(repository: Path) -> None:
    assert beside("--gate", "--only", "double/v2").exit_code == 0
    shutil.rmtree("run")
    source("v2.cu").write_text(STRIDED)
    ended = beside("--gate", "--only", "double/v2", "--uncommitted", "--markdown", "run.md")
    assert ended.exit_code == 1, ended.output
    assert re.search(r"double/v2\.cu:[46]", ended.output), ended.output
    assert "double/v2.cu:" in Path("run.md").read_text()
    again = CliRunner().invoke(app, ["compare", "run", "--gate"])
    assert again.exit_code == 1, again.output


def test_a_run_is_compared_with_a_baseline_by_its_name(repository: Path) -> None:
    def run(*more: str) -> Result:
        command = ["run", "--backend", "emulator", "--only", "double/v2", *more]
        return CliRunner().invoke(app, command)

    assert run("--out", "run", "--save-baseline", "before").exit_code == 0
    source("v2.cu").write_text(STRIDED)
    assert run("--out", "run").exit_code == 0
    ended = CliRunner().invoke(app, ["compare", "before", "run", "--gate"])
    assert ended.exit_code == 1, ended.output
    assert re.search(r"double/v2\.cu:[46]", ended.output), ended.output
