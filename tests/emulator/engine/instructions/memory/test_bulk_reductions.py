"""Bulk copies that reduce into global memory, compared element by element."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import ptx_kernel, run
from reference.semantics import atomic

from harness.emulator import UnknownInstruction, launch, parse

RANDOM = np.random.default_rng(6)
DECLARED = ".shared .align 16 .b8 s[512];"
NAMES = [
    *(f"add.{t}" for t in ("u32", "s32", "u64")), "inc.u32", "dec.u32",
    *(f"{n}.{t}" for n in ("min", "max") for t in ("u32", "s32", "u64", "s64")),
    *(f"{n}.b{w}" for n in ("and", "or", "xor") for w in (32, 64)),
]  # fmt: skip


def _kernel(name: str, size: int = 512, before: str = "bar.sync 0;") -> str:
    """Blocks of 64 threads, each of which provides 8 bytes; one thread issues the reduction of all
    these bytes."""
    return ptx_kernel(f"""ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p1]; mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r1, %r1, 64, %i; mad.wide.u32 %a1, %r1, 8, %a1; ld.global.u64 %l1, [%a1];
    mov.u32 %r2, s; mad.lo.u32 %r3, %i, 8, %r2; st.shared.u64 [%r3], %l1;
    fence.proxy.async.shared::cta; {before} setp.ne.u32 %p1, %i, 0; @%p1 bra END;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [%a0], [%r2], {size};
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
END:""", ["u64", "u64"], DECLARED)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_integers_are_reduced_as_by_an_atomic_each(name: str) -> None:
    operation, _, type_ = name.partition(".")
    dtype = np.dtype(f"u{int(type_[1:]) // 8}")
    total = RANDOM.integers(0, np.iinfo(dtype).max, 512 // dtype.itemsize, dtype)
    given = RANDOM.integers(0, np.iinfo(dtype).max, (3, len(total)), dtype)
    wanted = total.tolist()
    for row in given.tolist():
        wanted = [atomic(operation, type_, a, b) for a, b in zip(wanted, row, strict=True)]
    run(parse(_kernel(name)), "k", 3, 64, [total, given])
    assert total.tolist() == wanted


@pytest.mark.parametrize("name", ["add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16"])
def test_floats_are_added(name: str) -> None:
    size = {"f32": 4, "f64": 8}.get(name[4:], 2)
    dtype, shift = (
        (np.dtype(np.float32), 16) if name.endswith("bf16") else (np.dtype(f"f{size}"), 0)
    )
    start = RANDOM.integers(-16, 16, 512 // size).astype(dtype)
    given = RANDOM.integers(-16, 16, (2, len(start))).astype(dtype)
    wanted = start + given.sum(axis=0)

    def bits(values: np.ndarray) -> np.ndarray:
        raw = np.ascontiguousarray(values).view(f"u{dtype.itemsize}")
        return (raw >> np.uint32(16)).astype(np.uint16) if shift else raw

    total = bits(start)
    run(parse(_kernel(name)), "k", 2, 64, [total, bits(given)])
    assert (total == bits(wanted)).all()


def test_elements_that_several_blocks_reduce_into_are_no_race_but_a_store_beside_is() -> None:
    total, given = np.zeros(64, np.uint64), np.ones((4, 64), np.uint64)
    run(parse(_kernel("add.u64")), "k", 4, 64, [total, given])
    assert (total == 4).all()
    store = "@%p2 st.global.u64 [%a0], %l1; bar.sync 0;"
    text = _kernel("add.u64", before="setp.eq.u32 %p2, %r1, 64; " + store)
    (fault,) = launch(parse(text), "k", 2, 64, [total, given]).faults
    assert fault.kind == "race"


def test_what_is_wrong_with_a_bulk_copy_is_wrong_with_one_that_reduces() -> None:
    given = np.ones((1, 64), np.uint64)
    for size, bytes_there, kind in ((512, 504, "out of bounds"), (24, 512, "misaligned")):
        total = np.zeros(bytes_there // 8, np.uint64)
        (fault,) = launch(parse(_kernel("add.u64", size)), "k", 1, 64, [total, given]).faults
        assert fault.kind == kind
    total = np.zeros(64, np.uint64)
    (fault,) = launch(parse(_kernel("add.u64", before="")), "k", 1, 64, [total, given]).faults
    assert fault.kind == "race"
    known = {0: np.zeros(512, np.bool_)}
    (fault,) = launch(parse(_kernel("add.u64")), "k", 1, 64, [total, given], written=known).faults
    assert fault.kind == "uninitialised"


@pytest.mark.parametrize(
    "text",
    ["global.shared::cta.bulk_group.add.f16 [%l1], [%r1], 16;",
     "global.shared::cta.bulk_group.min.f32 [%l1], [%r1], 16;",
     "global.shared::cta.bulk_group.min.noftz.f16 [%l1], [%r1], 16;",
     "global.shared::cta.add.u32 [%l1], [%r1], 16;",
     "shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%r1], [%r1], 16, [%r2];"],
)  # fmt: skip
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel("cp.reduce.async.bulk." + text)), "k", 1, 1, [])
