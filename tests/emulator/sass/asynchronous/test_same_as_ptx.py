"""Hopper's asynchronous instructions in machine code: results are bit-identical to those of PTX.

Each kernel has one form of an instruction, or a few. No hardware readings support the counts of
these instructions, so no counter of such a launch is called exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from sass.asynchronous.both import Both, Case, launched_alike, together
from tensor_kernels import DONE, DUMP, FETCH, INIT, WAIT, kernel

from harness.emulator import TensorMap
from harness.emulator.sass.counters.asynchronous import waits_in_a_loop
from harness.emulator.sass.instructions import hopper

TELLS = "mbarrier::complete_tx::bytes"
OUT = 256
REDUCTIONS = [
    *product(("add", "min", "max"), ("u32", "s32", "u64")), *product(("min", "max"), ("s64",)),
    *product(("and", "or", "xor"), ("b32", "b64")), ("inc", "u32"), ("dec", "u32"),
    ("add", "f32"), ("add", "f64"), ("add.noftz", "f16"), ("add.noftz", "bf16"),
]  # fmt: skip
OF_RED_ASYNC = [
    *product(("add", "min", "max"), ("u32", "s32")), ("add", "u64"), ("inc", "u32"), ("dec", "u32"),
    *product(("and", "or", "xor"), ("b32",)),
]  # fmt: skip


def _random(dtype: Any, count: int, seed: int = 7) -> np.ndarray:
    raw = np.random.default_rng(seed).integers(0, 120, count * np.dtype(dtype).itemsize, np.uint8)
    return raw.view(dtype)


def _own(body: str, size: int = OUT) -> str:
    """A kernel with the same header as those with tensor maps, but with a pointer instead of the
    map; %l1 holds a second pointer, to the data that it reads."""
    text = kernel(body).replace(".param .align 64 .b8 map[128]", ".param .u64 map")
    return text.replace("mov.b64 %l0, map; cvta.param.u64 %l1, %l0;", "ld.param.u64 %l1, [map];")


def _simple(name: str, body: str, size: int = OUT, **more: Any) -> Case:
    def arguments() -> list[Any]:
        return [_random(np.uint8, 4096), _random(np.uint8, size, 8)]

    return Case(name, _own(body), arguments, **more)


RESULT = "mul.wide.u32 %l5, %r1, 4; add.u64 %l6, %l2, %l5; st.global.u32 [%l6], {0};"
PHASE = "selp.u32 %r12, 1, 0, %p2;"
SET = "@!%p1 mbarrier.init.shared::cta.b64 [%r3], {0}; bar.sync 0;"


def _mbarriers() -> Iterator[Case]:
    def arrival(name: str, arrives: str, count: int = 32) -> Case:
        after = "mbarrier.test_wait.shared::cta.b64 %p2, [%r3], %l7;"
        told = "mbarrier.pending_count.b64 %r13, %l7; mad.lo.u32 %r12, %r13, 2, %r12;"
        own = f"{SET.format(count)} {arrives} bar.sync 0; {after} {PHASE} {told}"
        return _simple(name, own + RESULT.format("%r12"))

    at = ".shared::cta.b64 %l7, [%r3]"
    yield arrival("arrive", f"mbarrier.arrive{at};")
    yield arrival("arrive_with_a_count", f"mbarrier.arrive{at}, 3;", 96)
    yield arrival("arrive_and_drop", f"mbarrier.arrive_drop{at};")
    yield arrival("drop_a_count", f"mbarrier.arrive_drop{at}, 2;", 65)
    yield arrival(
        "expect",
        f"""mbarrier.arrive.expect_tx{at}, 16;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16;""",
    )
    yield arrival(
        "expect_and_wait",
        f"""mbarrier.arrive.expect_tx{at}, 16; bar.sync 0;
        mbarrier.test_wait.shared::cta.b64 %p2, [%r3], %l7; {PHASE}
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16;""",
    )
    yield arrival(
        "expect_apart",
        f"""mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 8;
        mbarrier.arrive{at}; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 8;""",
    )
    yield _simple(
        "three_phases",
        SET.format(32)
        + """mov.u32 %r20, 0; mov.u32 %r21, 0;
        ROUND: mbarrier.arrive.shared::cta.b64 _, [%r3]; and.b32 %r22, %r20, 1;
        AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r22; @!%p2 bra AGAIN;
        mad.lo.u32 %r21, %r21, 3, %r22; add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 3;
        @%p3 bra ROUND;"""
        + RESULT.format("%r21"),
    )
    within = "noComplete.release.cta.shared::cta.b64"
    yield arrival("arrive_within", f"mbarrier.arrive.{within} %l7, [%r3], 3;", 100)
    yield arrival("drop_within", f"mbarrier.arrive_drop.{within} %l7, [%r3], 2;", 80)
    yield _simple(
        "arrive_within_at_two",
        f"""and.b32 %r9, %r1, 1; mad.lo.u32 %r10, %r9, 8, %r2; setp.lt.u32 %p4, %r1, 2;
        @%p4 mbarrier.init.shared::cta.b64 [%r10], 70; bar.sync 0;
        setp.gt.u32 %p4, %r1, 20; @%p4 bra LAST; mbarrier.arrive.{within} %l7, [%r10], 2;
        mbarrier.pending_count.b64 %r12, %l7; bra END;
        LAST: mbarrier.arrive.shared::cta.b64 %l7, [%r10]; mbarrier.pending_count.b64 %r12, %l7;
        END: mad.lo.u32 %r12, %r9, 1000, %r12;"""
        + RESULT.format("%r12"),
    )
    alias = "st.shared.u32 [%r2], %r1; fence.proxy.alias; ld.shared.u32 %r12, [%r2];"
    yield _simple("fence_of_aliases", f"setp.eq.u32 %p4, %r1, 3; @%p1 bra END; {alias} "
                  f"selp.u32 %r12, 5, %r12, %p4; {RESULT.format('%r12')} END:")  # fmt: skip
    # A warp that waits for the lanes of another one.
    yield _simple(
        "warps",
        SET.format(32)
        + """setp.lt.u32 %p4, %r1, 32; and.b32 %r9, %r1, 31;
        mad.lo.u32 %r10, %r9, 4, %r2; @%p4 bra WAITS; st.shared.u32 [%r10], %r1;
        mbarrier.arrive.shared::cta.b64 _, [%r3];
        WAITS: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0, 100; @!%p2 bra WAITS;
        ld.shared.u32 %r12, [%r10];"""
        + RESULT.format("%r12"),
        256,
        block=64,
    )
    for counts in ("", ".noinc"):
        count = 32 if counts else 1
        body = f"""{SET.format(count)} shl.b32 %r9, %r1, 4; add.u32 %r10, %r2, %r9;
        cvt.u64.u32 %l8, %r9;
            add.u64 %l9, %l1, %l8; cp.async.cg.shared.global [%r10], [%l9], 16;
            cp.async.mbarrier.arrive{counts}.shared::cta.b64 [%r3];
            {"" if counts else "bar.warp.sync -1; @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r3];"}
            {WAIT} xor.b32 %r9, %r9, 496; add.u32 %r10, %r2, %r9; ld.shared.u32 %r12, [%r10];"""
        yield _simple(f"copies{counts.replace('.', '_')}", body + RESULT.format("%r12"))


def _bulk() -> Iterator[Case]:
    first = f"{INIT} @%p1 bra WAITS; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {OUT};"
    yield _simple(
        "bulk_load",
        f"""{first}
        cp.async.bulk.shared::cluster.global.{TELLS} [%r2], [%l1], {OUT}, [%r3];
        WAITS: {WAIT} {DUMP.format(OUT)}""",
    )
    yield _simple(
        "bulk_load_with_a_policy",
        f"""{first} mov.b64 %l9, 0; mov.u32 %r9, {OUT};
        cp.async.bulk.shared::cluster.global.{TELLS}.L2::cache_hint [%r2], [%l1], %r9, [%r3], %l9;
        WAITS: {WAIT} {DUMP.format(OUT)}""",
    )
    store = f"{FETCH.format(OUT)} @%p1 bra END;"
    yield _simple(
        "bulk_store",
        f"""{store}
        cp.async.bulk.prefetch.L2.global [%l1], {OUT};
        cp.async.bulk.global.shared::cta.bulk_group [%l1], [%r2], {OUT}; {DONE} END:""",
    )
    for operation, type_ in REDUCTIONS:
        name = f"bulk_{operation}_{type_}".replace(".", "_")
        yield _simple(
            name,
            f"""{store} cp.reduce.async.bulk.global.shared::cta.bulk_group\
.{operation}.{type_} [%l1], [%r2], {OUT}; {DONE} END:""",
        )


def _list(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


TILES = [
    ([40], [16], "none", [-4]), ([64, 20], [32, 16], "128B", [-4, 11]),
    ([24, 7, 5], [8, 3, 4], "32B", [20, 5, -1]),
    ([12, 5, 4, 3], [4, 2, 3, 2], "none", [8, 1, -1, 2]),
    ([8, 3, 4, 3, 3], [16, 2, 2, 2, 2], "64B", [0, 2, 1, -1, 2]),
]  # fmt: skip
PIXELS = [
    ([16, 10, 3], [8, 7], [-1], [-1], [4, 2, 1], [2]),
    ([8, 7, 6, 3], [8, 30], [-1, -1], [-1, -1], [0, -1, 2, 0], [2, 1]),
    ([8, 5, 4, 3, 2], [8, 40], [0, -1, -1], [-1, 0, 0], [0, 1, 0, 1, 0], [1, 1, 2]),
]


def _load(at: Sequence[int], size: int, mode: str = "tile", more: str = "") -> str:
    return f"""{INIT} @%p1 bra WAITS; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};
        prefetch.tensormap [%l1];
        cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.{mode}.{TELLS} \
[%r2], [%l1, {_list(at)}], [%r3]{more}; WAITS: {WAIT} {DUMP.format(size)}"""


def _store(at: Sequence[int], size: int, mode: str = "tile", operation: str = "") -> str:
    how = f"cp.reduce.async.bulk.tensor.{len(at)}d.global.shared::cta.{operation}"
    if not operation:
        how = f"cp.async.bulk.tensor.{len(at)}d.global.shared::cta"
    return f"""{FETCH.format(size)} @%p1 bra END;
        {how}.{mode}.bulk_group [%l1, {_list(at)}], [%r2]; {DONE} END:"""


def _boxes() -> Iterator[Case]:
    def case(name: str, body: str, size: int, map_: Any) -> Case:
        return Case(name, kernel(body), lambda: [map_(), _random(np.uint8, size, 9)])

    for shape, box, swizzle, at in TILES:
        size = 4 * int(np.prod(box))

        def tile(shape: Any = shape, box: Any = box, swizzle: str = swizzle) -> TensorMap:
            return TensorMap(_random(np.float32, int(np.prod(shape))), box, shape, swizzle=swizzle)

        name = f"{len(shape)}d"
        yield case(f"load_{name}", _load(at, size), size, tile)
        yield case(f"store_{name}", _store([max(0, n) for n in at], size), size, tile)
    prefetches = """prefetch.global.L2 [%l2]; prefetch.global.L1 [%l2];
        prefetch.global.L2::evict_last [%l2];
        cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%l1, {0}];"""
    yield case("prefetches", prefetches + _load([0], 64), 64,
               lambda: TensorMap(_random(np.float32, 16), [16], [16]))  # fmt: skip
    for shape, box, lower, upper, at, offsets in PIXELS:
        size = 4 * int(np.prod(box))

        def pixels(s: Any = shape, b: Any = box, lo: Any = lower, up: Any = upper) -> TensorMap:
            return TensorMap(_random(np.float32, int(np.prod(s))), b, s, lower=lo, upper=up)

        name = f"pixels_{len(shape)}d"
        body = _load(at, size, "im2col", f", {_list(offsets)}")
        yield case(f"load_{name}", body, size, pixels)
        inside = [max(0, each) for each in lower]  # no GPU stores with a negative corner
        further = [i - n for i, n in zip(inside, lower, strict=True)]
        moved = [a + f for a, f in zip(at, [0, *further, 0], strict=True)]
        stored = partial(pixels, lo=inside)
        yield case(f"store_{name}", _store(moved, size, "im2col_no_offs"), size, stored)
    for operation, dtype in (("add", np.uint32), ("min", np.int32), ("max", np.int64),
                             ("xor", np.uint64), ("inc", np.uint32), ("dec", np.uint32),
                             ("add", np.float32), ("add", np.float16)):  # fmt: skip

        def values(dtype: Any = dtype) -> TensorMap:
            return TensorMap(_random(dtype, 128), [64 // np.dtype(dtype).itemsize, 4], [32, 4])

        name = f"{operation}_{np.dtype(dtype).name}"
        yield case(f"tensor_{name}", _store([8, 1], 256, operation=operation), 256, values)
    # Every lane requests its own box, so the machine code loops over the lanes.
    yield case("all_lanes_load", f"""{SET.format(32)}
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128; shl.b32 %r9, %r1, 7;
        add.u32 %r10, %r2, %r9; cp.async.bulk.tensor.2d.shared::cluster.global.tile.{TELLS} \
[%r10], [%l1, {{0, %r1}}], [%r3]; {WAIT} {DUMP.format(4096)}""", 4096,
               lambda: TensorMap(_random(np.float32, 32 * 32), [32, 1], [32, 32]))  # fmt: skip
    yield case("all_lanes_store", f"""{FETCH.format(4096)} shl.b32 %r9, %r1, 7;
    add.u32 %r10, %r2, %r9;
        sub.u32 %r11, 31, %r1; cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group \
[%l1, {{0, %r11}}], [%r10]; {DONE}""", 4096,
               lambda: TensorMap(_random(np.float32, 32 * 32), [32, 1], [32, 32]))  # fmt: skip


MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
NEXT = """mov.u32 %r20, %cluster_ctarank; mov.u32 %r23, %cluster_nctarank; add.u32 %r21, %r20, 1;
    rem.u32 %r21, %r21, %r23; mapa.shared::cluster.u32 %r24, %r2, %r21;
    mapa.shared::cluster.u32 %r25, %r3, %r21;"""
MINE = "mad.wide.u32 %l2, %r20, 128, %l2;"


def _clusters() -> Iterator[Case]:
    def case(name: str, body: str, blocks: int = 4) -> Case:
        return _simple(name, body, 4 * OUT, grid=blocks, cluster=blocks)

    def told(name: str, body: str, size: int, result: str = "%r12") -> Case:
        return case(
            name,
            f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; {NEXT} shl.b32 %r9, %r1, 4;
            add.u32 %r10, %r2, %r9; mov.u64 %l8, 5; st.shared.v2.u64 [%r10], {{%l8, %l8}};
            @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size}; {MEET}
            add.u32 %r26, %r24, %r9;
            {body} {WAIT} ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r10];
            add.u32 %r12, %r12, %r11; mad.lo.u32 %r12, %r13, 3, %r12; {MINE}
            mad.lo.u32 %r12, %r14, 5, %r12; {RESULT.format(result)} {MEET}""",
        )

    stores = f"st.async.weak.shared::cluster.{TELLS}"
    yield told("store_a_word", f"{stores}.b32 [%r26], %r1, [%r25];", 128)
    yield told("store_two_words", f"{stores}.b64 [%r26], %l8, [%r25];", 256)
    yield told("store_four_words", f"{stores}.v4.b32 [%r26], {{%r1, %r20, %r9, %r1}}, [%r25];", 512)
    for operation, type_ in OF_RED_ASYNC:
        value = "%l5" if "64" in type_ else "%r1"
        yield told(
            f"red_async_{operation}_{type_}",
            f"""cvt.u64.u32 %l5, %r1;
            red.async.relaxed.cluster.shared::cluster.{TELLS}.{operation}.{type_}
            [%r26], {value}, [%r25];
            """,
            256 if "64" in type_ else 128,
        )
    remote = f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 32; {NEXT} {MEET} shl.b32 %r9, %r1, 2;
        add.u32 %r26, %r24, %r9; mad.lo.u32 %r11, %r20, 100, %r1;"""
    leaves = f"{WAIT} add.u32 %r10, %r2, %r9; ld.shared.u32 %r12, [%r10]; {MINE}" + RESULT.format(
        "%r12"
    )
    yield case(
        "remote_store_and_arrival",
        f"""{remote} st.shared::cluster.u32 [%r26], %r11;
        mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r25]; {leaves} {MEET}""",
    )
    yield case(
        "remote_load",
        f"""{NEXT} mad.lo.u32 %r11, %r20, 100, %r1; shl.b32 %r9, %r1, 2;
        add.u32 %r10, %r2, %r9; st.shared.u32 [%r10], %r11; {MEET} add.u32 %r26, %r24, %r9;
        ld.shared::cluster.u32 %r12, [%r26]; {MINE} {RESULT.format("%r12")} {MEET}""",
    )
    yield case(
        "remote_atomic",
        f"""{NEXT} shl.b32 %r9, %r1, 2; add.u32 %r10, %r2, %r9; mov.u32 %r11, 7;
        st.shared.u32 [%r10], %r11; {MEET} mapa.shared::cluster.u32 %r24, %r10, 0;
        atom.shared::cluster.add.u32 %r12, [%r24], %r20; {MEET} ld.shared.u32 %r12, [%r10]; {MINE}
        {RESULT.format("%r12")}""",
    )
    yield case(
        "whose_shared_memory",
        f"""{NEXT} getctarank.shared::cluster.u32 %r12, %r24; {MINE}
        getctarank.shared::cluster.u32 %r13, %r2; mad.lo.u32 %r12, %r13, 16, %r12;
        {RESULT.format("%r12")}""",
    )
    registers = ("cluster_ctaid.x", "cluster_nctaid.x", "cluster_nctaid.y", "clusterid.x",
                 "nclusterid.x", "cluster_ctarank", "cluster_nctarank")  # fmt: skip
    read = "mov.u32 %r12, 0;" + "".join(
        f"mov.u32 %r13, %{each}; mad.lo.u32 %r12, %r12, 7, %r13;" for each in registers
    )
    own = "mov.u32 %r20, %ctaid.x;" + MINE
    yield _simple("registers", f"{read} {own} " + RESULT.format("%r12"), 768, grid=6, cluster=3)
    yield _simple("registers_without", f"{read} {own} " + RESULT.format("%r12"), 768, grid=6)


def _many() -> Iterator[Case]:
    tensor = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    body = f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1; mov.u32 %r20, %cluster_ctarank; {MEET}
        mov.b16 %h1, 13; @%p1 bra WAITS; setp.eq.u32 %p5, %r20, 1; @%p5 bra WAITS;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024; setp.ne.u32 %p6, %r20, 0;
        @%p6 bra WAITS;
        {tensor}.multicast::cluster [%r2], [%l1, {{4, 2}}], [%r3], %h1;
        WAITS: setp.eq.u32 %p5, %r20, 1; @%p5 bra LEAVES; {WAIT}
        mad.wide.u32 %l2, %r20, 1024, %l2; {DUMP.format(1024)} LEAVES: {MEET}"""
    yield Case("multicast", kernel(body), lambda: [
        TensorMap(_random(np.float32, 40 * 20), [32, 8], [40, 20]), _random(np.uint8, 4096)
    ], grid=4, cluster=4)  # fmt: skip


def _warp() -> Iterator[Case]:
    yield _simple("elect", """elect.sync %r12|%p2, -1; selp.u32 %r13, 100, 0, %p2;
        add.u32 %r12, %r12, %r13;"""
                  + RESULT.format("%r12"))  # fmt: skip
    yield _simple("elect_some", """mov.u32 %r12, 7; setp.lt.u32 %p3, %r1, 5; @%p3 bra END;
        elect.sync %r12|%p2, 0xffffffe0; selp.u32 %r13, 100, 0, %p2; add.u32 %r12, %r12, %r13;
        END:"""
                  + RESULT.format("%r12"))  # fmt: skip
    for count, turned in product((1, 2, 4), ("", ".trans")):
        words = ", ".join(f"%r{12 + n}" for n in range(count))
        values = "".join(f"mad.lo.u32 %r{12 + n}, %r1, {65539 + n}, {n};" for n in range(count))
        yield _simple(f"stmatrix{count}{turned.replace('.', '_')}", f"""{FETCH.format(512)} {values}
            shl.b32 %r9, %r1, 4; xor.b32 %r9, %r9, 48; add.u32 %r10, %r2, %r9;
            stmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16 [%r10], {{{words}}}; bar.sync 0;
            {DUMP.replace("MORE", "BACK").format(512)}""", 512)  # fmt: skip


CASES = [*_mbarriers(), *_bulk(), *_boxes(), *_clusters(), *_many(), *_warp()]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return together(CASES, tmp_path_factory.mktemp("asynchronous"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_machine_code_leaves_the_same_bits_as_ptx(both: Both, case: Case) -> None:
    code = launched_alike(both, case)
    asynchronous = case.cluster or any(
        each.warps and each.opcode.split(".")[0] in hopper.OPCODES for each in code.instructions
    )
    labels = {each.provenance for each in code.counters}
    if not asynchronous:
        assert labels == {"machine-exact"}
    if waits_in_a_loop(code.instructions):
        assert code.counter("smsp__inst_executed.sum").provenance == "emulator-model"
    assert labels <= {"machine-exact", "emulator-model"}
