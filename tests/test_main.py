"""The command line as a person uses it: exit codes, and messages without tracebacks."""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from typing_commands import harness

from harness import __version__, load
from harness.commands.printed import resolved
from harness.matrix import model

ROOT = Path(__file__).parent.parent
FAULTY = ROOT / "tests" / "faulty" / "bench.yaml"


def emulate(out: Path, *only: str, matrix: Path = FAULTY) -> subprocess.CompletedProcess[str]:
    patterns = [word for pattern in only for word in ("--only", pattern)]
    return harness("run", "--config", matrix, "--backend", "emulator", "--out", out, *patterns)


def test_a_run_in_which_every_case_is_ok_exits_with_0_and_prints_the_report_last(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "harness", "run", "--config", FAULTY, "--backend", "emulator",
               "--out", tmp_path / "run", "--only", "double/right"]  # fmt: skip
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == str(tmp_path / "run" / "report.html")
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files >= {"run.json", "journal.jsonl", "results.csv", "counters.csv", "report.html"}


def test_a_run_ends_with_its_results_which_report_repeats_and_writes(tmp_path: Path) -> None:
    ended = emulate(tmp_path / "run", "double/right")
    table = [line.split() for line in ended.stdout.splitlines()]
    assert ["right", "verified", "14", "0"] in [line[:4] for line in table], ended.stdout
    again = harness("report", tmp_path / "run", "--json", tmp_path / "x.json", "--markdown",
                    tmp_path / "x.md")  # fmt: skip
    assert ["right", "verified", "14", "0"] in [
        line.split()[:4] for line in again.stdout.split("\n")
    ]
    assert "| right | verified | 14 | 0 |" in (tmp_path / "x.md").read_text()
    assert '"launches": 14' in (tmp_path / "x.json").read_text()
    quiet = harness("report", tmp_path / "run", "--quiet", "--single-file")
    assert quiet.stdout.splitlines() == [str(tmp_path / "run" / "report-single-file.html")]


def test_a_file_of_results_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    file = tmp_path / "none" / "x.json"
    ended = harness("run", "--backend", "emulator", "--out", tmp_path / "run", "--json", file)
    assert ended.returncode == 2
    assert f"--json {file}: there is no folder" in ended.stdout
    assert not (tmp_path / "run").exists()


def test_profile_without_a_gpu_fills_the_counters_from_the_emulator(tmp_path: Path) -> None:
    ended = harness("profile", "--config", FAULTY, "--backend", "emulator", "--only",
                    "double/right", "--out", tmp_path / "run")  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counters = (tmp_path / "run" / "counters.csv").read_text()
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,512,sector,machine-exact" in counters


def test_a_set_of_metrics_that_does_not_exist_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    ended = harness("profile", "--metrics", "speed", "--out", tmp_path / "run")
    assert ended.returncode == 2
    assert "bank_conflicts" in ended.stdout
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_failed_case_exits_with_1_and_says_why(tmp_path: Path) -> None:
    ended = emulate(tmp_path / "run", "double/not_a_number")
    assert ended.returncode == 1
    assert "FAILED double/not_a_number/float32/n=4096/block=64 and 1 more" in ended.stdout
    assert "`y[7]` is NaN" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run", "--only", "no_such/*"), "--only 'no_such/*' matches nothing"),
        (("run", "--config", "no_such.yaml"), "no_such.yaml"),
        (("run", "--backend", "emulator", "--arch", "sm_12"), "--arch sm_12"),
        (("run", "--backend", "cuda"), "doctor"),
        (("report", "no_such_folder"), "no_such_folder/run.json"),
    ],
)
def test_a_wrong_command_exits_with_2_and_a_message(
    arguments: tuple[str, ...], expected: str
) -> None:
    ended = harness(*arguments)
    assert ended.returncode == 2
    assert expected in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


def test_an_unknown_option_exits_with_2(tmp_path: Path) -> None:
    assert harness("run", "--fast").returncode == 2


def test_a_mistake_in_the_matrix_names_file_line_and_key(tmp_path: Path) -> None:
    matrix = tmp_path / "bench.yaml"
    matrix.write_text("timing:\n  rounds: 20\n  speed: 3\nproblems: {}\n")
    ended = harness("run", "--config", matrix)
    assert ended.returncode == 2
    assert f"{matrix}:3: timing.speed: unknown key" in ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_folder_that_holds_another_run_is_not_overwritten(tmp_path: Path) -> None:
    assert emulate(tmp_path / "run", "double/right").returncode == 0
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    other = emulate(tmp_path / "run", "double/not_a_number")
    assert other.returncode == 2
    assert "holds another run" in other.stdout
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


def test_a_damaged_journal_is_named_by_its_line_and_a_torn_last_line_is_forgiven(
    tmp_path: Path,
) -> None:
    assert emulate(tmp_path / "run", "double/right").returncode == 0
    journal = tmp_path / "run" / "journal.jsonl"
    whole = journal.read_text()
    journal.write_text(whole[:-20])
    assert harness("report", tmp_path / "run").returncode == 0
    journal.write_text(whole.replace("double/right", "double/wrong", 1))
    ended = harness("report", tmp_path / "run")
    assert ended.returncode == 2
    assert re.search(r"journal\.jsonl:\d+: this line is not what was written", ended.stdout)


def test_an_interrupted_run_exits_with_130_and_keeps_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "harness", "run", "--config", str(FAULTY), "--backend",
               "emulator", "--out", str(out)]  # fmt: skip
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    journal = out / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not (journal.exists() and "verified" in journal.read_text()):
        assert time.monotonic() < deadline, "nothing was verified"
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    said, _ = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert f"--out {out}" in said
    assert (out / "report.html").exists()


SLOW = """
import time
from harness.__main__ import main
from harness.commands.runs import whole
def endless(run):
    print("drawing", flush=True)
    time.sleep(600)
whole.report.write = endless
whole.DRAWING_S = 0.5
main()
"""


@pytest.mark.fault(
    "Ctrl-C in a run whose report takes long to draw",
    outcome="It ends within seconds all the same, and names the command that draws it.",
)
def test_an_interrupted_run_does_not_wait_for_its_report(tmp_path: Path) -> None:
    out = tmp_path / "run"
    running = subprocess.Popen(
        [sys.executable, "-c", SLOW, "run", "--config", str(FAULTY), "--backend", "emulator",
         "--out", str(out)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    journal = out / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not (journal.exists() and "verified" in journal.read_text()):
        assert time.monotonic() < deadline, "nothing was verified"
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert "drawing" in said
    assert said.splitlines()[-1] == f"not all pages are drawn: python -m harness report {out}"
    assert "Traceback" not in said


@pytest.mark.fault(
    "a terminal or a locale that has ASCII alone (LC_ALL=C PYTHONUTF8=0)",
    outcome="Files are UTF-8 all the same; what the terminal lacks stands there as its escape.",
)
def test_a_locale_without_utf_8_breaks_nothing() -> None:
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LC_", "PYTHON", "LANG"))}  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--only", "gr\u00f6\u00dfer"], cwd=ROOT,
        env={**environment, "LC_ALL": "C", "PYTHONUTF8": "0"}, capture_output=True, timeout=120,
    )  # fmt: skip
    said = (ended.stdout + ended.stderr).decode("ascii")
    assert ended.returncode == 2, said
    assert "Traceback" not in said
    assert r"gr\xf6\xdfer" in said


def test_list_shows_every_case_what_it_launches_or_why_not_and_how_many() -> None:
    ended = harness("list", "--config", FAULTY, "--backend", "emulator")
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    at = lines.index("double/right/float32/n=4096/block=64")
    assert lines[at + 1] == "    run: 64 × 64"
    assert "    skipped: the variant is limited to `block >= 128`" in lines
    assert any(line.startswith("    refused: run: block (2048, 1, 1) exceeds") for line in lines)
    assert lines[-1] == "32 cases of 16 variants"


def test_what_list_prints_is_what_only_takes(tmp_path: Path) -> None:
    shown = harness("list", "--config", FAULTY, "--backend", "emulator").stdout.splitlines()
    case = next(line for line in shown if line.startswith("double/right/") and "=128" in line)
    ended = emulate(tmp_path / "run", case)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert set(load(tmp_path / "run").outcomes) == {
        case, "double/right/float32/n=4096/block=64",  # the baseline, at the other launch shape
    }  # fmt: skip


def test_list_resolved_shows_each_value_with_the_line_that_it_comes_from() -> None:
    ended = harness("list", "--resolved", "--only", "reduce_sum/v7_fixed_blocks")
    assert ended.returncode == 0
    own = ROOT / "kernels" / "reduce_sum" / "bench.yaml"
    lines = own.read_text().splitlines()
    found = {}
    for line in ended.stdout.splitlines():
        match = re.fullmatch(r"  (\S+(?: \d)?|  \w+) +(.*?) +(bench\.yaml:(\d+)|default) *", line)
        if match:
            found.setdefault(match[1].strip(), (match[2], lines[int(match[4] or 1) - 1].strip()))
    assert found["let.blocks"] == ("few", "let: {blocks: few}")
    assert found["builds_on"] == ("v6_unroll_all", "builds_on: v6_unroll_all")
    assert found["let.few"][1].startswith("few: 6 * sm_count")
    assert found["grid"][1].startswith("block_sums: {grid: blocks")
    assert found["source"][0] == "v7_fixed_blocks.cu"


def test_list_resolved_fits_into_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Console(width=80, file=io.StringIO(), soft_wrap=True)
    monkeypatch.setattr(resolved, "console", narrow)
    resolved.show(model.load(ROOT / "bench.yaml"), [])
    text = narrow.file.getvalue()
    assert "v12_single_pass_last_block" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_folder_of_problems_may_lie_anywhere(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    folder = tmp_path / "own" / "twice"
    shutil.copytree(ROOT / "tests" / "faulty" / "kernels" / "double", folder)
    (folder / "bench.yaml").write_text(
        "dtypes: [float32]\nsizes: {test: {n: [8]}, bench: {n: [4096]}}\nbaseline: right\n"
        "variants:\n  right:\n    steps: [{kernel: run, grid: 64, block: 64, args: [x, y, n]}]\n"
    )
    ended = harness("run", "--backend", "emulator", "--kernels", "own", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert list(load(tmp_path / "reports" / "latest").outcomes) == ["twice/right/float32/n=4096"]


def test_a_fault_in_one_problem_is_said_once_and_the_others_run(tmp_path: Path) -> None:
    for name in ("sound", "faulty"):
        folder = tmp_path / "kernels" / name
        shutil.copytree(ROOT / "tests" / "faulty" / "kernels" / "double", folder)
        (folder / "bench.yaml").write_text(
            "dtypes: [float32]\nsizes: {test: {n: [8]}, bench: {n: [4096]}}\nbaseline: right\n"
            "launch: {block: [64, 128]}\ndefaults:\n  steps: {run: {grid: 'ceil_div(n, block)', "
            "block: block, args: [x, y, n]}}\nvariants: {right: , again: {source: right.cu}}\n"
        )
    problem = tmp_path / "kernels" / "faulty" / "problem.py"
    text = problem.read_text()
    assert text.count("nbytes = np.dtype") == 1
    problem.write_text(text.replace("nbytes = np.dtype", "nbytes = 1 // 0 * np.dtype"))
    ended = harness("run", "--backend", "emulator", cwd=tmp_path)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert ended.stdout.count("ZeroDivisionError") == 1
    assert "FAILED faulty/right/float32/n=4096/block=64 and 3 more" in ended.stdout
    assert "work(): ZeroDivisionError" in ended.stdout
    assert "for n = 4096, float32" in ended.stdout
    assert "4 ok, 4 failed" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_the_version_is_that_of_the_package() -> None:
    ended = harness("--version")
    assert (ended.returncode, ended.stdout) == (0, f"kernel-harness {__version__}\n")


def test_the_console_script_is_the_same_program() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.scripts]\nkernel-harness = "harness.__main__:main"\n' in text
    assert 'version = { attr = "harness.__version__" }' in text


def test_doctor_says_what_to_do_about_what_is_missing() -> None:
    ended = harness("doctor")
    assert ended.returncode == 0
    assert "nvcc" in ended.stdout
    assert "emulat" in ended.stdout or "cuda:" in ended.stdout


def test_a_runs_tables_can_be_printed_and_loaded_by_a_notebook(tmp_path: Path) -> None:
    assert emulate(tmp_path / "run", "double/right").returncode == 0
    command = [sys.executable, "-m", "harness.tables", str(tmp_path / "run")]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert printed.returncode == 0, printed.stderr
    assert "results: 2 rows" in printed.stdout
    assert "memory_l1_wavefronts_shared" in printed.stdout
    assert list(load(tmp_path / "run").results.status) == ["ok", "ok"]
    command[-1] = str(tmp_path / "nowhere")
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: ")


@pytest.mark.fault(
    "--out with an empty word, as of a variable that is not set",
    outcome="The command is refused, and nothing is written where one stands.",
)
def test_an_empty_out_is_refused(tmp_path: Path) -> None:
    ended = harness("run", "--backend", "emulator", "--out", "", cwd=tmp_path)
    assert ended.returncode == 2
    assert "it is empty" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def limited(out: Path, bytes_of_a_file: int) -> subprocess.CompletedProcess[str]:
    """A run in which no file may grow beyond this many bytes, as if the disk were full."""
    command = [sys.executable, "-m", "harness", "run", "--config", str(FAULTY), "--backend",
               "emulator", "--out", str(out), "--only", "double/right"]  # fmt: skip
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    journal, end = out / "journal.jsonl", time.monotonic() + 120
    while not (journal.exists() and "planned" in journal.read_text()):
        assert time.monotonic() < end, "nothing was written"
        time.sleep(0.005)
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (bytes_of_a_file, bytes_of_a_file))
    said, _ = running.communicate(timeout=120)
    return subprocess.CompletedProcess(command, running.returncode, said)


@pytest.mark.fault(
    "a disk that is full in the middle of a run",
    outcome="Exit code 2 and one sentence, no traceback; the same command goes on when there is "
    "room.",
)
def test_a_full_disk_is_one_sentence_and_the_run_is_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "run"
    ended = limited(out, 2000)
    assert ended.returncode == 2, ended.stdout
    assert "Traceback" not in ended.stdout
    assert "error: " in ended.stdout
    assert "File too large" in ended.stdout
    whole = (out / "journal.jsonl").read_bytes()
    again = emulate(out, "double/right")
    assert again.returncode == 0, again.stdout
    assert (out / "journal.jsonl").read_bytes().startswith(whole[: whole.rindex(b"\n") + 1])
    assert {o.status for o in load(out).outcomes.values()} == {"ok"}


@pytest.mark.fault(
    "a folder that may only be read",
    outcome="Exit code 2 and one sentence before anything runs.",
)
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = emulate(tmp_path / "file" / "run", "double/right")
    assert ended.returncode == 2
    assert f"--out {tmp_path / 'file' / 'run'}: Not a directory" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
