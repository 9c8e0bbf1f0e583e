"""A cubin is read correctly, or rejected with a clear message."""

from __future__ import annotations

import io
import os
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from sass.conftest import CompileCubin, ReadSource

from harness.emulator.sass import CubinError, DisassemblerError, launch_machine_code, read, variable
from harness.emulator.sass.code import ZERO
from harness.emulator.sass.cubin import disassembler, operands
from harness.emulator.sass.cubin.read import read_bytes

SCALE = """
__constant__ float factors[4];
extern "C" __global__ void __launch_bounds__(96)
scale(float* x, double d, unsigned short s, int n) {
    __shared__ float tile[64];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x % 64] = x[i];
    __syncthreads();
    if (i < n) x[i] = tile[(threadIdx.x + s) % 64] * factors[n % 4] + d;
}
"""


def test_a_function_has_its_parameters_resources_and_lines(read_source: ReadSource) -> None:
    code = read_source(SCALE)
    function = code.functions["scale"]
    assert code.arch == "sm_90"
    assert [(p.offset, p.size) for p in function.parameters] == [(0, 8), (8, 8), (16, 2), (20, 4)]
    assert function.parameter_base == 0x210
    assert function.shared_bytes == 64 * 4
    assert function.shared_start == 1024
    assert function.max_threads == (96, 1, 1)
    assert 8 <= function.registers <= 64
    assert len(code.banks[3]) >= 16
    stores = [i for i in function.instructions if i.opcode == "STG"]
    assert [i.location.line for i in stores if i.location] == [9]
    assert [i.address for i in function.instructions] == [
        16 * n for n in range(len(function.instructions))
    ]


MANY_PARAMETERS = """
struct Large { int of[6000]; };
extern "C" __global__ void summed(const Large large, int* out) {
    int sum = 0;
    for (int i = 0; i < 6000; ++i) sum += large.of[i];
    *out = sum;
}"""


def test_parameters_of_more_than_four_kilobytes_are_read(read_source: ReadSource) -> None:
    code = read_source(MANY_PARAMETERS)
    function = code.functions["summed"]
    assert [(p.offset, p.size) for p in function.parameters] == [(0, 24000), (24000, 8)]
    out = np.zeros(1, np.int32)
    large = np.arange(6000, dtype=np.int32).tobytes()
    assert not launch_machine_code(code, "summed", 1, 1, [large, out]).faults
    assert out[0] == 6000 * 5999 // 2


NO_PARAMETERS = """
__device__ int found[2];
extern "C" __global__ void measured() {
    int own[64];
    for (int i = 0; i < 64; ++i) own[i * 37 % 64] = i;
    found[0] = gridDim.z;
    found[1] = own[threadIdx.x] + own[blockDim.x];
}"""


@pytest.mark.parametrize(("arch", "base"), [("sm_75", 0x160), ("sm_90", 0x210), ("sm_100", 0x380)])
def test_a_kernel_without_parameters_has_its_extents_and_its_stack(
    read_source: ReadSource, arch: str, base: int
) -> None:
    code = read_source(NO_PARAMETERS, arch)
    assert code.functions["measured"].parameter_base == base
    assert not launch_machine_code(code, "measured", (1, 1, 3), 1, []).faults
    assert variable(code, "found", np.int32).tolist() == [3, 45]


INLINED = """
__device__ float one(const float* x, int i) {
    return x[i] + 1.0f;
}
__device__ float two(const float* x, int i) {
    const float twice = one(x, 2 * i);
    return twice * one(x, 3 * i);
}
extern "C" __global__ void first(const float* x, float* out) {
    out[threadIdx.x] = one(x, threadIdx.x);
}
extern "C" __global__ void second(const float* x, float* out) {
    out[threadIdx.x] = two(x, threadIdx.x);
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_each_instruction_of_an_inlined_function_has_the_calls_that_it_came_by(
    read_source: ReadSource, arch: str
) -> None:
    def calls(kernel: str, line: int) -> set[tuple[int, ...]]:
        """The line of an instruction and its callers' lines, innermost first."""
        found = set()
        for each in read_source(INLINED, arch).functions[kernel].instructions:
            place, lines = each.location, []
            while place is not None:
                lines.append(place.line)
                place = place.inlined_at
            found.add(tuple(lines))
        return {lines for lines in found if lines[0] == line}

    assert calls("first", 3) == {(3, 10)}
    assert calls("second", 3) == {(3, 6, 13), (3, 7, 13)}
    assert calls("second", 13) == {(13,)}


def test_without_lines_a_cubin_is_read_all_the_same(compile_cubin: CompileCubin) -> None:
    content = compile_cubin(SCALE).read_bytes().replace(b".debug_line", b".debug_nine")
    instructions = read_bytes(content).functions["scale"].instructions
    assert instructions
    assert not any(each.location for each in instructions)


def test_older_architectures_have_their_parameters_and_shared_memory_elsewhere(
    read_source: ReadSource,
) -> None:
    function = read_source(SCALE, "sm_86").functions["scale"]
    assert (function.parameter_base, function.shared_bytes) == (0x160, 256)
    assert function.shared_start == 0


def test_operands_are_read_with_the_oddities_of_the_disassembler() -> None:
    parsed = operands.parse("-|R3|.reuse,+INF ,c[0x0][0x210],desc[UR6][R2.64+-0xc],!PT,~URZ", 7)
    register, infinity, constant, memory, true, zero = parsed
    assert (register.number, register.negated, register.absolute) == (3, True, True)
    assert (infinity.kind, infinity.bits) == ("immediate", 7)
    assert (constant.number, constant.offset) == (0, 0x210)
    assert memory.base is not None
    assert (memory.base.number, memory.base.suffixes, memory.offset) == (2, ("64",), -12)
    assert (true.kind, true.number, true.negated) == ("predicate", ZERO, True)
    assert (zero.kind, zero.number, zero.inverted) == ("uniform", ZERO, True)


def test_a_matrix_descriptor_is_its_first_register_and_what_is_done_to_the_factors() -> None:
    found, behind = operands.parse("gdesc[UR8].negA.tnspB,gsb0", 0)
    assert (found.kind, found.suffixes) == ("descriptor", ("negA", "tnspB"))
    assert found.uniform is not None
    assert (found.uniform.kind, found.uniform.number) == ("uniform", 8)
    assert behind.kind == "name"


def test_two_addresses_may_stand_without_a_comma() -> None:
    to, from_, predicate = operands.parse("[R111][R8.64],P2", 0)
    assert (to.text, from_.text, predicate.kind) == ("[R111]", "[R8.64]", "predicate")
    (constant,) = operands.parse("c[0x0][0x210]", 0)
    assert constant.kind == "constant"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("R11[R10]", ["R11", "[R10]"]),
        ("RZ[R12+URZ]", ["RZ", "[R12+URZ]"]),
        ("P0,R5[R2.64],R7", ["P0", "R5", "[R2.64]", "R7"]),
        ("R5,desc[UR4][R2.64]", ["R5", "desc[UR4][R2.64]"]),
        ("R5,c[0x0][0x210]", ["R5", "c[0x0][0x210]"]),
    ],
)
def test_an_address_may_follow_a_register_without_a_comma(text: str, parts: list[str]) -> None:
    """The texts are those that CUDA 13.0's nvdisasm writes for loads from and atomics on shared
    memory."""
    assert [found.text for found in operands.parse(text, 0)] == parts


@pytest.mark.parametrize("text", ["R1 R2", "[R1+R2+R3]", "c[0x0]", "|R3", ""])
def test_an_operand_of_no_known_form_is_refused(text: str) -> None:
    if text:
        with pytest.raises(operands.NotAnOperand):
            operands.parse(text, 0)
    else:
        assert operands.parse(text, 0) == ()


# --- bad input ------------------------------------------------------------------------------------


def test_a_file_that_is_no_cubin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.cubin"
    with pytest.raises(CubinError, match=r"k\.cubin: it cannot be read: No such file"):
        read(path)
    path.write_bytes(b".version 8.0\n")
    with pytest.raises(CubinError, match="it is no cubin: it does not begin as an ELF file does"):
        read(path)
    path.write_bytes(Path("/proc/self/exe").read_bytes()[:1_000_000])
    with pytest.raises(CubinError, match=r"not a cubin|damaged"):
        read(path)


def test_another_architecture_is_refused_by_name(compile_cubin: CompileCubin) -> None:
    content = bytearray(compile_cubin(SCALE).read_bytes())
    assert content[0x31] == 90  # the architecture among the header's flags
    content[0x31] = 77
    with pytest.raises(CubinError, match=r"it is for sm_77; .* sm_75, sm_80, sm_86, .* sm_121"):
        read_bytes(bytes(content))


def test_a_truncated_cubin_is_refused_wherever_it_ends(compile_cubin: CompileCubin) -> None:
    content = compile_cubin(SCALE).read_bytes()
    for end in range(0, len(content) - 400, len(content) // 40):
        with pytest.raises(CubinError):
            read_bytes(content[:end])


def test_an_edited_cubin_is_read_or_refused_by_name(compile_cubin: CompileCubin) -> None:
    """The test runs nvdisasm; scripts/fuzzing/fuzz_machine_code.py corrupts many more cubins
    without it."""
    content = compile_cubin(SCALE).read_bytes()
    draw = random.Random(3)
    for _ in range(8):
        broken = bytearray(content)
        for _ in range(draw.choice((1, 4, 30))):
            broken[draw.randrange(64, len(broken))] = draw.randrange(256)
        with suppress(CubinError, DisassemblerError):  # anything else fails
            assert read_bytes(bytes(broken)).arch.startswith("sm_")


def inlined_into(row: int) -> bytes:
    """The line-table opcodes of a row whose code is inlined at the call in row `row`."""
    return b"\x00\x04\x90" + bytes([row % 128 + 128, row // 128, 0]) + b"\x01"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (b"\x03" + b"\x80" * 20, "a number of more than 64 bits"),
        (inlined_into(1), "IndexError"),
        (
            b"".join(map(inlined_into, range(300))),
            "more than 200 calls are inlined into each other",
        ),
    ],
    ids=["a number without end", "a row that calls itself", "calls without end"],
)
def test_damaged_lines_are_told(compile_cubin: CompileCubin, program: bytes, why: str) -> None:
    content = bytearray(compile_cubin(SCALE).read_bytes())
    elf = ELFFile(io.BytesIO(bytes(content)))
    table = elf.get_section_by_name(".debug_line").data()
    begin = table.index(b"\x00\x09\x02")  # the opcode that sets the first address
    table = (begin + len(program) - 4).to_bytes(4, "little") + table[4:begin] + program
    number = elf.get_section_index(".debug_line")
    at = elf["e_shoff"] + number * elf["e_shentsize"] + 24  # sh_offset, sh_size
    content[at : at + 16] = len(content).to_bytes(8, "little") + len(table).to_bytes(8, "little")
    with pytest.raises(CubinError, match=f"it is damaged .*{why}"):
        read_bytes(bytes(content) + table)


# --- nvdisasm -------------------------------------------------------------------------------------


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = folder / "nvdisasm"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(disassembler, "candidates", lambda: [(str(path), "here")])


VERSION = 'case "$1" in --version) echo "Cuda, release 13.0, V13.0.1"; exit;; esac\n'


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo V11.8.89", "no nvdisasm of 12.6 or newer: .* is V11.8\n  install it"),
        ("exit 3", "does not tell its version"),
        (VERSION + "echo '[]'", "prints JSON in a form that is not known here"),
        (VERSION + "echo '[{}, [{\"function-name\": 1}]]'", "in a form that is not known here"),
        (VERSION + "echo '[[]]'", "lists 0 instructions of `scale`, whose code has"),
        (VERSION + "echo 'error : bad ELF' >&2; exit 1", "cannot read it: error : bad ELF"),
    ],
)
def test_an_nvdisasm_that_is_too_old_or_prints_something_else_is_told(
    compile_cubin: CompileCubin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str,
    words: str,
) -> None:  # fmt: skip
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises((DisassemblerError, CubinError), match=words):
        read(compile_cubin(SCALE))


def test_of_several_nvdisasms_the_newest_is_used_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(folder: str, version: str) -> str:
        path = tmp_path / folder / "nvdisasm"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho V{version}\n")
        path.chmod(0o755)
        return str(path)

    on_path = release("bin", "13.0.85")
    newest = release("wheels/nvidia/cu13/bin", "13.5.37")
    release("toolkit/bin", "12.9.1")
    monkeypatch.setattr(disassembler.sysconfig, "get_path", lambda _: str(tmp_path / "wheels"))
    monkeypatch.setattr(disassembler, "_USUAL_ROOT", "/nowhere")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.delenv("NVDISASM")
    assert disassembler.find() == disassembler.Disassembler(newest, (13, 5))
    monkeypatch.setenv("NVDISASM", on_path)
    assert disassembler.find() == disassembler.Disassembler(on_path, (13, 0))


def test_without_nvdisasm_it_is_said_how_to_get_it(
    compile_cubin: CompileCubin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disassembler, "candidates", lambda: [("/nowhere/nvdisasm", "NVDISASM")])
    with pytest.raises(DisassemblerError, match=r"no nvdisasm: .*\n  install it for this Python"):
        read(compile_cubin(SCALE))


def test_a_listing_is_kept_for_the_next_time_and_not_taken_for_another_cubins(
    compile_cubin: CompileCubin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = tmp_path / "listing.gz"
    cubin, other = compile_cubin(SCALE), compile_cubin(SCALE.replace("96", "64"))
    first = read(cubin, listing)
    with monkeypatch.context() as patch:
        patch.delattr(disassembler, "printed")
        assert read(cubin, listing) == first
    assert read(other, listing).functions["scale"].max_threads == (64, 1, 1)
    listing.write_bytes(b"no listing")
    assert read(other, listing) == read(other)


def test_a_variable_that_is_larger_than_its_section_is_refused(compile_cubin: CompileCubin) -> None:
    content = bytearray(compile_cubin(SCALE).read_bytes())
    symbols = ELFFile(io.BytesIO(bytes(content))).get_section_by_name(".symtab")
    at = next(
        symbols["sh_offset"] + n * symbols["sh_entsize"]
        for n, symbol in enumerate(symbols.iter_symbols())
        if symbol.name == "factors"
    )
    content[at + 16 : at + 24] = (2**47).to_bytes(8, "little")  # st_size
    with pytest.raises(CubinError, match="its variable `factors` lies beyond its section"):
        read_bytes(bytes(content))
