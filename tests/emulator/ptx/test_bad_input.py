"""Broken, hostile or oversized PTX leads to a clear error, or to a fault in the report."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from emulator_tools import KERNELS, CompilePtx, PtxFile, ptx_kernel, run

from harness.emulator import (
    EmulatorError,
    Kernel,
    PtxSyntaxError,
    UnknownInstruction,
    launch,
    parse,
)

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


@pytest.fixture(scope="module")
def real(ptx_file: PtxFile) -> str:
    """The PTX of a kernel as nvcc writes it."""
    return ptx_file(KERNELS / "reduce_sum" / "v12_single_pass_last_block.cu").read_text()


def _arguments(kernel: Kernel) -> list[object]:
    return [np.zeros(4096, np.uint8) if p.size == 8 else 64 for p in kernel.params]


def _ends_well(text: str) -> str:
    """Parse and launch; return the outcome. Any exception except the documented ones is a
    failure."""
    try:
        module = parse(text)
        for name, kernel in module.kernels.items():
            report = launch(
                module, name, 2, 64, _arguments(kernel), 1024, max_thread_instructions=2**18
            )
            if report.faults:
                return f"fault: {report.faults[0]}"
    except EmulatorError as error:
        return type(error).__name__ if len(str(error)) < 2000 else "a long story"
    return "fine"


# --- text -------------------------------------------------------------------------------------


def test_a_real_kernel_cut_anywhere_is_read_or_refused_with_its_line(real: str) -> None:
    found = {_ends_well(real[:end]) for end in range(0, len(real), 50)}
    assert found <= {"fine", "PtxSyntaxError", "UnknownInstruction"}


def _edited(text: str, rng: random.Random) -> str:
    """Edit a line at random: delete, duplicate, exchange or replace tokens, or delete the line."""
    lines = text.split("\n")
    code = [i for i, line in enumerate(lines) if re.match(r"\s*[@.$%a-z{}]", line)]
    at = rng.choice(code)
    tokens = re.findall(r"[%$\w.:]+|\s+|\S", lines[at])
    solid = [i for i, token in enumerate(tokens) if token.strip()]
    one, other = rng.choice(solid), rng.choice(solid)
    strange = ["-1", "99999999999999999999", "1.5", "0f7FC00000", "%p1", "%rd1", "%f1", "%nope",
               "{", "}", "[", "]", "(", ",", ";", "@", "|", "\0", "é", ".f64", ".b128", ".pred",
               ".align 3", "_", "ret", "$L__BB0_2", "!%p1", "[%rd1]", ".v4"]  # fmt: skip
    match rng.randrange(6):
        case 0:
            del lines[at]
            return "\n".join(lines)
        case 1:
            tokens[one] = ""
        case 2:
            tokens[one] *= 2
        case 3:
            tokens[one], tokens[other] = tokens[other], tokens[one]
        case 4:
            tokens[one] = rng.choice(strange)
        case 5:
            there = re.findall(r"[%$\w.:]+|\S", lines[rng.choice(code)])
            tokens[one] = rng.choice(there or [""])
    lines[at] = "".join(tokens)
    return "\n".join(lines)


def test_random_edits_of_a_real_kernel_end_in_a_clear_error_or_a_report(real: str) -> None:
    outcomes = [_ends_well(_edited(real, random.Random(seed))) for seed in range(200)]
    assert {"fine", "PtxSyntaxError", "UnknownInstruction"} <= set(outcomes)


def test_line_ends_of_every_system_are_read(real: str) -> None:
    names = list(parse(real).kernels)
    for end in ("\r\n", "\r"):
        assert list(parse(real.replace("\n", end)).kernels) == names


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no .version"),
        (HEAD + "/* " * 100_000, "a comment that never ends"),
        (HEAD + "\n" * 100_000 + "?", "PTX line 100004"),
        (HEAD + "x" * 1_000_000, "unexpected 'xxx.* …"),
        (HEAD.replace("64", "32"), "addresses have 64 bits"),
        (HEAD + ".reg .b32 %r;", "outside a function"),
        (HEAD + ".shared .pred p;", "the type of a variable"),
        (HEAD + ".shared .align 0 .b8 s[4];", "a power of two up to 1048576, found '0'"),
        (HEAD + ".shared .align 3 .b8 s[4];", "a power of two"),
        (HEAD + ".shared .align 1099511627776 .b8 s[4];", "a power of two"),
        (HEAD + ".shared .b8 s[-4];", "a number of elements, found '-4'"),
        (HEAD + ".shared .b8 s[99999999999999999999];", "an integer of up to 64 bits"),
        (HEAD + ".global .u32 g[2] = {1, 2, 3};", "12 bytes of initial values for the 8 of `g`"),
        (HEAD + ".global .u32 g[2] = {{1, 2}, 3};", "an initial value is a number or an address"),
        (HEAD + ".global .u32 g; .global .u32 g;", "'g' is defined a second time"),
        (HEAD + ".entry k() {} .entry k() {}", "'k' is defined a second time"),
        (HEAD + ".entry k(.param .u32 a, .param .u32 a) {}", "'a' is defined a second time"),
        (ptx_kernel(".reg .b32 %r<4>;"), "'%r0' is defined a second time"),
        (ptx_kernel(".reg .b32 %q<-1>;"), "up to 262144 registers, found '-1'"),
        (ptx_kernel(".reg .b32 %q<1000000000>;"), "up to 262144 registers"),
        (ptx_kernel("L: bra L; L: ret;"), "'L' is defined a second time"),
        (ptx_kernel("mov.u32 %r1, " + "{" * 10_000), "brackets in one another"),
        (ptx_kernel("ld.u32 %r1, " + "[%l1, " * 10_000), "brackets in one another"),
        (ptx_kernel("mov.u32 %r1, {%r1 %r2};"), "expected ','"),
        (ptx_kernel("mov.u32 %r1, .u32;"), "expected an operand"),
        (ptx_kernel("@5 bra L;"), "expected a name"),
        (ptx_kernel("}"), "PTX line"),
    ],
)  # fmt: skip
def test_what_is_no_ptx_is_refused_with_its_line(text: str, match: str) -> None:
    with pytest.raises(PtxSyntaxError, match=match):
        parse(text)


@pytest.mark.parametrize("text", [None, b".version 8.0", Path("kernel.ptx"), 5])
def test_what_is_no_text_is_refused_by_its_type(text: object) -> None:
    with pytest.raises(TypeError, match=r"PTX is text, and this is a .*read_text\(\)"):
        parse(text)  # type: ignore[arg-type]


# --- instructions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "match"),
    [
        ("mov.u32 %r1;", "takes 2 operands and has 1"),
        ("mov.u32 %r1, %r2, %r3;", "takes 2 operands and has 3"),
        ("add.u32;", "it has no operands"),
        ("ld.global.u32 %r1;", "takes 2 operands"),
        ("st.global.u32 [%l1], %r1, %r2;", "takes 2 operands"),
        ("atom.global.add.u32 %r1, [%l1];", "takes 3 operands"),
        ("setp.lt.u32 %p1, %r1, %r2, %p2;", "takes 3 operands"),
        ("setp.lt.and.u32 %p1, %r1, %r2;", "takes 4 operands"),
        ("bra;", "expected a label"),
        ("bra 5;", "expected a label"),
        ("bra.sync L; L:", "does not know `bra.sync`"),
        ("@%r1 bra L; L:", "`%r1` has type u32 where a pred belongs"),
        ("add.u32 %r1, %p1, %r2;", "`%p1` has type pred where a u32 belongs"),
        ("add.u64 %l1, %r1, %l2;", "`%r1` has type u32 where a u64 belongs"),
        ("add.u32 %l1, %r1, %r2;", "`%l1` has type u64 where a u32 belongs"),
        ("add.f64 %f1, %d1, %d2;", "`%f1` has type f32 where a f64 belongs"),
        ("add.u32 %r1, %f1, %r2;", "`%f1` has type f32 where a u32 belongs"),
        ("selp.b32 %r1, %r2, %r3, %r4;", "`%r4` has type u32 where a pred belongs"),
        ("ld.global.u64 %r1, [%l1];", "`%r1` has type u32 where a u64 belongs"),
        ("ld.global.u32 %r1, [%f1];", "an address in a register of type f32"),
        ("ld.global.u32 %r1, [%p1];", "an address in a register of type pred"),
        ("ld.global.v4.u32 {%r1,%r2,%r3}, [%l1];", "`ld.global.v4.u32`"),
        ("ld.global.v9.u32 {%r1}, [%l1];", "`ld.global.v9.u32`"),
        ("ld.param.u64 %l1, [p0+4];", "8 bytes at offset 4 of parameter `p0`, which has 8"),
        ("ld.param.u32 %r1, [p0+-4];", "4 bytes at offset -4 of parameter"),
        ("st.param.u32 [p0], %r1;", "param memory cannot be written"),
        ("ld.global.u32 %r1, [s];", "`s` is in shared memory"),
        ("ld.global.u32 %r1, [elsewhere];", "`elsewhere` is defined in another module"),
        ("ld.global.u32 %r1, [g+-9223372036854775808];", "an address -922337203685477"),
        (".reg .b128 %q; ld.global.v2.b128 {%q, %q}, [%l1];", "`ld.global.v2.b128`"),
        ("ld.global.b128 %l1, [%l1];", "`%l1` is not a declared register of 128 bits"),
        (".reg .b128 %q; mov.b128 %q, {%l1};", "`mov.b128`"),
        (".reg .b128 %q; atom.global.xor.b128 %q, [%l1], %q;", "`atom.global.xor.b128`"),
        ("tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%l1, {%f5, %f6}];", "textures and surfaces"),
        ("sured.b.add.2d.u32.trap [%l1, {%r1, %r2}], %r1;", "textures and surfaces"),
        (".reg .b128 %q; mov.b64 %l1, %q;", "`%q`"),
        ("mov.f32 %f1, %tid.x;", "special register `%tid.x` where a f32 belongs"),
        ("mov.f32 %f1, s;", "the address of `s` where a f32 belongs"),
        ("mov.f32 %f1, 1;", "the literal 1 where a f32 belongs"),
        ("mov.u32 %r1, 1.5;", "the literal 1.5 where a u32 belongs"),
        ("mov.u32 %r1, !%r2;", "the negation of `%r2`"),
        ("vote.sync.all.pred !%p1, %p2, -1;", "expected a register"),
        ("cvt.f32.u32 %f1, %r1;", "`cvt.f32.u32`"),
        ("cvt.rn.rz.f32.u32 %f1, %r1;", "`cvt.rn.rz.f32.u32`"),
        ("add.rn.rz.f32 %f1, %f2, %f3;", "`add.rn.rz.f32`"),
        ("add.ftz.f64 %d1, %d2, %d3;", "`add.ftz.f64`"),
        ("min.xorsign.f32 %f1, %f2, %f3;", "`min.xorsign.f32`"),
        ("setp.lo.f32 %p1, %f1, %f2;", "`setp.lo.f32`"),
        ("setp.equ.s32 %p1, %r1, %r2;", "`setp.equ.s32`"),
        ("atom.global.and.u32 %r1, [%l1], %r2;", "`atom.global.and.u32`"),
        ("red.global.cas.b32 [%l1], %r1, %r2;", "`red.global.cas.b32`"),
        ("atom.local.add.u32 %r1, [%l1], %r2;", "there are no atomics on local memory"),
        ("st.acquire.gpu.global.u32 [%l1], %r2;", "`st.acquire.gpu.global.u32`"),
        ("ld.relaxed.global.u32 %r1, [%l1];", "`ld.relaxed.global.u32`"),
        ("match.any.sync.b32 %r1|%p1, %r2, -1;", "`match.any.sync.b32`"),
        ("redux.sync.add.b32 %r1, %r2, -1;", "`redux.sync.add.b32`"),
        ("fence.sc;", "`fence.sc`"),
        ("bar.sync 16;", "barrier 16 of 16"),
        ("bar.sync 0, 33;", "33 threads at a barrier; it takes whole warps"),
        ("bar.red.popc.u32 %p1, 0, %p2;", "`%p1` has type pred where a u32 belongs"),
        ("cp.async.wait_group;", "takes 1 operands"),
        ("cp.async.ca.shared.global [%r1], [%l1], 1.5;", "expected an integer"),
        ("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
         "[%l1, {%r2, %r2}], [%r3];", "2 coordinates for 1 dimensions"),
        ("mma.sync.aligned.m16n8k99.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};", "`mma"),
        ("mma.sync.aligned.nonsense.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};",
         "`nonsense` is not the shape of a matrix product"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%l1];", "a fragment of 1 registers"),
        ("wmma.load;", "`wmma.load`"),
        ("mov.b32 %r1, {%h1,%h2,%h3};", "32 bits in 3 parts"),
        ("brx.idx %l1, T; T: .branchtargets L; L:", "`%l1` has type u64 where a u32 belongs"),
        ("call f, (%r1);", "a call of `f` with other operands"),
        ("call nowhere;", "which this module does not define"),
    ],
)  # fmt: skip
def test_an_instruction_that_ptxas_would_refuse_is_refused_with_the_reason(
    instruction: str, match: str
) -> None:
    declarations = (
        ".shared .u32 s;\n.global .u32 g;\n.extern .global .u32 elsewhere;\n.func f()\n{ ret; }"
    )
    with pytest.raises(UnknownInstruction, match=re.escape(match)):
        launch(parse(ptx_kernel(instruction, ["u64"], declarations)), "k", 1, 32, [None])


def test_an_unknown_instruction_is_quoted_in_few_letters_however_long_it_is() -> None:
    text = ptx_kernel(f"add{'.sat' * 2000}.u32 %r1, %r2, %r3;")
    with pytest.raises(UnknownInstruction, match=r"`add\.sat\.sat.* …`; PTX line") as caught:
        launch(parse(text), "k", 1, 32, [])
    assert len(str(caught.value)) < 400


def test_loads_stores_and_conversions_take_wider_registers_as_ptxas_does() -> None:
    body = """ld.param.u64 %a0, [p0];
    mov.u64 %l1, 1;
    mov.f32 %f1, 0f3F800000;
    ld.global.u8 %r1, [%a0];
    cvt.u16.u8 %r2, %r1;
    st.global.u8 [%a0+1], %l1;
    st.global.b32 [%a0+4], %f1;"""
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 1, [np.zeros(8, np.uint8)])


@pytest.mark.parametrize("space", ["shared", "local"])
def test_an_address_below_a_variable_is_out_of_bounds(space: str) -> None:
    declared = ".shared .u32 s;" if space == "shared" else ""
    body = f".{space} .u32 s; " if space == "local" else ""
    module = parse(ptx_kernel(f"{body}st.{space}.u32 [s+-2147483648], 7;", (), declared))
    (fault,) = launch(module, "k", 1, 1, []).faults
    assert fault.kind == "out of bounds"
    assert f"at offset -2147483648 of {space} memory" in fault.message


def test_a_variable_says_which_memory_an_access_without_a_state_space_is_to() -> None:
    out = np.zeros(1, np.uint32)
    body = "ld.param.u64 %a0, [p0]; st.u32 [s], 7; ld.u32 %r1, [s]; st.global.u32 [%a0], %r1;"
    run(parse(ptx_kernel(body, ["u64"], ".shared .u32 s;")), "k", 1, 1, [out])
    assert out[0] == 7


def test_labels_of_inline_assembly_are_those_of_its_own_braces(compile_ptx: CompilePtx) -> None:
    asm = (
        'asm volatile("{{ .reg .pred p; .reg .u32 q; mov.u32 q, 0; AGAIN: add.u32 q, q, {step}; '
        'setp.lt.u32 p, q, 5; @p bra AGAIN; mov.u32 %0, q; }}" : "=r"({to}));'
    )
    source = f"""extern "C" __global__ void k(unsigned* out) {{
        unsigned a, b;
        {asm.format(step=1, to="a")}
        {asm.format(step=3, to="b")}
        out[0] = a; out[1] = b;
    }}"""
    out = np.zeros(2, np.uint32)
    run(compile_ptx(source), "k", 1, 1, [out])
    assert out.tolist() == [5, 6]


def test_tables_of_branches_are_those_of_their_own_braces() -> None:
    part = """{{ T: .branchtargets A, B; brx.idx %r2, T; A: mov.u32 {to}, {a}; bra C;
        B: mov.u32 {to}, {b}; C: }}"""
    body = f"""ld.param.u64 %a0, [p0]; mov.u32 %r2, 1;
        {part.format(to="%r3", a=1, b=2)} {part.format(to="%r4", a=10, b=20)}
        add.u32 %r3, %r3, %r4; st.global.u32 [%a0], %r3;"""
    out = np.zeros(1, np.uint32)
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 1, [out])
    assert out[0] == 22


@pytest.mark.parametrize("body", ["", "ret;", "L:", "{ }", ".reg .b128 %q;"])
def test_a_kernel_of_no_instructions_ends(body: str) -> None:
    run(parse(f"{HEAD}.entry k() {{ {body} }}"), "k", 3, 64, [])


# --- sizes ------------------------------------------------------------------------------------


# --- variables --------------------------------------------------------------------------------


# --- printf -----------------------------------------------------------------------------------
