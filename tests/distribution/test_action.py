"""The steps of action.yml, run unchanged in a foreign repository with three kernels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import checkout
import pytest
import three_kernels
import yaml
from tiny_problem import edit

ACTION = yaml.safe_load((checkout.ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]
OTHERS = ("actions/setup-python", "actions/cache/restore", "actions/cache/save")
"""GitHub's own steps, which are not run here."""

INSTALLS = "Install the harness and the CUDA compiler"
MOST_S = 120
"""The maximum time from the checkout to the result, in seconds."""

GIT = ["git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org",
       "-c", "commit.gpgsign=false"]  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """A job that has ended. `outputs` are from the step that provides the action's outputs."""

    code: int
    said: str
    summary: str
    outputs: Mapping[str, str]

    def output(self, name: str) -> str:
        """One of the action's outputs; empty if the step did not set it."""
        [step_output] = re.findall(
            r"steps\.gate\.outputs\.([\w-]+)", ACTION["outputs"][name]["value"]
        )
        return self.outputs.get(step_output, "")


class Runner:
    """Runs the action's shell steps as GitHub does, with the Python and the packages of this
    environment."""

    def __init__(self, home: Path) -> None:
        self._home, self._action = home, checkout.copy(home / "action")
        self._python, self._is_installed = home / "python", False
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._python], check=True)
        [packages] = self._python.glob("lib/python*/site-packages")
        here = sysconfig.get_path("purelib")
        (packages / "here.pth").write_text(f"{here}\n")
        (packages / "nvidia").symlink_to(Path(here) / "nvidia")  # the compiler is found there

    def job(self, repository: Path, *, anew: bool = False, **given: str) -> Ended:
        """Run one job with these inputs; each `-` in an input's name is written as `_`.

        `anew`: install the harness even if it is installed, as every GitHub job has to.
        """
        inputs = {name: self._filled(about["default"], {})
                  for name, about in ACTION["inputs"].items()}  # fmt: skip
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        output, summary = self._home / "output", self._home / "summary"
        output.write_text("")
        summary.write_text("")
        code, said = 0, ""
        for step in STEPS:
            installs = step["name"] == INSTALLS
            if "run" in step and code == 0 and (anew or not (installs and self._is_installed)):
                ended = self._run(step, repository, inputs)
                code, said = ended.returncode, said + ended.stdout
                self._is_installed = self._is_installed or (installs and code == 0)
        return Ended(code, said, summary.read_text(), _outputs(output.read_text()))

    def _run(
        self, step: Mapping[str, Any], repository: Path, inputs: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # or else input would become code
        temporary = self._home / "temporary"
        temporary.mkdir(exist_ok=True)
        environment = {
            **{k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "COLUMNS"}},
            "PATH": f"{self._python / 'bin'}:{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(temporary),
            "GITHUB_OUTPUT": str(self._home / "output"),
            "GITHUB_STEP_SUMMARY": str(self._home / "summary"),
            # The packages that the harness needs are installed here; there may be no network.
            "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
            **{k: self._filled(v, inputs) for k, v in step.get("env", {}).items()},
        }  # fmt: skip
        where = repository / self._filled(step.get("working-directory", "."), inputs)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=600,
        )  # fmt: skip

    def _filled(self, text: str, inputs: Mapping[str, str]) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()}
        known |= {"github.base_ref": "main", "github.action_path": str(self._action)}
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: known[found[1]], text)


def _outputs(text: str) -> dict[str, str]:
    """A step's outputs: `name=value` on a line, or `name<<end`, lines, and `end`."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        if each := re.fullmatch(r"([\w-]+)<<(\S+)", line):
            value = []
            while (part := next(lines)) != each[2]:
                value.append(part)
            found[each[1]] = "\n".join(value)
        else:
            name, _, found[name] = line.partition("=")
    return found


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("runner"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A pull request as actions/checkout leaves it: only its own commit, without the base's."""
    origin, here = tmp_path / "origin", tmp_path / "checkout"
    three_kernels.write(origin / "gpu")
    (origin / ".gitignore").write_text(".cache/\n__pycache__/\nreports/\n")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"],
                    ["switch", "-q", "-c", "pull"],
                    ["commit", "-q", "--allow-empty", "-m", "pull"]):  # fmt: skip
        subprocess.run([*GIT, *command], cwd=origin, check=True)
    subprocess.run([*GIT, "clone", "-q", "--depth=1", "--branch=pull", origin.as_uri(), here],
                   check=True)  # fmt: skip
    assert subprocess.run(["git", "rev-parse", "-q", "--verify", "origin/main"], cwd=here,
                          stdout=subprocess.DEVNULL).returncode  # fmt: skip
    return here


def commit(repository: Path) -> None:
    subprocess.run([*GIT, "commit", "-q", "-a", "-m", "edited"], cwd=repository, check=True)


def test_every_input_and_output_is_described_and_every_input_has_a_default() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for about in (ACTION, *ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert about["description"].strip()
    assert all("default" in about for about in ACTION["inputs"].values())
    page = (checkout.ROOT / "docs" / "ci.md").read_text()
    for name in (*ACTION["inputs"], *ACTION["outputs"]):
        assert f"| `{name}` |" in page, f"docs/ci.md does not have {name}"


def test_the_five_lines_of_the_readme_and_the_docs_are_a_workflow_with_this_action() -> None:
    readme, page = ((checkout.ROOT / name).read_text() for name in ("README.md", "docs/ci.md"))
    [lines] = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    assert f"<!-- action:begin -->\n```yaml\n{lines}```" in page
    assert len(lines.splitlines()) == 5
    [job] = yaml.safe_load(lines)["jobs"].values()
    first, this = job["steps"]
    assert first == {"uses": "actions/checkout@v4"}
    # No inputs are given, so the job equals the one that the tests below run, except for its
    # folder.
    assert this == {"uses": "OWNER/REPOSITORY@COMMIT"}


def test_only_githubs_own_actions_are_used_each_at_a_version() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert [name.partition("@")[0] for name in used] == list(OTHERS)
    assert all(re.fullmatch(r"[\w/-]+@v\d+", name) for name in used)


def test_harmless_edits_of_three_kernels_are_green_within_two_minutes(
    runner: Runner, repository: Path
) -> None:
    kernels = repository / "gpu" / "kernels"
    edit(kernels / "add_one/v0.cu", "x[i] + 1", "1 + x[i]")
    edit(
        kernels / "block_sums/v0.cu",
        "const unsigned int at =",
        "// by thread\n    const unsigned int at =",
    )
    edit(kernels / "transpose/v0.cu", "row + i) * n + column", "i + row) * n + column")
    commit(repository)
    begun = time.monotonic()
    ended = runner.job(repository, anew=True, folder="gpu")
    assert ended.code == 0, ended.said
    assert time.monotonic() - begun < MOST_S
    assert "Of 3 cases compared, none is worse or newly faulty" in ended.summary
    assert ended.output("exit-code") == "0"
    assert ended.output("comment").strip() == ended.summary.strip()
    assert Path(ended.output("comment-file")).read_text() == ended.summary
    assert len(ElementTree.parse(ended.output("junit")).getroot()[0]) == 3
    assert json.loads(Path(ended.output("sarif")).read_text())["runs"][0]["results"] == []
    assert json.loads(Path(ended.output("json")).read_text())["exit_code"] == 0
    assert "<html" in Path(ended.output("page")).read_text()
    assert "::error" not in ended.said


def test_a_planted_bank_conflict_is_red_at_its_line(runner: Runner, repository: Path) -> None:
    source = repository / "gpu" / "kernels" / "transpose" / "v0.cu"
    edit(source, three_kernels.PADDED, three_kernels.CONFLICTING)
    commit(repository)
    [line] = [number for number, text in enumerate(source.read_text().splitlines(), start=1)
              if "tile[threadIdx.x][i]" in text]  # fmt: skip
    ended = runner.job(repository, folder="gpu", options="--only transpose --jobs 2")
    assert ended.code == 1, ended.said
    place = f"::error file=gpu/kernels/transpose/v0.cu,line={line},title=WORSE transpose/v0/"
    assert place in ended.said
    assert "1 is worse" in ended.summary
    assert ended.output("exit-code") == "1"
    [alert] = json.loads(Path(ended.output("sarif")).read_text())["runs"][0]["results"]
    assert (alert["ruleId"], alert["level"]) == ("worse", "error")
    at = alert["locations"][0]["physicalLocation"]
    assert at["artifactLocation"]["uri"] == "gpu/kernels/transpose/v0.cu"
    assert at["region"]["startLine"] == line
    suite = ElementTree.parse(ended.output("junit")).getroot()[0]
    assert suite.attrib["failures"] == "1"

    told = runner.job(repository, folder="gpu", options="--only transpose", gate="false")
    assert told.code == 0, told.said
    assert (told.output("exit-code"), told.summary) == ("1", ended.summary)


def test_a_pull_request_that_changes_no_kernel_passes_and_says_so(
    runner: Runner, repository: Path
) -> None:
    ended = runner.job(repository, folder="gpu")
    assert ended.code == 0, ended.said
    assert "Nothing is left to compare" in ended.summary
    assert len(ElementTree.parse(ended.output("junit")).getroot()[0]) == 0
    assert json.loads(Path(ended.output("sarif")).read_text())["runs"][0]["results"] == []
    assert ended.output("json") == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"base": "origin/"}, "no base: this event is no pull request's"),
        ({"folder": "gpu", "gate": "yes"}, "gate: is true or false, not 'yes'"),
        ({"folder": "gpu", "base": "nothing"}, "couldn't find remote ref nothing"),
    ],
)
def test_a_wrong_input_is_refused_by_name(
    runner: Runner, repository: Path, given: dict[str, str], said: str
) -> None:
    ended = runner.job(repository, **given)
    assert ended.code != 0
    assert said in ended.said


def test_a_matrix_that_is_wrong_fails_even_where_the_gate_is_off(
    runner: Runner, repository: Path
) -> None:
    (repository / "gpu" / "bench.yaml").write_text("limit: {}\n")
    commit(repository)
    ended = runner.job(repository, folder="gpu", gate="false")
    assert ended.code == 2, ended.said
    assert "The kernels were not compared (exit code 2)" in ended.summary
    assert "limit" in ended.output("comment")
    assert ended.output("junit") == ""
