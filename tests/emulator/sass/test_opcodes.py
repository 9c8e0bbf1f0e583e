"""Single machine instructions: ptxas generates them from a line of CUDA, and PTX defines their
results.

Each case names the instructions that the machine code must contain, so that a case does not test
something else if the compiler's choice changes.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.program import allocation
from harness.emulator.sass import MachineCode, UnknownMachineInstruction, launch_machine_code
from harness.emulator.sass.cubin import stacks

WORDS = np.concatenate([
    np.array([0, 1, 0x80, 0x7F80FF01, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x80008000], np.uint32),
    np.arange(2, 20, dtype=np.uint32),
    np.random.default_rng(11).integers(0, 2**32, 300, np.uint32),
])  # fmt: skip

KERNEL = """extern "C" __global__
void {name}(const unsigned int* in, unsigned int* out, unsigned int n) {{
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int a = in[i], b = in[n - 1 - i], c = in[(i + 7) % n];
    {body}
}}"""

INSTRUCTIONS = {
    r"I2F\.U32\.RP R\d+,0x20$": "out[i] = (a >> 1) / warpSize;",
    r"^I2F\.U8 R\d+,R\d+\.B3": (
        "out[i] = __float_as_uint((float)(a >> 24 & 255) * (float)(a & 255) / 255.0f);"
    ),
    r"^IMAD\.HI\.U32 R\d+,P\d,": "out[i] = (((unsigned long long)a << 32) | b) % (c | 1ull << 40);",
    r"^IDP\.4A\.S8\.S8 ": "out[i] = __dp4a((int)a, (int)b, (int)c);",
    r"^IDP\.4A\.U8\.U8 ": "out[i] = __dp4a(a, b, c);",
    r"^IDP\.2A\.LO\.S16\.S8 ": "out[i] = __dp2a_lo((int)a, (int)b, (int)c);",
    r"^IDP\.2A\.HI\.U16\.U8 ": "out[i] = __dp2a_hi(a, b, c);",
    r"^VIADD\.16x2 R\d+,R\d+(\.reuse)?,R": "out[i] = __vadd2(a, b);",
    r"^VIADD\.16x2 R\d+,R\d+(\.reuse)?,-R": "out[i] = __vsub2(a, b);",
    r"^VABSDIFF R": "out[i] = __sad((int)a, (int)b, c);",
    r"^VABSDIFF\.U32 R": "out[i] = __usad(a, b, c);",
    r"^MATCH\.ANY\.U64 ": """
    out[i] = __match_any_sync(__activemask(), (a % 5ull) << 32 | (b & 1));""",
    r"^MATCH\.ALL\.U64 ": """
    int all;
    const unsigned long long warp = (i / 32ull) << 32 | 1;
    const unsigned mask = __match_all_sync(__activemask(), warp, &all);
    out[i] = mask ^ all << 7;""",
    r"^I2IP\.U8\.S32\.SAT ": """
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(out[i]) : "r"(a), "r"(b & 0x1FF), "r"(c));""",
    r"^I2IP\.S8\.S32\.SAT ": """
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
        : "=r"(out[i]) : "r"(a), "r"(b & 0xFF), "r"(c));""",
    r"^I2IP\.U16\.S32\.SAT ": """
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(out[i]) : "r"(a), "r"(b & 0x1FFFF));""",
    r"^I2IP\.S16\.S32\.SAT ": """
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(out[i]) : "r"(a), "r"(b & 0xFFFF));""",
    r"^PLOP3\.LUT P\d,PT,R\d+[\w.]*\.SIGN,": """
    asm("add.sat.s32 %0, %1, %2;" : "=r"(out[i]) : "r"(a), "r"(b));""",
    r"^(ACQBULK|PREEXIT)$": """
    asm volatile("griddepcontrol.wait;");
    out[i] = a + b;
    asm volatile("griddepcontrol.launch_dependents;");""",
    r"^VABSDIFF4\.U8 ": "out[i] = __vabsdiffu4(a, b);",
    r"^VABSDIFF4\.U8\.ACC ": "out[i] = __vsadu4(a, b);",
    r"^VIMNMX\.S16x2 .*!PT$": "out[i] = __vmaxs2(a, b);",
    r"^VIMNMX\.U16x2 .*,PT$": "out[i] = __vminu2(a, b);",
    r"^VIMNMX\.S16x2\.RELU ": "out[i] = __vimin_s16x2_relu(a, b);",
    r"^VIMNMX\.RELU ": "out[i] = __vimax_s32_relu(a, b);",
    r"^VIMNMX3\.S16x2 ": "out[i] = __vimax3_s16x2(a, b, c);",
    r"^VIMNMX3\.RELU ": "out[i] = __vimin3_s32_relu(a, b, c);",
    r"^VIADDMNMX\.S16x2 ": "out[i] = __viaddmax_s16x2(a, b, c);",
    r"^VIADDMNMX\.RELU ": "out[i] = __viaddmin_s32_relu(a, b, c);",
    r"^VIADDMNMX\.U16x2 ": "out[i] = __viaddmin_u16x2(a, b, c);",
    r"^BRX ": """
    switch (a) {
        case 0: out[i] = 5; break;
        case 1: out[i] = in[i / 2]; break;
        case 2: atomicAdd(out + i, 7); break;
        case 3: out[i] = b / c; break;
        case 4: out[i] = b / n; break;
        case 5: out[i] = in[n - 1]; break;
        case 6: for (int k = 0; k < (b & 15); k++) out[i] += k * c; break;
        case 7: atomicXor(out + i, b); break;
        default: out[i] = 9;
    }""",
    r"^DSETP\.MAX\.AND P\d,P\d,": """
    const double x = __hiloint2double(a, 0), y = __hiloint2double(i % 3 ? in[(i ^ 4) % n] : a, 0);
    const double m = fmax(x, y);
    out[i] = isnan(m) ? 1 : __double2hiint(m);""",
    r"^DSETP\.MIN\.AND P\d,P\d,": """
    const double x = __hiloint2double(a, 0), y = __hiloint2double(i % 3 ? in[(i ^ 4) % n] : a, 0);
    const double m = fmin(x, y);
    out[i] = isnan(m) ? 1 : __double2hiint(m);""",
    r"^I2I\.U8\.S32\.SAT ": """
    int r;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(r) : "r"(b));
    out[i] = r;""",
    r"^I2I\.S8\.S32\.SAT ": """
    int r;
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"(b));
    out[i] = r;""",
    r"^I2I\.U16\.S32\.SAT ": """
    unsigned short r;
    asm("cvt.sat.u16.s32 %0, %1;" : "=h"(r) : "r"(b));
    out[i] = r;""",
    r"^I2I\.S16\.S32\.SAT ": """
    short r;
    asm("cvt.sat.s16.s32 %0, %1;" : "=h"(r) : "r"(b));
    out[i] = r;""",
    r"^REDUX UR": "out[i] = __reduce_and_sync(__activemask(), a | 0xF0F0F0F0);",
    r"^REDUX\.XOR UR": "out[i] = __reduce_xor_sync(__activemask(), a);",
    r"^REDUX\.MIN\.S32 UR": "out[i] = __reduce_min_sync(__activemask(), (int)a);",
    r"^WARPSYNC\.EXCLUSIVE ": """
    const unsigned int mask = __match_any_sync(__activemask(), a % 5);
    out[i] = __reduce_max_sync(mask, b);""",
}


NAMES = {wanted: f"k{number}" for number, wanted in enumerate(INSTRUCTIONS)}
SOURCE = "\n".join(KERNEL.format(name=NAMES[w], body=body) for w, body in INSTRUCTIONS.items())
"""All kernels in one file: the compiler and the disassembler take longer to start than to process
it."""


def texts(code: MachineCode, kernel: str = "k") -> list[str]:
    return [instruction.text for instruction in code.functions[kernel].instructions]


@pytest.mark.parametrize("wanted", INSTRUCTIONS)
def test_an_instruction_computes_what_ptx_says(
    read_source: ReadSource, compile_ptx: CompilePtx, wanted: str
) -> None:
    kernel, code = NAMES[wanted], read_source(SOURCE)
    assert any(re.search(wanted, text) for text in texts(code, kernel)), texts(code, kernel)
    ours, theirs = np.zeros_like(WORDS), np.zeros_like(WORDS)
    machine = launch_machine_code(code, kernel, 3, 128, [WORDS, ours, len(WORDS)])
    ptx = launch(compile_ptx(SOURCE), kernel, 3, 128, [WORDS, theirs, len(WORDS)])
    assert not machine.faults
    assert not ptx.faults
    assert theirs.any()
    np.testing.assert_array_equal(ours, theirs)


ASSERTS = """#include <cassert>
extern "C" __global__ void k(const unsigned int* in, unsigned int* out, unsigned int n) {
    assert(blockDim.x == 64);
    out[threadIdx.x] = 3 * in[threadIdx.x] + n;
}"""


def test_an_assertion_that_holds_is_nothing_and_one_that_fails_ends_the_kernel(
    read_source: ReadSource,
) -> None:
    code, out = read_source(ASSERTS), np.zeros(64, np.uint32)
    assert any(text.startswith("CALL.ABS.NOINC") for text in texts(code))
    assert not launch_machine_code(code, "k", 1, 64, [WORDS[:64], out, 1]).faults
    np.testing.assert_array_equal(out, 3 * WORDS[:64] + np.uint32(1))
    [fault] = launch_machine_code(code, "k", 1, 32, [WORDS[:64], out, 1]).faults
    assert (fault.kind, fault.line) == ("assert", 3)


REFUSED_BESIDE_PRINTED = """#include <cstdio>
extern "C" __global__ void prints(unsigned* out, unsigned n) {
    if (n > 3) printf("%u\\n", n);
    out[threadIdx.x] = n;
}
extern "C" __global__ void aligns(void** out, unsigned n) {
    printf("%u\\n", n);
    if (n > 3) out[0] = __nv_aligned_device_malloc(64, 64);
}"""


def test_what_else_the_driver_would_have_to_call_is_refused_by_name_where_it_is_called(
    read_source: ReadSource,
) -> None:
    code, out = read_source(REFUSED_BESIDE_PRINTED), np.zeros(32, np.uint32)
    report = launch_machine_code(code, "prints", 1, 32, [out, 5])
    assert not report.faults
    assert (report.printed, out.sum()) == (("5\n",) * 32, 160)
    refused = r"\.cu:8: .*it calls `__cuda_syscall_aligned_malloc`"
    with pytest.raises(UnknownMachineInstruction, match=refused):
        launch_machine_code(code, "aligns", 1, 32, [np.zeros(1, np.uint64), 5])


VOTES_AFTER_A_WAIT = """extern "C" __global__ void k(volatile int* flags, int* out) {
    int flag = 0;
    if (threadIdx.x < 20) do flag = flags[threadIdx.x]; while (flag == 0);
    const int votes = __popc(__ballot_sync(0xffffffffu, flag != 7));
    out[threadIdx.x] = votes + __shfl_xor_sync(0xffffffffu, flag, 16);
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_86"])
def test_lanes_that_are_apart_meet_for_what_all_of_them_do_together(
    read_source: ReadSource, arch: str
) -> None:
    """Lanes that wait for a flag yield; the others reach the branch for diverged warps first."""
    code = read_source(VOTES_AFTER_A_WAIT, arch)
    for wanted in ("BRA.DIV ~URZ,", "BRA.CONV ~URZ,"):
        assert any(text.startswith(wanted) for text in texts(code)), texts(code)
    flags, out = np.arange(1, 33, dtype=np.int32), np.zeros(32, np.int32)
    report = launch_machine_code(code, "k", 1, 32, [flags, out])
    assert not report.faults
    assert any(each.opcode == "BRA.DIV" and each.warps > 1 for each in report.instructions)
    own = np.where(np.arange(32) < 20, flags, 0)
    np.testing.assert_array_equal(out, 31 + own[np.arange(32) ^ 16])


@pytest.mark.parametrize(("opcode", "operand"), [("SHFL", 2), ("STG", 1), ("WARPSYNC", 0)])
def test_a_sign_before_a_source_that_is_taken_as_it_stands_is_refused(
    read_source: ReadSource, opcode: str, operand: int
) -> None:
    code = read_source(VOTES_AFTER_A_WAIT, "sm_80")
    function = code.functions["k"]
    instructions = list(function.instructions)
    at = next(n for n, each in enumerate(instructions) if each.opcode == opcode)
    operands = list(instructions[at].operands)
    operands[operand] = replace(operands[operand], inverted=True)
    instructions[at] = replace(instructions[at], operands=tuple(operands))
    code.functions["k"] = replace(function, instructions=tuple(instructions))
    with pytest.raises(UnknownMachineInstruction, match=f"{opcode}.*operand"):
        launch_machine_code(code, "k", 1, 32, [np.ones(32, np.int32), np.zeros(32, np.int32)])


MASKS_OF_A_WARP = """extern "C" __global__ void k(const unsigned* in, unsigned* out) {
    const unsigned lane = threadIdx.x, mask = 0xffu << (lane & 24), x = in[lane];
    out[lane] = __ballot_sync(mask, x & 4);
    out[lane + 32] = __any_sync(mask, (x & 31) == 3) + 2 * __all_sync(mask, (x & 31) != 5);
    const unsigned odd = lane & 1 ? 0xaaaaaaaa : 0x55555555;
    out[lane + 64] = __ballot_sync(odd, x & 1);
}"""


def test_a_vote_by_parts_of_a_warp_each_with_its_mask_is_each_parts_own(
    read_source: ReadSource,
) -> None:
    """ptxas tests by `@!P0 BRA.DIV` whether masks differ; P0 is true in lanes whose mask
    differs."""
    code, out = read_source(MASKS_OF_A_WARP), np.zeros(96, np.uint32)
    assert any(re.match(r"@!P\d BRA\.DIV", text) for text in texts(code))
    assert not launch_machine_code(code, "k", 1, 32, [WORDS[:32], out]).faults
    lane, x = np.arange(32), WORDS[:32]
    eighths = lane[:, None] // 8 == lane // 8
    np.testing.assert_array_equal(out[:32], ballots(eighths, x & 4))
    some = (eighths & ((x & 31) == 3)).any(1)
    every = (~eighths | ((x & 31) != 5)).all(1)
    np.testing.assert_array_equal(out[32:64], some + 2 * every)
    np.testing.assert_array_equal(out[64:], ballots(lane[:, None] % 2 == lane % 2, x & 1))


def ballots(of: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """For each lane, the bits of the lanes that vote yes in the lane's own group."""
    return ((of & (votes != 0)) << np.arange(32, dtype=np.uint64)).sum(1)


STACKS = """#include <alloca.h>
__device__ __noinline__ unsigned deep(unsigned n, unsigned* up) {
    unsigned own[4] = {n, *up, n * 3, 1};
    return n == 0 ? *up : deep(n - 1, own + (n & 3)) + own[n % 3] * 5;
}
extern "C" __global__ void recurses(const unsigned* in, unsigned* out, unsigned n) {
    unsigned first = in[threadIdx.x];
    out[threadIdx.x] = deep(n + threadIdx.x % 7, &first);
}
extern "C" __global__ void allocates(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned most = 1 + threadIdx.x % 13;
    unsigned* own = (unsigned*)alloca((most + n) * sizeof(unsigned));
    for (unsigned i = 0; i < most + n; i++) own[i] = in[(threadIdx.x + i) % 64];
    out[threadIdx.x] = own[most / 2] * 3 + own[most + n - 1];
}"""


@pytest.mark.parametrize("kernel", ["recurses", "allocates"])
def test_a_stack_that_the_cubin_does_not_tell_is_as_large_as_in_ptx(
    read_source: ReadSource, compile_ptx: CompilePtx, kernel: str
) -> None:
    code, ptx = read_source(STACKS), compile_ptx(STACKS)
    found, wanted = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    assert not launch_machine_code(code, kernel, 1, 64, [WORDS[:64], found, 20]).faults
    assert not launch(ptx, kernel, 1, 64, [WORDS[:64], wanted, 20]).faults
    np.testing.assert_array_equal(found, wanted)
    [fault] = launch_machine_code(code, kernel, 1, 64, [WORDS[:64], found, 1 << 14]).faults
    assert fault.kind == "stack overflow"
    assert stacks.STACK_BYTES == allocation.STACK_BYTES


CHOSEN_MEMORY = """extern "C" __global__ void k(const int* values, int* out, int which) {
    __shared__ int own[32];
    own[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    const int* from = which ? own : values;
    out[threadIdx.x] = from[31 - threadIdx.x];
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90"])
@pytest.mark.parametrize("which", [0, 1])
def test_an_address_that_may_be_of_shared_memory_is_generic(
    read_source: ReadSource, arch: str, which: int
) -> None:
    """Code for architectures before sm_90 makes the address generic with a constant that the driver
    fills in."""
    code, out = read_source(CHOSEN_MEMORY, arch), np.zeros(32, np.int32)
    report = launch_machine_code(code, "k", 1, 32, [np.arange(32, dtype=np.int32), out, which])
    assert not report.faults
    assert out.tolist() == [100 * which + 31 - lane for lane in range(32)]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("_Z6scaledIfEvPKT_PS0_i", "scaled"), ("_ZN2ns3sumIfEEvPT_", "ns::sum"), ("plain", "plain")],
)
def test_a_kernel_is_called_by_its_plain_name_in_what_a_person_reads(
    symbol: str, name: str
) -> None:
    said = str(UnknownMachineInstruction("PMTRIG 0x1", "", symbol, 0x40))
    assert f"of `{name}`" in said
    assert said.startswith(f"{name}: ")
