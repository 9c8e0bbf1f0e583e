"""nvdisasm's listing of several cubins in one call equals the listings of each alone."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.emulator.sass import keep_listings, read
from harness.emulator.sass.cubin import code_elf, disassembler

CompileCubin = Callable[..., Path]

SCALE = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.0f; }'
CALLS = """
__device__ __noinline__ float called(float a, float b) { return a / b; }
extern "C" __global__ void k(float* x, float y) { x[threadIdx.x] = called(x[threadIdx.x], y); }
extern "C" __global__ void other(float* x) { x[0] = sqrtf(called(x[1], x[2])); }
"""
JUMPS = """
extern "C" __global__ void k(int* x, int n) {
    switch (n) {
        case 0: x[0] = x[1] * 3; break;
        case 1: x[1] = x[2] / 7; break;
        case 2: x[2] = x[3] + __float2int_rn(sinf(x[4])); break;
        case 3: x[3] = x[5] % 11; break;
        case 4: x[4] = __popc(x[6]); break;
        default: x[5] = 1;
    }
}
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the disassembler, with the files of each."""
    asked: list[str] = []
    printed = disassembler.printed

    def noted(tool: disassembler.Disassembler, content: bytes, name: str) -> str:
        asked.append(name)
        return printed(tool, content, name)

    monkeypatch.setattr(disassembler, "printed", noted)
    return asked


def _files(cubins: list[Path], folder: Path) -> dict[Path, Path]:
    return {cubin: folder / f"{number}.gz" for number, cubin in enumerate(cubins)}


def test_cubins_that_are_listed_together_read_as_each_reads_alone(
    compile_cubin: CompileCubin, tmp_path: Path, calls: list[str]
) -> None:
    of_90 = [compile_cubin(source) for source in (SCALE, CALLS, JUMPS)]
    files = _files([*of_90, compile_cubin(CALLS, "sm_80")], tmp_path)
    keep_listings(files)
    assert len(calls) == 2  # one for each architecture
    together = [read(cubin, kept) for cubin, kept in files.items()]
    assert len(calls) == 2
    assert together == [read(cubin) for cubin in files]
    assert "CALL.REL.NOINC $k$_Z6calledff" in {
        i.text for i in together[1].functions["k"].instructions
    }


def test_the_disassembler_agrees_of_a_whole_cubin_and_of_its_code_alone(
    compile_cubin: CompileCubin,
) -> None:
    tool = disassembler.find()
    for source in (SCALE, CALLS, JUMPS):
        content = compile_cubin(source).read_bytes()
        whole = disassembler.parsed(disassembler.printed(tool, content, "whole"), tool)
        printed = disassembler.printed(tool, code_elf.together([content]), "code")
        [alone] = code_elf.apart(printed, 1)
        assert disassembler.parsed(alone, tool) == whole


def test_a_listing_that_is_kept_is_not_made_again(
    compile_cubin: CompileCubin, tmp_path: Path, calls: list[str]
) -> None:
    files = _files([compile_cubin(SCALE), compile_cubin(CALLS)], tmp_path)
    keep_listings(dict(list(files.items())[:1]))
    keep_listings(files)
    keep_listings(files)
    assert len(calls) == 2
    for kept in files.values():
        assert kept.stat().st_size > 100


def test_a_damaged_cubin_costs_the_others_no_more_than_time(
    compile_cubin: CompileCubin, tmp_path: Path
) -> None:
    good, damaged = compile_cubin(SCALE), tmp_path / "damaged.cubin"
    content = bytearray(good.read_bytes())
    content[-200:] = bytes(200)
    damaged.write_bytes(content)
    files = _files([damaged, good, tmp_path / "missing.cubin"], tmp_path)
    keep_listings(files)
    assert read(good, files[good]) == read(good)


def test_code_is_put_together_byte_by_byte(compile_cubin: CompileCubin) -> None:
    contents = [compile_cubin(source).read_bytes() for source in (SCALE, CALLS)]

    def code(content: bytes) -> list[bytes]:
        sections = ELFFile(io.BytesIO(content)).iter_sections()
        return [s.data() for s in sections if s.name.startswith(".text.")]

    assert code(code_elf.together(contents)) == [*code(contents[0]), *code(contents[1])]
