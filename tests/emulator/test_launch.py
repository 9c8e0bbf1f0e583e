"""Launches that are rejected before anything runs, and the messages."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel

from harness.emulator import LaunchError, PtxSyntaxError, UnknownInstruction, launch, parse

PARAMS = ["u64", "u32", "f32"]
MODULE_TEXT = ptx_kernel("", PARAMS)


def _refused(match: str, **changes: object) -> str:
    call = {
        "kernel": "k", "grid": 1, "block": 32, "args": [np.zeros(4, np.float32), 1, 1.0],
        "shared_bytes": 0, **changes,
    }  # fmt: skip
    with pytest.raises(LaunchError, match=match) as caught:
        launch(parse(MODULE_TEXT), **call)  # type: ignore[arg-type]
    return str(caught.value)


def test_parameters_are_described_in_order() -> None:
    kernel = parse(MODULE_TEXT).kernels["k"]
    assert [(p.name, p.type, p.size, p.align) for p in kernel.params] == [
        ("p0", "u64", 8, 8), ("p1", "u32", 4, 4), ("p2", "f32", 4, 4),
    ]  # fmt: skip
    assert (kernel.target, kernel.shared_bytes) == ("sm_90", 0)


def test_a_missing_kernel_is_answered_with_those_there_are() -> None:
    assert "it has: k" in _refused("no kernel `nope`", kernel="nope")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"args": []}, "takes 3 arguments, 0 were given; its parameters are p0: u64, p1: u32"),
        ({"args": [np.zeros(4), np.zeros(4), 1.0]}, r"argument 1 \(p1\), a u32, is an array"),
        ({"args": [np.zeros((4, 4)).T[::2], 1, 1.0]}, "not contiguous"),
        ({"args": [np.zeros(4), 2**32, 1.0]}, r"argument 1 .* is 4294967296, outside its 32 bits"),
        ({"args": [np.zeros(4), -(2**31) - 1, 1.0]}, "outside its 32 bits"),
        ({"args": [np.zeros(4), 1.5, 1.0]}, r"argument 1 .* is 1.5; pass an integer"),
        ({"args": [np.zeros(4), 1, "x"]}, "argument 2 .* pass a number"),
        ({"args": ["x", 1, 1.0]}, "or an array for a pointer"),
        ({"grid": 0}, "grid.x is 0: it must be from 1 to 2147483647"),
        ({"grid": 2**31}, "grid.x is 2147483648"),
        ({"grid": (1, 65536)}, "grid.y is 65536: it must be from 1 to 65535"),
        ({"grid": (1, 2, 3, 4)}, "one to three"),
        ({"grid": 1.5}, "give an integer"),
        ({"block": -1}, "block.x is -1"),
        ({"block": 1025}, "block.x is 1025"),
        ({"block": (32, 33)}, r"has 1056 threads; a block has at most 1024"),
        ({"block": (1, 1, 65)}, "block.z is 65"),
        ({"shared_bytes": -4}, "shared_bytes is -4"),
        ({"shared_bytes": 228 * 1024}, "asks for 233472 bytes .* sm_90 has 232448"),
        ({"arch": "sm_12"}, "no facts for"),
        ({"arch": b"sm_90"}, "no facts for"),
        ({"args": None}, "args is None: give a list"),
        ({"args": "abc"}, "args is 'abc': give a list"),
        ({"args": np.zeros(3)}, "give a list, with one entry a parameter"),
        ({"args": [np.zeros(4), "n", 1.0]}, "is 'n'; pass an integer"),
        ({"args": [np.zeros(4), float("nan"), 1.0]}, "is nan; pass an integer"),
        ({"args": [np.zeros(4), 1j, 1.0]}, "is 1j; pass an integer"),
        ({"args": [np.zeros(4), np.array(1), 1.0]}, "the parameter is not a pointer"),
        ({"args": [np.zeros(4), 10**5000, 1.0]}, "is an integer of 16610 bits, outside"),
        ({"args": [np.zeros(4), list(range(10**5)), 1.0]}, r"is \[0, 1, 2.* …; pass an integer"),
        ({"args": [np.zeros(4), b"abc", 1.0]}, "is 3 bytes; the parameter has 4"),
        ({"args": [np.zeros(4), 1, 1e300]}, "is 1e\\+300, which is beyond its range"),
        ({"args": [np.zeros(4), 1, 10**400]}, "is an integer of 1329 bits, which is beyond"),
        ({"args": [np.zeros(4), 1, None]}, "is None; pass a number"),
        ({"args": [np.array([None]), 1, 1.0]}, "holds Python objects"),
        ({"args": [np.zeros(4, ">f4"), 1, 1.0]}, r"bytes in the other order; .*astype\('<f4'\)"),
        ({"args": [np.zeros(4)[::-1], 1, 1.0]}, "not contiguous"),
        ({"names": ["x"]}, r"names is \['x'\]: give a list of 3"),
        ({"grid": True}, "grid.x is True: give an integer"),
        ({"grid": b"1"}, "give an integer"),
        ({"grid": 10**5000}, "grid.x is an integer of 16610 bits"),
        ({"block": (8, None)}, "block.y is None: give an integer"),
        ({"shared_bytes": 1.5}, "shared_bytes is 1.5: give an integer"),
        ({"shared_bytes": 10**5000}, "asks for an integer of 16610 bits"),
        ({"chunk_threads": 0}, "chunk_threads is 0: it must be from 1 to 1048576"),
        ({"chunk_threads": 2**40}, "it must be from 1 to 1048576"),
        ({"max_thread_instructions": 0}, "max_thread_instructions is 0: it must be from 1 to 4"),
        ({"max_thread_instructions": -5}, "it must be from 1 to 4611686018427387904"),
        ({"jobs": 0}, "jobs is 0: it must be 1 or more"),
        ({"engine": "cuda"}, "engine is 'cuda': known are auto, judge"),
        ({"checks": "no"}, "checks is 'no': give True or False"),
        ({"kernel": ""}, "no kernel `` in this module; it has: k"),
        ({"kernel": None}, "the kernel is None; pass its name"),
        ({"kernel": "_ZN2nsI"}, "no kernel `_ZN2nsI`"),
    ],
)  # fmt: skip
def test_a_wrong_launch_is_refused_with_what_would_be_right(changes: dict, match: str) -> None:
    _refused(match, **changes)


@pytest.mark.parametrize(
    "changes",
    [{"grid": True}, {"grid": (True,)}, {"grid": 0}, {"block": 2048}, {"checks": 1}, {"jobs": True},
     {"shared_bytes": 2**20}, {"arch": "sm_1"}],
)  # fmt: skip
def test_a_launch_after_a_right_one_is_refused_as_it_would_be_by_itself(changes: dict) -> None:
    module, args = parse(MODULE_TEXT), [np.zeros(4, np.float32), 1, 1.0]
    right = {"grid": 1, "block": 32, "shared_bytes": 0}
    launch(module, "k", args=args, **right)  # type: ignore[arg-type]
    with pytest.raises(LaunchError):
        launch(module, "k", args=args, **right | changes)  # type: ignore[arg-type]


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(LaunchError, match="the module is 'ptx'; pass what parse"):
        launch("ptx", "k", 1, 1, [])  # type: ignore[arg-type]


def test_arrays_of_every_layout_that_is_a_row_of_bytes_are_accepted() -> None:
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    for array in (np.zeros(()), np.zeros((2, 3)), frozen, np.ma.zeros(4), np.zeros(2, "i4,f8")):
        assert not launch(parse(MODULE_TEXT), "k", 1, 1, [array, 1, 1.0]).faults


def test_scalars_of_every_kind_are_accepted() -> None:
    module = parse(MODULE_TEXT)
    for n in (3, np.uint32(3), np.int64(3), -1, True, 2**32 - 1):
        assert not launch(module, "k", 1, 32, [np.zeros(1), n, np.float64(2)]).faults


def test_an_empty_array_is_a_pointer_to_nothing() -> None:
    assert not launch(parse(MODULE_TEXT), "k", 1, 1, [np.zeros(0), 1, 1.0]).faults


def test_launch_bounds_are_kept(compile_ptx: CompilePtx) -> None:
    source = 'extern "C" __global__ void __launch_bounds__(64) k() {}'
    with pytest.raises(LaunchError, match=r"__launch_bounds__\(64\)"):
        launch(compile_ptx(source), "k", 1, 96, [])


def test_an_unknown_instruction_is_named_with_its_line_before_anything_runs(
    compile_ptx: CompilePtx,
) -> None:
    source = """extern "C" __global__ void k(unsigned* out) {
    out[0] = 1;
    unsigned x;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(x) : "l"(out));
    out[2] = x;
}
extern "C" __global__ void fine(unsigned* out) { out[0] = 5; }
"""
    module, out = compile_ptx(source), np.zeros(4, np.uint32)
    with pytest.raises(UnknownInstruction, match=r"\.cu:4, kernel k: .* `multimem.ld_reduce"):
        launch(module, "k", 1, 1, [out])
    assert not out.any()
    launch(module, "fine", 1, 1, [out])
    assert out[0] == 5


@pytest.mark.parametrize(
    "instruction",
    ["add.rs.f32 %f1, %f1, %f1;", "add.cc.u16 %h1, %h1, %h1;",
     "ld.global.v2.b128 {%r1,%r2}, [%a1];",
     "mul.u32 %r1, %r1, %r1;", "shfl.down.b32 %r1, %r1, 1, 31;", "frobnicate %r1;",
     "mov.u32 %r1, %nothing;", "mov.u32 %r1, nowhere;", "st.weird.u32 [%a1], %r1;",
     "add.u32 %r1, %r1;", "bar.arrive 0;", "call.uni nowhere, (%a1);",
     "mov.u32 %r1, %cluster_nothing;", "mapa.global.u32 %r1, %r1, 0;",
     "barrier.cluster.leave.aligned;", "barrier.cluster.wait.relaxed;",
     "setmaxnreg.inc.sync.aligned.u32 20;", "setmaxnreg.dec.sync.aligned.u32 44;",
     "setmaxnreg.dec.sync.aligned.u32 264;", "griddepcontrol.launch;",
     "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r1, [%l1];",
     "ld.shared::everywhere.u32 %r1, [%r2];", "prmt.b32.f5e %r1, %r1, %r1, %r1;",
     "prmt.f4e.b32 %r1, %r1, %r1, %r1;", "lop3.xor.b32 %r1|%p1, %r1, %r1, %r1, 1, %p1;",
     "lop3.or.b32 %r1, %r1, %r1, %r1, 1, %p1;", "cvt.pack.sat.u32.s32 %r1, %r1, %r1;",
     "cvt.pack.u8.s32.b32 %r1, %r1, %r1, %r1;", "mad.lo.sat.s32 %r1, %r1, %r1, %r1;",
     "fence.proxy;", "movmatrix.sync.aligned.m8n8.b16 %r1, %r1;"],
)  # fmt: skip
def test_a_modifier_or_operand_that_is_not_known_is_not_guessed_at(instruction: str) -> None:
    with pytest.raises(UnknownInstruction, match="kernel k"):
        launch(parse(ptx_kernel(instruction)), "k", 1, 1, [])


@pytest.mark.parametrize(
    ("text", "match"),
    [("", "no .version"), ("int main() {}", "PTX line 1"),
     (MODULE_TEXT[: len(MODULE_TEXT) // 2], "PTX line"),
     (MODULE_TEXT.replace("ret;", "ret"), "expected"), (".version 8.0\n\x00", "PTX line 2"),
     (MODULE_TEXT.replace("%tid.x;", "%tid.x, ;"), "PTX line"),
     (MODULE_TEXT.replace("ret;", "bra $nowhere; ret;"), None)],
)  # fmt: skip
def test_text_that_is_not_ptx_is_refused_with_its_line(text: str, match: str | None) -> None:
    if match is None:
        with pytest.raises(UnknownInstruction, match="no label"):
            launch(parse(text), "k", 1, 1, [np.zeros(1), 1, 1.0])
        return
    with pytest.raises(PtxSyntaxError, match=match):
        parse(text)


def test_a_truncated_file_never_ends_in_anything_but_a_clear_error(compile_ptx) -> None:
    whole = ptx_kernel("add.u32 %r1, %r1, 1;\n st.shared.v2.u32 [%r1+4], {%r1, %r2};", PARAMS)
    for end in range(0, len(whole), 7):
        try:
            parse(whole[:end])
        except PtxSyntaxError:
            continue


def test_every_kernel_of_a_module_is_listed_with_its_templates(compile_ptx: CompilePtx) -> None:
    source = """
    template <int N> __global__ void f(float* x) { x[threadIdx.x] += N; }
    template __global__ void f<1>(float*);
    template __global__ void f<2>(float*);
    extern "C" __global__ void g(double x, char c, short s, float* p) { p[c] = x + s; }
    """
    module = compile_ptx(source)
    assert len(module.kernels) == 3
    kinds = [(p.type, p.size) for p in module.kernels["g"].params]
    assert [size for _, size in kinds] == [8, 1, 2, 8]
    assert kinds[0][0] == "f64"
    x = np.zeros(4, np.float32)
    name = next(k for k in module.kernels if "ILi2E" in k)
    launch(module, name, 1, 4, [x])
    assert x.tolist() == [2, 2, 2, 2]
