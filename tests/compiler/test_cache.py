"""One cache used by several runs that build the same units at the same time."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.compiler import cache
from harness.errors import CompileError, CompilerStopped

ROOT = Path(__file__).parents[2]

ENTRIES = 100


def make(work: Path) -> cache.About:
    (work / "kernel.cubin").write_text("machine code" * 10_000)
    return {"headers": []}


def build_all(folder: Path) -> int:
    """Build or fetch every entry in one process; return how many exist afterwards."""
    cache.CACHE = folder
    return sum((cache.entry_of(f"{i:032d}", make)[0] / "kernel.cubin").exists()
               for i in range(ENTRIES))  # fmt: skip


def test_processes_that_build_the_same_at_once_all_get_it(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(build_all, [tmp_path] * 3, chunksize=1) == [ENTRIES] * 3


SAYS_NOTHING = {
    "silent": "exit 1",
    "ended by a signal": "kill -9 $$",
    "a pass of it ended by a signal": "exit 139",
    "no room": "echo 'fatal error: when writing output to x: No space left on device' >&2; exit 1",
}


@pytest.mark.fault(
    "a compiler that fails without a word, by a signal, or for lack of room",
    outcome="No source is blamed: the case fails for now, and the same command tries again.",
)
@pytest.mark.parametrize("body", SAYS_NOTHING.values(), ids=SAYS_NOTHING)
def test_a_compiler_that_was_stopped_condemns_no_source(tmp_path: Path, body: str) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{body}\n")
    nvcc.chmod(0o755)
    with pytest.raises(CompilerStopped, match="the source is not to blame"):
        cache.run(Path("v0.cu"), [str(nvcc)])


@pytest.mark.parametrize(
    "body",
    [
        "echo 'v0.cu(1): error: expected a declaration' >&2; exit 1",
        # what nvcc prints about inline assembly that ptxas rejects
        "echo 'ptxas fatal   : Ptx assembly aborted due to errors' >&2; exit 255",
    ],
)
def test_a_compiler_that_says_what_is_wrong_rejects_the_source(tmp_path: Path, body: str) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{body}\n")
    nvcc.chmod(0o755)
    with pytest.raises(CompileError, match=r"nvcc rejects v0\.cu") as caught:
        cache.run(Path("v0.cu"), [str(nvcc)])
    assert not isinstance(caught.value, CompilerStopped)


FILLS = """
import os, sys, tempfile
from pathlib import Path
from harness.compiler import cache, toolchain
from harness.errors import CompilerStopped
nvcc = toolchain.find().nvcc
with open(os.path.join(tempfile.gettempdir(), "full"), "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
try:
    cache.run(Path(sys.argv[1]), [nvcc, "-ptx", "-o", sys.argv[2], sys.argv[1]])
except CompilerStopped as error:
    print("stopped:", error)
"""


@pytest.mark.fault(
    "a TMPDIR that is full, while nvcc compiles",
    outcome="No source is blamed; the message says what is full, and another try compiles it.",
)
def test_a_full_disk_of_temporary_files_condemns_no_source(tmp_path: Path) -> None:
    full, source = tmp_path / "full", tmp_path / "v0.cu"
    full.mkdir()
    source.write_text('extern "C" __global__ void f(float* x) { x[0] = 1; }\n')
    mount = f"mount -t tmpfs -o size=64k tmpfs {shlex.quote(str(full))}"
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*apart, "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here, even in a namespace of its own")
    command = [sys.executable, "-c", FILLS, str(source), str(tmp_path / "v0.ptx")]
    ended = subprocess.run(
        [*apart, "sh", "-c", f"{mount} && TMPDIR={shlex.quote(str(full))} {shlex.join(command)}"],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "stopped: nvcc was stopped at" in ended.stdout, ended.stdout + ended.stderr
    assert f"TMPDIR ({full})" in ended.stdout


def test_an_entry_whose_file_was_changed_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE", tmp_path)
    entry, _, _ = cache.entry_of("0" * 32, make)
    assert cache.entry_of("0" * 32, make)[2]
    (entry / "kernel.cubin").write_text("cut")
    again, _, was_there = cache.entry_of("0" * 32, make)
    assert not was_there
    assert (again / "kernel.cubin").read_text() != "cut"


def test_of_a_rule_the_files_below_the_given_folders_are_kept_however_they_are_named(
    tmp_path: Path,
) -> None:
    ours, work, elsewhere = (tmp_path / name for name in ("ours", "ours/work", "elsewhere"))
    for folder in (ours / "a b", work, elsewhere):
        folder.mkdir(parents=True)
    for path in (ours / "k.cu", ours / "a b" / "z.cuh", work / "unit.cu", elsewhere / "x.cuh"):
        path.write_text("")
    (elsewhere / "linked.cuh").symlink_to(ours / "k.cu")
    (ours / "out.cuh").symlink_to(elsewhere / "x.cuh")
    (tmp_path / "link").symlink_to(ours)
    wanted = [
        ours / "k.cu", ours / "a b" / "z.cuh", tmp_path / "link" / "k.cu",
        elsewhere / "linked.cuh", work / ".." / "k.cu",
    ]  # fmt: skip
    others = [work / "unit.cu", elsewhere / "x.cuh", ours / "out.cuh", Path("/usr/include/math.h")]
    rule = work / "depends"
    names = " \\\n ".join(str(path).replace(" ", "\\ ") for path in [*wanted, *others])
    rule.write_text(f"kernel: {names}\n")
    assert cache.dependencies(rule, [tmp_path / "link"]) == wanted
