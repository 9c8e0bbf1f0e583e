"""`compare`: from two folders to a verdict, files and an exit code."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typing_commands import harness

from harness.__main__ import main
from harness.report import site

ROOT = Path(__file__).parents[2]

KERNEL = "reduce_sum/v3_no_bank_conflict.cu"
SEQUENTIAL = """\
    for (unsigned int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) {
            s[tid] += s[tid + stride];
        }
"""
INTERLEAVED = """\
    // The first threads still do the work, on words that are 2, 4, 8 … words apart.
    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned int at = 2 * stride * tid;
        if (at < blockDim.x) {
            s[at] += s[at + stride];
        }
"""
CASE = "reduce_sum/v3_no_bank_conflict/float32/n=65536/block=256"


@dataclass(frozen=True)
class Ended:
    code: int
    said: str
    """The output on one line, because a terminal may have broken it anywhere."""


Typed = Callable[..., Ended]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Run `python -m harness …` in this process."""

    def carry_out(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = "".join(capsys.readouterr())
        assert "Traceback" not in printed
        return Ended(int(ended.value.code or 0), " ".join(printed.split()))

    return carry_out


def emulate(kernels: Path, out: Path, code: int = 0) -> Path:
    ended = harness("run", "--backend", "emulator", "--kernels", kernels, "--out", out, "--quiet",
                    "--only", "reduce_sum/v0_global_memory",
                    "--only", "reduce_sum/v3_no_bank_conflict")  # fmt: skip
    assert ended.returncode == code, ended.stdout + ended.stderr
    return out


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Three runs: two of the same kernels, and one in which a kernel has a bank conflict."""
    here = tmp_path_factory.mktemp("compared")
    kernels = here / "kernels"
    for name in ("common", "reduce_sum"):
        shutil.copytree(ROOT / "kernels" / name, kernels / name)
    matrix = kernels / "reduce_sum" / "bench.yaml"
    text = matrix.read_text()
    small = text.replace("emulate: {n: [2**16, 2**20]}", "emulate: {n: [2**16]}").replace(
        "launch: {block: [128, 256, 512]}", "launch: {block: [256]}"
    )
    assert small.count("[2**16]") == small.count("launch: {block: [256]}") == 1
    matrix.write_text(small)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(site, "write_pages", lambda run: run.folder)  # figures take seconds
        base, again = emulate(kernels, here / "base"), emulate(kernels, here / "again")
        source = kernels / KERNEL
        assert source.read_text().count(SEQUENTIAL) == 1
        source.write_text(source.read_text().replace(SEQUENTIAL, INTERLEAVED))
        new = emulate(kernels, here / "new", code=1)  # a budget catches it, too
    return base, again, new


def test_a_run_compared_with_itself_opens_the_gate(
    typed: Typed, folders: tuple[Path, Path, Path]
) -> None:
    base, again, _ = folders
    ended = typed("compare", base, again, "--gate")
    assert ended.code == 0
    assert "2 of identical machine code" in ended.said
    assert "Of 2 cases compared, none is worse or newly faulty" in ended.said


@pytest.mark.fault(
    "somebody brings back a bank conflict, on a machine without a GPU",
    outcome="`compare --gate` exits with 1 and names the counter, its figures and the .cu line",
)
def test_a_bank_conflict_closes_the_gate_and_its_line_is_named(
    typed: Typed, folders: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    base, _, new = folders
    source = (new.parent / "kernels" / KERNEL).read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(source) if "s[at] += s[at + stride];" in text)
    files = [tmp_path / name for name in ("c.json", "c.md", "c.xml")]
    ended = typed("compare", base, new, "--gate", "--json", files[0], "--markdown", files[1],
                    "--junit", files[2])  # fmt: skip
    assert ended.code == 1
    said = f"at {KERNEL}:{line}"
    assert (
        f"WORSE {CASE} shared-memory wavefronts over the ideal 1.00× → 3.33× {said}" in ended.said
    )
    assert (new / "comparison.html").stat().st_size < 200_000

    told = json.loads(files[0].read_text())
    [worse] = [c for c in told["cases"] if c["verdict"] == "worse"]
    assert (told["gate"], told["exit_code"], worse["case"]) == ("closed", 1, CASE)
    deciding = {c["counter"]: c for c in worse["counters"] if c["decides"]}
    assert set(deciding) == {"wavefronts-over-ideal", "instructions"}
    counter = deciding["wavefronts-over-ideal"]
    assert (counter["file"], counter["line"]) == (KERNEL, line)
    assert counter["base"] == 1
    assert counter["new"] == pytest.approx(3.33, abs=0.01)

    assert f"`{CASE}`" in files[1].read_text()
    suite = ElementTree.parse(files[2]).getroot()[0]
    [failed] = [case for case in suite if case.find("failure") is not None]
    assert failed.attrib["name"] == CASE
    assert said in failed[0].attrib["message"]


def test_without_gate_it_says_the_same_and_exits_with_0(
    typed: Typed, folders: tuple[Path, Path, Path]
) -> None:
    base, _, new = folders
    ended = typed("compare", base, new, "--quiet")
    assert ended.code == 0
    assert "Of 2 cases compared, 1 is worse" in ended.said


def test_runs_of_two_architectures_tell_nothing_and_exit_with_3(
    typed: Typed, folders: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    base, _, new = folders
    other = tmp_path / "other"
    shutil.copytree(new, other)
    info = json.loads((other / "run.json").read_text())
    info["device"]["name"] = "NVIDIA A100 (emulated)"
    (other / "run.json").write_text(json.dumps(info))
    ended = typed("compare", base, other, "--gate")
    assert ended.code == 3
    assert "the machines differ: device NVIDIA H200 (emulated) then" in ended.said


@pytest.mark.fault(
    "a disk that is full when `compare` writes --json, --markdown, --junit or --sarif",
    outcome="A sentence with the file's name; what was in the file before stays.",
)
@pytest.mark.parametrize("option", ["--json", "--markdown", "--junit", "--sarif"])
def test_a_full_disk_leaves_the_file_that_was_there(
    typed: Typed, folders: tuple[Path, Path, Path], tmp_path: Path, option: str
) -> None:
    base, _, new = folders
    file = tmp_path / "kept"
    file.write_text("as it was")
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, had[1]))
        ended = typed("compare", base, new, option, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)
    assert ended.code == 2
    assert f"{option} {file}: File too large" in ended.said
    assert file.read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir() if path.name != ".cache"] == ["kept"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{base}"], "has only one side; name the run to compare it with"),
        (["{base}", "nowhere"], "nowhere is neither a run's folder nor a baseline"),
        (["git:main"], "make compare BASE=git:main"),
        (["{base}", "{base}", "--json", "/nowhere/x.json"], "there is no folder /nowhere"),
        (["{base}", "{base}", "--out", "{base}"], "it is a folder; name a file"),
    ],
)
def test_a_command_that_cannot_be_carried_out_says_why_and_exits_with_2(
    typed: Typed, folders: tuple[Path, Path, Path], arguments: list[str], said: str
) -> None:
    ended = typed("compare", *(x.format(base=folders[0]) for x in arguments))
    assert ended.code == 2
    assert said in ended.said


FIRST = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    __shared__ DTYPE tile[32][32];
    DTYPE part[64], sum = 0;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    for (int k = 0; k < 64; ++k) part[k] = input[min(i + k, n - 1)];
    for (int k = 0; k < n && k < 99; ++k)
        sum += part[(k * n) & 63];
    tile[lane][threadIdx.x / 32] = sum;
    __syncwarp();
    const DTYPE seen = tile[lane][threadIdx.x / 32];
    if (i < n) output[i] = 2 * input[i] + 0 * seen;
}
"""


@pytest.mark.fault(
    "the first bank conflict and the first local memory of a kernel that had neither",
    outcome="`compare --gate` exits with 1 and names both with their .cu lines",
)
@pytest.mark.usefixtures("importable", "cache")
def test_the_first_of_their_kind_close_the_gate_with_their_lines(
    typed: Typed, folder: Path
) -> None:
    def emulated(out: str) -> Path:
        ended = typed("run", "--config", folder / "bench.yaml", "--backend", "emulator", "--quiet",
                      "--out", folder / out, "--launch", "block=128")  # fmt: skip
        assert ended.code == 0, ended.said
        return folder / out

    base = emulated("base")
    (folder / "kernels" / "double" / "v0.cu").write_text(FIRST)
    ended = typed("compare", base, emulated("new"), "--gate")
    assert ended.code == 1, ended.said
    assert "shared-memory wavefronts over the ideal none → 32.0× at double/v0.cu:8" in ended.said
    assert "local memory of twice 0" in ended.said
    assert "256 B at double/v0.cu:7" in ended.said
