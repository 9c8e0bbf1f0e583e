"""Everyday use: a new problem, an edit, a watched file, a partially typed name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typing_commands

from harness import load
from harness.console.suggestions import program
from harness.journal.records import Renewed

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "COLUMNS": "80"}


def harness(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return typing_commands.harness(*arguments, cwd=here)


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the problem that `new` writes."""
    here = tmp_path_factory.mktemp("scaled")
    ended = harness(here, "new", "scaled")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "verify 2/2" in ended.stdout
    assert "FAILED" not in ended.stdout
    assert ended.stdout.rstrip().endswith("python -m harness run --only scaled")
    return here


def test_new_ends_with_the_command_that_exists_where_it_was_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/kernel-harness", "new"])
    assert program() == "kernel-harness"
    monkeypatch.setattr("sys.argv", ["/clone/harness/__main__.py", "new"])
    assert program() == "python -m harness"


def test_a_new_problem_has_two_variants_that_run_quickly_and_are_right(scaled: Path) -> None:
    ended = harness(scaled, "run", "--quick", "--backend", "emulator", "--out", "quick")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = load(scaled / "quick")
    assert {(p.variant, p.sizes["n"]) for p in found.planned.values()} == {
        ("v0_plain", 2**20), ("v1_grid_stride", 2**20),
    }  # fmt: skip
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    assert "rough" in ended.stdout


@pytest.mark.parametrize(
    ("name", "expected"),
    [("scaled", "exists already"), ("2nd", "a name is a letter, then letters, digits and _")],
)
def test_a_problem_that_cannot_be_new_is_refused_and_nothing_is_written(
    scaled: Path, name: str, expected: str
) -> None:
    before = sorted((scaled / "kernels").rglob("*.cu"))
    ended = harness(scaled, "new", name)
    assert ended.returncode == 2
    assert expected in ended.stdout
    assert sorted((scaled / "kernels").rglob("*.cu")) == before


def test_a_saved_file_is_run_again_and_nothing_else_until_ctrl_c(scaled: Path) -> None:
    command = [sys.executable, "-m", "harness", "run", "--watch", "--backend", "emulator",
               "--size", "n=2**20", "--launch", "block=128", "--out", "watched"]  # fmt: skip
    source = scaled / "kernels" / "scaled" / "v1_grid_stride.cu"
    text = source.read_text()
    said = scaled / "said"
    with said.open("w") as output:
        running = subprocess.Popen(
            command,
            cwd=scaled,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=ENVIRONMENT,
            preexec_fn=_heed_ctrl_c,  # tests that run in the background ignore it  # noqa: PLW1509
        )
        try:
            _until(said, "watching kernels/", 1, running)
            source.write_text(text.replace("2 * x", "3 * x"))
            _until(said, "watching kernels/", 2, running)
            source.write_text(text.replace("2 * x", "x[i] + x"))
            (scaled / "kernels" / "scaled" / "bench.yaml").touch()
            _until(said, "watching kernels/", 3, running)
        finally:
            running.send_signal(signal.SIGINT)
            code = running.wait(timeout=60)
            source.write_text(text)
    printed = said.read_text()
    assert code == 0, printed
    assert "changed: kernels/scaled/v1_grid_stride.cu" in printed
    assert printed.count("anew: scaled/v1_grid_stride (scaled/v1_grid_stride.cu changed)") == 2
    assert printed.count("FAILED scaled/v1_grid_stride") == 1
    assert printed.count("verify 1/1  scaled/v1_grid_stride") == 2
    assert "Traceback" not in printed
    found = load(scaled / "watched")
    assert {o.status for o in found.outcomes.values()} == {"ok"}
    assert {r.variant for r in found.of(Renewed)} == {"v1_grid_stride"}


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _until(path: Path, words: str, times: int, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 200
    while path.read_text().count(words) < times:
        assert running.poll() is None, path.read_text()
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.1)


def test_a_run_that_is_refused_leaves_no_folder(scaled: Path) -> None:
    ended = harness(scaled, "run", "--backend", "emulator", "--only", "scaled/*/float32/n=3")
    assert ended.returncode == 2
    assert "matches nothing" in ended.stdout
    assert not list((scaled / "reports").glob("*"))


def test_what_is_skipped_is_told_with_its_reason(scaled: Path) -> None:
    ended = harness(scaled, "run", "--backend", "emulator", "--size", "n=2**26", "--out", "large")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    at = lines.index("4 skipped")
    assert lines[at + 1].startswith("  4 skipped: verified at the test sizes, but not counted: 512")


def test_metrics_are_refused_where_there_is_no_ncu_to_count_them(scaled: Path) -> None:
    ended = harness(scaled, "profile", "--backend", "emulator", "--metrics", "stalls")
    assert ended.returncode == 2
    assert "--metrics chooses what ncu counts on a GPU" in ended.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run --only sca", ["scaled"]),
        ("list --only scaled/v1", ["scaled/v1_grid_stride"]),
        ("run --dtype bf", ["bfloat16"]),
        ("run --dtype floa", ["float16", "float32", "float64", "float8_e4m3", "float8_e5m2"]),
        ("ann", ["annotate"]),
    ],
)
def test_a_shell_is_offered_what_may_be_typed(scaled: Path, typed: str, offered: list[str]) -> None:
    words = f"kernel-harness {typed}"
    program = (
        "import sys; sys.argv[0] = 'kernel-harness'; from harness.__main__ import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=scaled, capture_output=True, text=True, timeout=60,
        env={**ENVIRONMENT, "_KERNEL_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": words,
             "COMP_CWORD": str(len(words.split()) - 1)},
    )  # fmt: skip
    assert sorted(ended.stdout.split()) == offered, ended.stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("rnu",), "Did you mean 'run'?"),
        (("run", "--onyl", "x"), "--only"),
        (("run", "--only", "sclaed"), "did you mean scaled"),
        (("annotate", "scaled/v1_grid_strid_"), "did you mean scaled/v1_grid_stride"),
        (("list", "--dtype", "flota32"), "did you mean float32?"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    scaled: Path, arguments: tuple[str, ...], hint: str
) -> None:
    ended = harness(scaled, *arguments)
    assert ended.returncode == 2
    assert hint in ended.stdout + ended.stderr


def test_list_fits_into_80_columns() -> None:
    ended = harness(ROOT, "list", "--backend", "emulator", "--only", "reduce_sum")
    lines = ended.stdout.splitlines()
    assert len(lines) > 100
    assert max(map(len, lines)) <= 80
