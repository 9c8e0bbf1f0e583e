"""nvcc's results are cached by content, and its messages reach the user."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Case
from harness.compiler import cache as compile_cache
from harness.compiler import compile as compiler
from harness.compiler.compile import (
    Built,
    Resources,
    Unit,
    build,
    build_all,
    kernel_name,
    resources,
)
from harness.errors import CompileError

SOURCE = """\
#include "common/factor.cuh"
#include "near.cuh"
extern "C" __global__ void scale(float* data) {
    __shared__ float tile[64];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = FACTOR * NEAR * tile[63 - threadIdx.x];
}
__global__ void mangled(float* data) { data[0] = 1; }
template <int N> __global__ void many(float* data) { data[0] = N; }
template __global__ void many<1>(float*);
template __global__ void many<2>(float*);
"""


@pytest.fixture
def unit(tmp_path: Path, cache: Path) -> Unit:
    """A source that includes two headers, in a folder whose name has a space."""
    kernels = tmp_path / "all kernels"
    (kernels / "common").mkdir(parents=True)
    (kernels / "scale").mkdir()
    (kernels / "common" / "factor.cuh").write_text("#define FACTOR 3\n")
    (kernels / "scale" / "near.cuh").write_text("#define NEAR 5\n")
    source = kernels / "scale" / "v0.cu"
    source.write_text(SOURCE)
    return Unit(source, (kernels, kernels / "scale"), (("DTYPE", "float"),), "sm_90")


def test_a_unit_becomes_ptx_and_cubin_with_each_kernels_resources(unit: Unit) -> None:
    built = build(unit)
    assert not built.was_cached
    assert ".entry scale(" in built.ptx.read_text()
    assert ".loc" in built.ptx.read_text()  # line numbers for faults and profiles
    assert built.cubin.read_bytes()[:4] == b"\x7fELF"
    assert built.kernels["scale"].shared_bytes == 256
    assert built.kernels["scale"].registers > 0
    assert built.kernels["scale"].spill_bytes == 0
    assert set(built.kernels) == {
        "scale", "_Z7mangledPf", "_Z4manyILi1EEvPf", "_Z4manyILi2EEvPf",
    }  # fmt: skip

    # A second build compiles nothing and gives the same result.
    again = build(unit)
    assert again.was_cached
    assert replace(again, was_cached=False) == built

    assert kernel_name("scale", built, "v0.cu") == "scale"
    assert kernel_name("mangled", built, "v0.cu") == "_Z7mangledPf"
    with pytest.raises(CompileError) as caught:
        kernel_name("many", built, "v0.cu")
    assert "v0.cu has 2 kernels named `many`" in str(caught.value)
    assert "_Z4manyILi1EEvPf" in str(caught.value)


@pytest.mark.parametrize("name", ["kernel.ptx", "kernel.cubin", "about.json"])
@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_a_damaged_cache_entry_is_built_again(unit: Unit, name: str, damage: bytes | None) -> None:
    built = build(unit)
    damaged = built.ptx.parent / name
    whole = damaged.read_bytes()
    if damage is None:
        damaged.unlink()
    else:
        damaged.write_bytes(damage)
    mended = build(unit)
    assert not mended.was_cached
    assert mended.kernels == built.kernels
    assert damaged.read_bytes() == whole
    assert build(unit).was_cached


@pytest.mark.parametrize("header", ["common/factor.cuh", "scale/near.cuh"])
def test_editing_an_included_header_compiles_again(unit: Unit, header: str) -> None:
    before = build(unit)
    path = unit.include[0] / header
    path.write_text(path.read_text().replace("3", "7").replace("5", "11"))
    after = build(unit)
    assert not after.was_cached
    assert after.cubin_sha256 != before.cubin_sha256
    assert build(unit).was_cached


def test_editing_a_header_that_only_the_device_includes_compiles_again(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_cache, "CACHE", tmp_path / "a folder, with a comma")
    guarded = '#ifdef __CUDA_ARCH__\n#include "near.cuh"\n#else\n#define NEAR 0\n#endif'
    unit.source.write_text(SOURCE.replace('#include "near.cuh"', guarded))
    before = build(unit)
    near = unit.include[1] / "near.cuh"
    near.write_text(near.read_text().replace("5", "11"))
    assert build(unit).cubin_sha256 != before.cubin_sha256


def test_a_new_header_compiles_again_what_asks_if_it_exists(unit: Unit) -> None:
    asks = '#if __has_include("new.cuh")\n#include "new.cuh"\n#endif\n'
    unit.source.write_text(asks + SOURCE)
    before = build(unit)
    assert build(unit).was_cached
    (unit.include[1] / "new.cuh").write_text("__global__ void another() {}\n")
    after = build(unit)
    assert not after.was_cached
    assert len(after.kernels) == len(before.kernels) + 1


def test_nvccs_options_in_the_environment_are_part_of_the_key(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(unit)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DUNUSED")
    assert not build(unit).was_cached


def test_another_define_architecture_or_source_is_an_entry_of_its_own(unit: Unit) -> None:
    first = build(unit)
    defined = build(replace(unit, defines=(("DTYPE", "float"), ("UNUSED", "1"))))
    other = build(replace(unit, arch="sm_80"))
    assert not defined.was_cached
    assert not other.was_cached
    assert ".target sm_80" in other.ptx.read_text()
    assert len({first.ptx, defined.ptx, other.ptx}) == 3
    text = unit.source.read_text()
    unit.source.write_text(text.replace("FACTOR *", "FACTOR +"))
    assert not build(unit).was_cached
    unit.source.write_text(text)
    assert build(unit).was_cached  # the first entry is still there


def test_a_syntax_error_carries_nvccs_message_with_file_and_line(unit: Unit, cache: Path) -> None:
    unit.source.write_text('extern "C" __global__ void f(float* p) {\n    p[0] = 1\n}\n')
    with pytest.raises(CompileError) as caught:
        build(unit)
    message = str(caught.value)
    assert message.startswith(f"nvcc rejects {unit.source}:\n")
    assert "v0.cu(3): error: expected a" in message
    assert list(cache.iterdir()) == []  # no partial result remains


def test_a_source_that_is_gone_is_named(unit: Unit) -> None:
    unit.source.unlink()
    with pytest.raises(CompileError, match=r"v0\.cu: No such file"):
        build(unit)


def test_one_failure_costs_no_other_unit_and_equal_units_are_built_once(
    unit: Unit, tmp_path: Path
) -> None:
    bad = replace(unit, source=tmp_path / "bad.cu")
    bad.source.write_text("#error this text\n")
    seen: list[Unit] = []
    results = build_all([unit, bad, unit, replace(unit)], seen.append)
    assert set(results) == {unit, bad}
    assert isinstance(results[unit], Built)
    assert isinstance(results[bad], CompileError)
    assert "this text" in str(results[bad])
    assert sorted(seen, key=str) == sorted([unit, bad], key=str)


def test_no_more_compilers_run_at_once_than_have_room_in_memory(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler.os, "cpu_count", lambda: 16)
    monkeypatch.setattr(compiler.host_memory, "available", lambda: 2 * compiler.COMPILING + 1)
    running, most, lock = 0, 0, threading.Lock()

    def make(one: Unit, compiler: object) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1
        return 1

    units = [replace(unit, defines=(("N", str(n)),)) for n in range(8)]
    assert list(compiler.in_parallel(units, make).values()) == [1] * 8
    assert most == 2


def test_a_compiler_that_cannot_be_started_is_an_error_of_its_own(unit: Unit) -> None:
    nowhere = compiler.Toolchain("/nowhere/nvcc", "0.0.0", "NVCC")
    with pytest.raises(CompileError, match="/nowhere/nvcc does not run"):
        build(unit, nowhere)


def fake_nvcc(path: Path) -> Path:
    """Write a program that records its arguments, and writes files that resemble nvcc's results."""
    path.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {path}.calls\n'
        'while [ $# -gt 0 ]; do case "$1" in -o) out=$2;; -MD*) dep=${1#*-MF,};; esac\n'
        "shift; done\n"
        'echo made > "$out"; [ -z "$dep" ] || eval "echo kernel: k.cu > $dep"\n'
    )
    path.chmod(0o755)
    return path


def test_another_compiler_version_is_another_entry(unit: Unit, tmp_path: Path) -> None:
    nvcc = str(fake_nvcc(tmp_path / "nvcc"))
    first = build(unit, compiler.Toolchain(nvcc, "13.0.1", "NVCC"))
    assert build(unit, compiler.Toolchain(nvcc, "13.0.1", "NVCC")).was_cached
    second = build(unit, compiler.Toolchain(nvcc, "13.0.2", "NVCC"))
    assert not second.was_cached
    assert first.ptx.parent != second.ptx.parent
    calls = Path(f"{nvcc}.calls").read_text()
    assert calls.count("-DDTYPE=float") == 2
    assert calls.count("-lineinfo") == 4
    assert os.listdir(first.ptx.parent.parent)


def test_a_cases_unit_has_its_type_and_defines(double: Callable[..., Case]) -> None:
    case = replace(double(), defines={"BLOCK": 64, "A": 1})
    found = compiler.unit(case, Path("kernels"), "sm_90")
    assert found.source == Path("kernels/double/v0.cu")
    assert found.include == (Path("kernels"), Path("kernels/double"))
    assert found.defines == (("A", "1"), ("BLOCK", "64"), ("DTYPE", "float"))


PTXAS = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    48 bytes stack frame, 44 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 48 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 5.1 ms
ptxas info    : Compiling entry function '_Z6secondPf' for 'sm_90'
ptxas info    : Function properties for _Z6secondPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
"""


def test_registers_shared_memory_and_spills_are_read_from_ptxas() -> None:
    assert resources(PTXAS) == {
        "first": Resources(registers=32, shared_bytes=4096, spill_bytes=44, stack_bytes=48),
        "_Z6secondPf": Resources(registers=8, shared_bytes=0, spill_bytes=0, stack_bytes=0),
    }


def test_text_without_kernels_has_no_resources() -> None:
    assert resources("") == {}


def of(*names: str) -> Built:
    return Built(Path(), Path(), "", "", {name: Resources(1, 0, 0, 0) for name in names})


def test_a_mangled_name_is_matched_by_its_length() -> None:
    built = of("_Z4sumsPf", "_Z3sumPf", "_Z5sum_xPf")
    assert kernel_name("sum", built, "v.cu") == "_Z3sumPf"


def test_a_plain_name_goes_before_a_mangled_one() -> None:
    assert kernel_name("sum", of("_Z3sumPf", "sum"), "v.cu") == "sum"


def test_a_symbol_may_be_written_itself() -> None:
    assert kernel_name("_Z4manyILi2EEvPf", of("_Z4manyILi1EEvPf", "_Z4manyILi2EEvPf"), "v") == (
        "_Z4manyILi2EEvPf"
    )


def test_a_kernel_that_is_misspelt_is_answered_with_the_nearest_by_its_plain_name() -> None:
    with pytest.raises(CompileError, match=r"it has tile_sums, b; did you mean tile_sums\?"):
        kernel_name("tile_sum", of("_Z9tile_sumsPf", "b"), "v.cu")


def test_a_kernel_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(
        CompileError, match=r"v\.cu has no kernel `sum`; it has a, b\n.*such as sum<256>"
    ):
        kernel_name("sum", of("a", "_Z1bPf"), "v.cu")
    with pytest.raises(CompileError, match="it has none"):
        kernel_name("sum", of(), "v.cu")


def test_the_cache_is_told_apart_by_what_about_json_says(unit: Unit) -> None:
    built = build(unit)
    about = built.ptx.parent / "about.json"
    content = json.loads(about.read_text())
    assert set(content["headers"]) == {
        str(unit.include[0] / "common" / "factor.cuh"), str(unit.include[1] / "near.cuh"),
        str(unit.source),
    }  # fmt: skip


def test_machine_code_is_told_apart_without_names_and_line_numbers(tmp_path: Path) -> None:
    body = "__global__ void {}(float* y) {{ y[threadIdx.x] {} 2.0f; }}\n"
    texts = {
        "a.cu": 'extern "C" ' + body.format("run", "*="),
        "b.cu": '// the same on another line\nextern "C" ' + body.format("run", "*="),
        "c.cu": 'extern "C" ' + body.format("run", "+="),
    }
    hashes = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        built = compiler.build(Unit(tmp_path / name, (tmp_path,), (), "sm_90"))
        hashes.append(built.kernels["run"].sass_sha256)
    assert len(hashes[0]) == 64
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_device_variables_are_told_with_what_was_built(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "kept.cu"
    source.write_text(
        "__device__ int tickets;\n"
        "static __device__ float known[4] = {1, 2, 3, 4};\n"
        "__constant__ float fixed[2] = {1, 2};\n"
        'extern "C" __global__ void count(int* x) {\n'
        "    known[threadIdx.x % 4] += fixed[0];\n"
        "    *x = atomicAdd(&tickets, 1) + known[0];\n"
        "}\n"
    )
    for _ in range(2):  # freshly compiled, and from the cache
        built = build(Unit(source, (), (), "sm_90"))
        assert any("tickets" in name for name in built.variables)
        assert any("known" in name for name in built.variables)
        assert not any("fixed" in name for name in built.variables)
