"""A cached result equals that of nvcc or nvdisasm, and is dropped once an input has changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tool_cache

NVCC = """\
#!/bin/sh
# Puts a source and a header together, and says where it did so.
echo "$@" >> {calls}
for each; do
    case $before in -o) out=$each;; esac
    case $each in
        --version) echo "V13.0.1"; exit;;
        -MD,*) depends=${{each##*-MF,}};;
        -I*) folder=${{each#-I}};;
        *.cu) source=$each;;
    esac
    before=$each
done
grep -q mistake $source && {{ echo "$source: a mistake" >&2; exit 2; }}
header=${{source%/*}}/its.cuh
[ -e "$header" ] || header=$folder/its.cuh
cat $source "$header" > $out
echo "// from $source" >> $out
echo "k: $source $(echo "$header" | sed 's/ /\\\\ /g')" > $depends
echo "$source: a warning" >&2
"""
NVDISASM = """\
#!/bin/sh
echo "$@" >> {calls}
for each; do [ $each = --version ] && echo V13.5.1 && exit; done
cat $each
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A function that returns how often the tools were actually called; a cache is already in front
    of them."""
    file = tmp_path / "calls"
    for name, text in (("nvcc", NVCC), ("nvdisasm", NVDISASM)):
        (tmp_path / name).write_text(text.format(calls=file))
        (tmp_path / name).chmod(0o755)
        monkeypatch.setenv(name.upper(), str(tmp_path / name))
    tool_cache.install(str(tmp_path / "programs"), str(tmp_path / "kept"))
    file.write_text("")
    return lambda: len(file.read_text().splitlines())


def compiled(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    out = folder / "work" / "kernel.ptx"
    out.parent.mkdir(exist_ok=True)
    out.unlink(missing_ok=True)
    return subprocess.run(
        [os.environ["NVCC"], "-ptx", f"-I{folder}/more headers", "-Xcompiler",
         f"-MD,-MF,{folder}/work/depends", *more, "-o", str(out), f"{folder}/k.cu"],
        capture_output=True, text=True,
    )  # fmt: skip


def written(folder: Path, source: str = "a kernel", header: str = "a header") -> Path:
    (folder / "more headers").mkdir(parents=True, exist_ok=True)
    (folder / "k.cu").write_text(f"{source}\n")
    (folder / "more headers" / "its.cuh").write_text(f"{header}\n")
    return folder


def test_equal_input_in_another_folder_is_compiled_once_and_says_where_it_is(
    tmp_path: Path, calls: Callable[[], int]
) -> None:
    for name in ("one", "another"):
        folder = written(tmp_path / name)
        done = compiled(folder)
        assert done.returncode == 0
        assert done.stderr == f"{folder}/k.cu: a warning\n"
        made = (folder / "work" / "kernel.ptx").read_text()
        assert made == f"a kernel\na header\n// from {folder}/k.cu\n"
        listed = (folder / "work" / "depends").read_text()
        assert listed == f"k: {folder}/k.cu {folder}/more\\ headers/its.cuh\n"
    assert calls() == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: written(folder, source="another kernel"),
        lambda folder: written(folder, header="another header"),
        lambda folder: (folder / "its.cuh").write_text("a header that hides it\n"),
    ],
    ids=["the source", "the header", "a header that hides another"],
)
def test_what_has_changed_is_compiled_anew(
    tmp_path: Path, calls: Callable[[], int], change: Callable[[Path], object]
) -> None:
    folder = written(tmp_path / "one")
    compiled(folder)
    before = (folder / "work" / "kernel.ptx").read_text()
    change(folder)
    compiled(folder)
    assert (folder / "work" / "kernel.ptx").read_text() != before
    assert calls() == 2


@pytest.mark.parametrize("variable", ["PATH", "TMPDIR", "NVCC_APPEND_FLAGS"])
def test_other_options_and_another_environment_are_compiled_anew(
    tmp_path: Path, calls: Callable[[], int], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    folder = written(tmp_path / "one")
    compiled(folder)
    compiled(folder, "-O3")
    monkeypatch.setenv(variable, f"{os.environ.get(variable, '')}:/bin")
    compiled(folder)
    assert calls() == 3


def test_a_failure_is_not_kept(tmp_path: Path, calls: Callable[[], int]) -> None:
    folder = written(tmp_path / "one", source="a mistake")
    for _ in range(2):
        done = compiled(folder)
        assert (done.returncode, done.stderr) == (2, f"{folder}/k.cu: a mistake\n")
    assert calls() == 2


def test_machine_code_is_listed_once_wherever_it_lies(
    tmp_path: Path, calls: Callable[[], int]
) -> None:
    for name in ("one", "another"):
        (tmp_path / name).write_text("machine code")
        command = [os.environ["NVDISASM"], "-json", str(tmp_path / name)]
        assert subprocess.run(command, capture_output=True).stdout == b"machine code"
    assert calls() == 1
    (tmp_path / "one").write_text("other machine code")
    assert subprocess.run([*command[:2], str(tmp_path / "one")], capture_output=True).stdout
    assert calls() == 2


def test_ptx_is_equal_to_the_byte_to_what_nvcc_writes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = os.environ["NVCC"]
    text = '#include "its.cuh"\n__device__ static int seen;\n' \
           'extern "C" __global__ void k(int* x) { seen = *x; *x = twice(*x); }\n'  # fmt: skip
    header = "__device__ inline int twice(int x) { return 2 * x; }"
    made = []
    for name, nvcc in (
        ("one", shared),
        ("another", shared),
        ("another", tool_cache.behind(shared)),
    ):
        monkeypatch.setenv("NVCC", nvcc)
        folder = written(tmp_path / name, text, header)
        assert compiled(folder, "-lineinfo", "-arch=sm_90").returncode == 0
        made.append([(folder / "work" / each).read_text() for each in ("kernel.ptx", "depends")])
    assert made[1] == made[2]
    assert str(tmp_path / "another") in made[1][0]
