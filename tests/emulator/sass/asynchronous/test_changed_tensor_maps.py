"""Kernels that change tensor maps leave the bytes that the driver would encode, from PTX and from
machine code, and copy with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine.checks.test_tensor_faults import changed_map, of_changed_map
from sass.asynchronous.both import Both, Case, launched, together
from tensor_kernels import kernel

from harness.emulator.memory.tensor_maps import encoded
from harness.silicon.tensor_maps import TensorLayout

LAYOUT = TensorLayout(
    "u8", (300, 70, 6, 5, 4), (32, 3, 2, 1, 2), (512, 1 << 20, 1 << 30, 7 << 36), (1, 2, 1, 3, 1),
    "64B", "none", "zero", "128B",
)  # fmt: skip
ADDRESS = 0x7_1234_5600
DERIVED = slice(64, 80)
"""The fields that the driver computes from others, and that code does not change."""


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


Change = Callable[[TensorLayout], TensorLayout]
FIELDS: dict[str, tuple[str, Change]] = {
    "rank": ("rank {0}.b32 [{1}], 3", lambda each: each),
    **{f"box_{n}": (f"box_dim {{0}}.b32 [{{1}}], {n}, %r20",
                    lambda each, n=n: replace(each, box=_with(each.box, n, 96)))
       for n in range(5)},
    **{f"size_{n}": (f"global_dim {{0}}.b32 [{{1}}], {n}, %r20",
                     lambda each, n=n: replace(each, shape=_with(each.shape, n, 96)))
       for n in range(5)},
    **{f"stride_{n}": (f"global_stride {{0}}.b64 [{{1}}], {n}, %l12",
                       lambda each, n=n: replace(each, strides=_with(each.strides, n, 5 << 34)))
       for n in range(4)},
    **{f"step_{n}": (f"element_stride {{0}}.b32 [{{1}}], {n}, %r21",
                     lambda each, n=n: replace(each, steps=_with(each.steps, n, 7)))
       for n in range(5)},
    **{f"element_{n}": (f"elemtype {{0}}.b32 [{{1}}], {n}",
                        lambda each, type_=type_: replace(each, element=type_))
       for n, type_ in ((1, "u16"), (8, "f32_ftz"), (9, "f64"), (10, "bf16"), (11, "tf32"),
                        (12, "tf32_ftz"))},
    "swizzle": ("swizzle_mode {0}.b32 [{1}], 3", lambda each: replace(each, swizzle="128B")),
    "interleave": ("interleave_layout {0}.b32 [{1}], 2",
                   lambda each: replace(each, interleave="32B")),
    "fill": ("fill_mode {0}.b32 [{1}], 1", lambda each: replace(each, fill="nan")),
}  # fmt: skip


def _changes(field: str) -> str:
    """A kernel whose first thread changes a map in shared memory, and one in global memory."""
    in_shared, in_global = (
        f"tensormap.replace.tile.{FIELDS[field][0].replace(' {0}', '{0}').format(*each)};"
        for each in ((".shared::cta.b1024", "%r2"), (".global.b1024", "%l2"))
    )
    copies = "".join(
        f"ld.global.u64 %l9, [%l2+{n}]; st.shared.u64 [%r2+{n}], %l9;" for n in range(0, 128, 8)
    )
    back = "".join(
        f"ld.shared.u64 %l9, [%r2+{n}]; st.global.u64 [%l2+{n + 128}], %l9;"
        for n in range(0, 128, 8)
    )
    return kernel(f"""@%p1 bra END; ld.global.u64 %l12, [%l2+256]; ld.global.u32 %r20, [%l2+264];
        ld.global.u32 %r21, [%l2+268]; {copies} {in_shared} {in_global} {back} END:""")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    cases = [Case(field, _changes(field), list) for field in FIELDS]
    return together(
        [*cases, Case("copies", changed_map(), list)], tmp_path_factory.mktemp("changed")
    )


def _given() -> list[Any]:
    memory = np.zeros(272, np.uint8)
    memory[:128] = np.frombuffer(encoded(LAYOUT, ADDRESS), np.uint8)
    memory[256:264] = np.array([5 << 34], np.uint64).view(np.uint8)
    memory[264:] = np.array([96, 7], np.uint32).view(np.uint8)
    return [bytes(128), memory]


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_put_where_the_driver_puts_it(both: Both, field: str) -> None:
    wanted = bytearray(encoded(FIELDS[field][1](LAYOUT), ADDRESS))
    if field == "rank":
        wanted[8] = wanted[8] & ~0x70 | 3 << 4
    wanted[DERIVED] = encoded(LAYOUT, ADDRESS)[DERIVED]
    ptx, code, theirs, ours = launched(both, Case(field, "", _given))
    for report, given in ((ptx, theirs), (code, ours)):
        assert not report.faults, report.faults[0]
        assert given[1][:128].tobytes() == given[1][128:256].tobytes() == bytes(wanted)


def test_a_copy_by_a_changed_map_is_the_same_from_machine_code(both: Both) -> None:
    given, wanted = of_changed_map()
    _, code, theirs, ours = launched(both, Case("copies", "", lambda: given))
    assert not code.faults, code.faults[0]
    assert (theirs[1] == wanted).all()
    assert (ours[1] == wanted).all()


def test_bytes_that_are_no_map_are_a_fault(tmp_path: Path) -> None:
    text = kernel("""cp.async.bulk.tensor.1d.shared::cluster.global.tile\
.mbarrier::complete_tx::bytes [%r2], [%l2, {0}], [%r3];""")
    case = Case("k", text, lambda: [bytes(128), np.full(128, 3, np.uint8)], block=1)
    ptx, code, *_ = launched(together([case], tmp_path), case)
    assert [each.kind for report in (ptx, code) for each in report.faults] == ["tensor map"] * 2
