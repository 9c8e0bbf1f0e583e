"""A problem's matrix is found in its folder, or in the top-level file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_matrix import OWN

from harness.errors import ConfigError
from harness.matrix import model

Own = Callable[..., Path]


def refusal(path: Path | None, kernels: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        model.load(path, kernels)
    return str(caught.value)


def test_a_folder_with_a_bench_yaml_is_found_by_being_there(own: Own, folder: Path) -> None:
    own()
    shutil.copytree(folder / "kernels" / "double", folder / "kernels" / "again")
    (folder / "kernels" / "common").mkdir()
    bench = model.load(folder / "bench.yaml")
    assert list(bench.problems) == ["again", "double"]
    assert bench.timing.rounds == 7
    assert bench.kernels == folder / "kernels"


@pytest.mark.parametrize("listed", ["[double]", "{double: }", "{double: ~}"])
def test_problems_at_the_top_choose_among_the_folders(own: Own, folder: Path, listed: str) -> None:
    own()
    shutil.copytree(folder / "kernels" / "double", folder / "kernels" / "again")
    (folder / "bench.yaml").write_text(f"problems: {listed}\n")
    assert list(model.load(folder / "bench.yaml").problems) == ["double"]


def test_a_body_at_the_top_goes_before_the_problems_own_file(own: Own, folder: Path) -> None:
    own()
    body = "".join(f"    {line}\n" for line in OWN.replace("v2:", "other:").splitlines())
    (folder / "bench.yaml").write_text(f"problems:\n  double:\n{body}")
    assert "other" in model.load(folder / "bench.yaml").problems["double"].variants


def test_another_folder_of_problems_may_be_named(own: Own, folder: Path) -> None:
    own()
    (folder / "kernels").rename(folder / "mine")
    bench = model.load(folder / "bench.yaml", folder / "mine")
    assert list(bench.problems) == ["double"]
    assert bench.timing.rounds == 7


def test_where_no_bench_yaml_is_named_or_there_the_defaults_apply(
    own: Own,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    own()
    monkeypatch.chdir(folder)
    assert model.load().timing.rounds == 7
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    bench = model.load(None, folder / "kernels")
    assert (bench.timing.rounds, list(bench.problems)) == ("auto", ["double"])
    assert "kernels is no folder" in refusal(None)
    assert "none.yaml: No such file" in refusal(Path("none.yaml"), folder / "kernels")


def test_a_mistake_in_a_problems_own_file_names_that_file(own: Own, folder: Path) -> None:
    path = own("    steps: [twice]", "    stepz: [twice]")
    message = refusal(folder / "bench.yaml")
    assert message.startswith(f"{path}:13: variants.v0.stepz: unknown key; did you mean steps?")
    (folder / "bench.yaml").write_text("timing: {round: 3}\n")
    assert refusal(folder / "bench.yaml").startswith(
        f"{folder / 'bench.yaml'}:1: timing.round: unknown key; did you mean rounds?"
    )


@pytest.mark.parametrize(
    ("listed", "where", "words"),
    [
        (
            "[double, doubel]",
            "1: problems.1",
            "doubel/bench.yaml does not exist; did you mean doub",
        ),
        ("[double, double]", "1: problems.1", "`double` is listed twice"),
        ("[3]", "1: problems.0", "a name is a letter"),
        ("['../double']", "1: problems.0", "a name is a letter"),
        ("[{double: 1}]", "1: problems.0", "a name is a letter"),
        ("{doubel: }", "1: problems.doubel", "does not exist; did you mean double?"),
        ("[]", "1: problems", "a list of names, or names with bodies"),
        ("double", "1: problems", "a list of names, or names with bodies"),
        ("~", "1: problems", "a list of names, or names with bodies"),
    ],
)
def test_a_problem_that_is_not_there_is_refused_where_it_is_listed(
    own: Own, folder: Path, listed: str, where: str, words: str
) -> None:
    own()
    path = folder / "bench.yaml"
    path.write_text(f"problems: {listed}\n")
    message = refusal(path)
    assert message.startswith(f"{path}:{where}: ")
    assert words in message


def test_a_folder_without_any_problem_says_what_one_is(folder: Path) -> None:
    (folder / "bench.yaml").write_text("timing: {rounds: 7}\n")
    message = refusal(folder / "bench.yaml")
    assert "there is no problem to run" in message
    assert "a folder with a problem.py and a bench.yaml is one" in message
    assert "--kernels" in message


def test_a_folder_whose_name_is_no_name_is_refused(own: Own, folder: Path) -> None:
    own()
    (folder / "kernels" / "double").rename(folder / "kernels" / "two-times")
    message = refusal(folder / "bench.yaml")
    assert "two-times/bench.yaml:1: the folder's name is the problem's: a name is" in message


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]\n", "hello\n"])
def test_an_own_file_without_a_matrix_is_refused(own: Own, folder: Path, text: str) -> None:
    path = own()
    path.write_text(text)
    assert refusal(folder / "bench.yaml").startswith(f"{path}:1: ")


def test_a_matrix_that_nobody_can_mean_is_refused_before_it_is_worked_out(
    own: Own, folder: Path
) -> None:
    path = own(
        "{n: [1, 33]}", f"{{n: {list(range(1, 4000))}}}",
        "{block: [64, 128]}", "{block: [64, 128], a: [1, 2, 3], b: [1, 2, 3, 4, 5]}",
    )  # fmt: skip
    message = refusal(folder / "bench.yaml")
    # 3 variants × 4000 sizes × 30 launch shapes.
    assert message.startswith(f"{path}:1: with this problem's 360,000 the matrix has 360,000 cases")
    assert "at most 100,000" in message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data())
def test_any_value_anywhere_is_accepted_or_refused_with_the_file_that_it_is_in(
    own: Own, folder: Path, data: st.DataObject
) -> None:
    path = own()
    lines = path.read_text().splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    value = data.draw(
        st.sampled_from(["~", "[]", "{}", "-1", "1.5", "on", "no", "''", "{a: 1}", "[[1]]", "2**63",
                         "[twice, {kernel: x}]", "{twice: ~}", "{twice: {grid: []}}", "v1", "[v1]",
                         "x.py:f", "x.cu:f", "[-O3]", "[x]", "{block: {}}", "1 / n", "|",
                         "{v0: {python: a.py:f}}", "{x: {host: v0.cu:f, args: [1.5]}}"])
    )  # fmt: skip
    key = data.draw(st.sampled_from(
        [lines[at].partition(":")[0], "    let", "    python", "    host", "    dtypes", "  steps",
         "    launch", "libraries", "library", "    flags", "    include", "    cluster"]
    ))  # fmt: skip
    path.write_text("\n".join([*lines[:at], f"{key}: {value}", *lines[at + 1 :]]) + "\n")
    said = ""
    try:
        model.load(folder / "bench.yaml")
    except ConfigError as error:
        said = str(error)
    assert said == "" or str(path) in said
