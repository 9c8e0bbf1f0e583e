"""Bulk copies to another block's shared memory, and to several blocks, and reductions there:
correct and faulty ones, from PTX and from machine code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reference.semantics import atomic
from sass.asynchronous.both import Both, Case, together
from sass.asynchronous.test_same_as_ptx import MEET, OF_RED_ASYNC, TELLS
from tensor_kernels import WAIT, kernel

from harness.emulator import Fault, TensorMap, UnknownInstruction, launch, parse
from harness.emulator.sass import launch_machine_code

BLOCKS, SIZE = 4, 128
TO_ANOTHER = "shared::cluster.shared::cta"
COPY = f"cp.async.bulk.{TO_ANOTHER}.{TELLS} [%r26], [%r2], 128, [%r25];"
FROM_GLOBAL = f"cp.async.bulk.shared::cluster.global.{TELLS} [%r26], [%l2], 128, [%r25];"
BOX = f"cp.async.bulk.tensor.1d.shared::cluster.global.tile.{TELLS} [%r26], [%l1, {{0}}], [%r25];"
REDUCE = f"cp.reduce.async.bulk.{TO_ANOTHER}.{TELLS}"
MANY = f"""mov.b16 %h1, 10; setp.ne.u32 %p5, %r20, 2; @%p5 bra ASKED;
    cp.async.bulk.shared::cluster.global.{TELLS}.multicast::cluster \
[%r10], [%l2], 128, [%r3], %h1;"""
FIRST = """mapa.shared::cluster.u32 %r26, %r10, 0; mapa.shared::cluster.u32 %r25, %r3, 0;"""


def _between(
    copy: str, waits: str = "", fence: str = "fence.proxy.async;", expected: int = SIZE,
    then: str = "", before: str = "", end: str = MEET,
) -> str:  # fmt: skip
    """Each block's first 128 bytes contain its rank times 100, plus the thread index; the next 128
    bytes contain 150 until the preceding block's bytes arrive there. `waits`: the condition under
    which a block waits."""
    return kernel(f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
        fence.mbarrier_init.release.cluster; mov.u32 %r20, %cluster_ctarank;
        add.u32 %r21, %r20, 1; and.b32 %r21, %r21, 3;
        add.u32 %r10, %r2, 128; shl.b32 %r9, %r1, 2; add.u32 %r11, %r2, %r9; mov.u32 %r12, 150;
        mad.lo.u32 %r13, %r20, 100, %r1; st.shared.u32 [%r11], %r13; st.shared.u32 [%r11+128], %r12;
        mapa.shared::cluster.u32 %r26, %r10, %r21; mapa.shared::cluster.u32 %r25, %r3, %r21;
        {fence} {MEET} {before} @%p1 bra ASKED;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {expected}; {copy}
        ASKED: {then} and.b32 %r14, %r20, 1; {waits}
        {WAIT}
        LEAVES: ld.shared.u32 %r12, [%r11+128]; mad.lo.u32 %r9, %r20, 128, %r9;
        cvt.u64.u32 %l5, %r9; add.u64 %l6, %l2, %l5; {end} st.global.u32 [%l6], %r12;""")


ODD_WAIT = "setp.eq.u32 %p6, %r14, 0; @%p6 bra LEAVES;"
FIRST_WAITS = "setp.ne.u32 %p6, %r20, 0; @%p6 bra LEAVES;"
OWN = np.arange(BLOCKS)[:, None] * 100 + np.arange(32)
BEFORE = np.roll(OWN, 1, axis=0)
GIVEN = np.arange(1000, 1032)


def _reduced(operation: str, type_: str) -> np.ndarray:
    # For 64-bit numbers, these are pairs of words.
    if type_.endswith("64"):
        wide = BEFORE.astype(np.uint32).view(np.uint64) + np.full(32, 150, np.uint32).view(
            np.uint64
        )
        return wide.view(np.int32)
    values = [[atomic(operation, type_, 150, each) for each in row] for row in BEFORE.tolist()]
    return np.array(values, np.uint32).view(np.int32)


RIGHT = {
    "copy": (_between(COPY), BEFORE),
    "from_global": (_between(FROM_GLOBAL), np.tile(GIVEN, (BLOCKS, 1))),
    "box": (_between(BOX), np.tile(GIVEN - 900, (BLOCKS, 1))),
    "many": (_between(MANY, ODD_WAIT), np.where(np.arange(BLOCKS)[:, None] % 2, GIVEN, 150)),
    "all_into_the_first": (
        _between(FIRST + f"{REDUCE}.add.u32 [%r26], [%r2], 128, [%r25];", FIRST_WAITS,
                 expected=SIZE * BLOCKS),
        np.where(np.arange(BLOCKS)[:, None], 150, 150 + OWN.sum(axis=0)),
    ),
    **{
        f"{operation}_{type_}": (
            _between(f"{REDUCE}.{operation}.{type_} [%r26], [%r2], 128, [%r25];"),
            _reduced(operation, type_),
        )
        for operation, type_ in OF_RED_ASYNC
    },
}  # fmt: skip
WRONG = {
    "read_before_it_came": ("race", _between(COPY, "bra LEAVES;")),
    "without_a_fence_of_proxies": ("race", _between(COPY, fence="")),
    "source_changed_too_early": (
        "race", _between(COPY, then="bar.sync 0; @%p1 bra KEPT; st.shared.u32 [%r11], %r1; KEPT:")),
    "sum_read_before_all_came": (
        "race", _between(RIGHT["all_into_the_first"][0].partition("_, [%r3], 512; ")[2].partition(
            "ASKED:")[0], "bra LEAVES;", expected=SIZE * BLOCKS)),
    "block_leaves": ("cluster", _between(
        COPY, before="setp.eq.u32 %p6, %r20, 2; @%p6 bra GONE;", end="").replace(
        "[%l6], %r12;", "[%l6], %r12; GONE:")),
    "source_misaligned": ("misaligned", _between(COPY.replace("[%r2]", "[%r2+8]"))),
    "target_misaligned": ("misaligned", _between(COPY.replace("[%r26]", "[%r26+4]"))),
    "no_such_rank": ("out of bounds", _between(MANY.replace("%h1, 10", "%h1, 48"), ODD_WAIT)),
    "past_the_end": ("out of bounds", _between(COPY.replace("[%r26]", "[%r26+8064]"))),
    "fewer_bytes": ("deadlock", _between(COPY.replace("128", "112"))),
    "global_read_before_it_came": ("race", _between(FROM_GLOBAL, "bra LEAVES;")),
    "box_read_before_it_came": ("race", _between(BOX, "bra LEAVES;")),
    "box_past_the_end": ("out of bounds", _between(BOX.replace("[%r26]", "[%r26+8064]"))),
    "box_to_a_block_that_leaves": ("cluster", _between(
        BOX, before="setp.eq.u32 %p6, %r20, 2; @%p6 bra GONE;", end="").replace(
        "[%l6], %r12;", "[%l6], %r12; GONE:")),
    **{
        f"own_mbarrier_of_{name}": ("mbarrier", _between(copy.replace("%r25", "%r3")))
        for name, copy in {"copy": COPY, "from_global": FROM_GLOBAL, "box": BOX}.items()
    },
    "own_target_and_anothers_mbarrier": ("mbarrier", _between(BOX.replace("%r26", "%r10"))),
}  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    texts = {name: text for name, (text, _) in RIGHT.items()}
    texts |= {name: text for name, (_, text) in WRONG.items()}
    cases = [Case(name, text, list) for name, text in texts.items()]
    return together(cases, tmp_path_factory.mktemp("between"))


def _faults(both: Both, name: str) -> list[tuple[tuple[Fault, ...], np.ndarray]]:
    """The reports of PTX and of machine code, and the numbers that they store."""
    outs = [np.zeros((BLOCKS, 32), np.int32) for _ in range(2)]
    for out in outs:
        out[0] = GIVEN
    given = [[TensorMap((GIVEN - 900).astype(np.int32), [32]), out.reshape(-1)] for out in outs]
    shape = (name, BLOCKS, 32)
    ptx = launch(both.ptx, *shape, given[0], cluster=BLOCKS)
    code = launch_machine_code(both.code, *shape, given[1], cluster=BLOCKS, ptx=both.ptx)
    return list(zip((ptx.faults, code.faults), outs, strict=True))


@pytest.mark.parametrize("drop", ["", "_drop"])
def test_an_arrival_that_must_not_end_the_phase_and_does_is_a_fault(
    tmp_path: Path, drop: str
) -> None:
    within = "noComplete.release.cta.shared::cta.b64"
    text = kernel(
        f"""@!%p1 mbarrier.init.shared::cta.b64 [%r3], 96; bar.sync 0;
        mbarrier.arrive{drop}.{within} %l7, [%r3], 3; st.global.u64 [%l2], %l7;"""
    )
    both = together([Case("k", text, list)], tmp_path)
    arguments = [bytes(128), np.zeros(8, np.int32)]
    ptx = launch(both.ptx, "k", 1, 32, arguments)
    code = launch_machine_code(both.code, "k", 1, 32, arguments, ptx=both.ptx)
    for fault in (*ptx.faults, *code.faults):
        assert (fault.kind, "ends the mbarrier's phase" in fault.message) == ("mbarrier", True)
    assert len(ptx.faults) == len(code.faults) == 1


@pytest.mark.parametrize("name", RIGHT)
def test_bulk_copies_go_to_other_blocks(both: Both, name: str) -> None:
    for faults, out in _faults(both, name):
        assert not faults, faults[0]
        assert np.array_equal(out, RIGHT[name][1])


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_them_is_a_fault(both: Both, name: str) -> None:
    assert [fault.kind for faults, _ in _faults(both, name) for fault in faults] == (
        [WRONG[name][0]] * 2
    )


def test_a_size_that_is_no_multiple_of_sixteen_is_named_with_the_unit() -> None:
    module = parse(_between(COPY.replace("128", "120")))
    arguments = [bytes(128), np.zeros(128, np.int32)]
    (fault,) = launch(module, "k", BLOCKS, 32, arguments, cluster=BLOCKS).faults
    assert "120 bytes, which is not a multiple of 16" in fault.message


@pytest.mark.parametrize(
    "change",
    [(".add.u32 ", ".add.f32 "), (".add.u32 ", ".min.u64 "), (".add.u32 ", ".and.b64 "),
     ("shared::cluster.shared::cta", "shared::cta.shared::cta")],
)  # fmt: skip
def test_what_ptxas_refuses_is_refused(change: tuple[str, str]) -> None:
    text = RIGHT["add_u32"][0]
    assert text.count(change[0]) == 1
    with pytest.raises(UnknownInstruction):
        launch(
            parse(text.replace(*change)), "k", BLOCKS, 32, [bytes(128), np.zeros(128)], cluster=4
        )
