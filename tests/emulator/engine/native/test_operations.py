"""Every operation of the warp machine gives the same bits as NumPy on arrays."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from machine_cases import GROUPS
from operation_kernels import BLOCKS, Group, kernel, operands, size_of
from reference.arrays.execution import execute

from harness.emulator import InstructionCount, LaunchReport, Module, launch
from harness.emulator.engine.library import Machine, load
from harness.emulator.engine.lowering.encode import encode
from harness.emulator.engine.raw_counts import instruction_counts
from harness.emulator.memory import arguments
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel

# Operations that no launch completes, or that do nothing, with the reason.
UNREACHED = dict.fromkeys(
    (
        "clock/4",
        "clock.hi/4",
        "clock/8",
        "enter_frame",
        "copy_struct",
        "printf",
        "assertfail",
        "clock used",
        "ld.phase/8",
        *(f"atom.{name}/u64" for name in ("arrive", "arrive.relaxed", "arrive_in_many")),
        *(f"atom.{name}/u64" for name in ("arrive_drop", "arrive_drop.relaxed")),
        *(f"atom.{name}/u64" for name in ("arrive.within", "arrive_drop.within")),
        # Only for vectors in global memory: sass/instructions/test_vector_atomics.py.
        *(f"atom.{name}.{half}/u16" for name in ("min", "max") for half in ("f16", "bf16")),
        *(f"atom.{name}.{half}x2/u32" for name in ("min", "max") for half in ("f16", "bf16")),
        "discard",  # only for global memory: instructions/memory/test_discard.py
        "copy_bulk",  # including copies that reduce
        "copy_tensor",  # including copies that reduce
        "bulk_commit",
        "bulk_wait",
        "copy_hand_over",
        *(f"{name}/{size}" for name in ("suld", "sust") for size in (1, 2, 4, 8)),
        "tex/f32",
        "tex/s32",
        "factor_words",
        "factor_read",
        "products_commit",
        "products_wait",
        *(f"{name}/{type_}" for name in ("mapa", "getctarank") for type_ in ("u32", "u64")),
        "cluster_arrive",
        "mbarrier_count",
        "set_registers",
        "products_hold",
    ),
    "it has tests of its own",
)
# Computed in double precision by functions that are not the same to the last bit everywhere.
APPROXIMATE = ("ex2", "lg2", "sin", "cos", "tanh")
_NOT_NUMBERS = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}

pytestmark = pytest.mark.skipif(not isinstance(load(), Machine), reason="no compiler")


@functools.cache
def _kernel(group: Group) -> Module:
    return kernel(group)


def _arrays(group: Group) -> list[np.ndarray]:
    size = max(size_of(group.result), 2)
    return [np.full(group.count, 0xA5, f"u{size}") for _ in group.instructions]


def _launched(group: Group, given: list[np.ndarray]) -> tuple[list[np.ndarray], LaunchReport]:
    results = _arrays(group)
    report = launch(_kernel(group), "k", BLOCKS, group.threads, [*given, *results])
    assert not report.faults, str(report.faults[0])
    return results, report


def _expected(
    group: Group, given: list[np.ndarray]
) -> tuple[list[np.ndarray], tuple[InstructionCount, ...]]:
    """The expected results and counts, computed on arrays."""
    module, results, memory = _kernel(group), _arrays(group), AddressSpace()
    entry = find_kernel(module, "k")
    program = translate(module, entry)
    arguments.pack(entry, [*given, *results], None, memory)
    counts = execute(program, BLOCKS, group.threads, memory, program.shared_static)
    return results, instruction_counts(program, counts)


def _canonical(type_: str, raw: np.ndarray) -> np.ndarray:
    """All NaNs are made equal, because NumPy's are those of the host. The bits of the engine's NaNs
    are tested in test_not_a_number.py."""
    if type_.endswith("x2") and type_ != "u16x2":
        half = f"u{raw.dtype.itemsize // 2}"
        return _canonical(type_.removesuffix("x2"), raw.view(half))
    if type_ not in _NOT_NUMBERS:
        return raw
    kind = raw.dtype.type
    infinite = kind(_NOT_NUMBERS[type_])
    magnitude = raw & kind((1 << 8 * raw.dtype.itemsize - 1) - 1)
    return np.where(magnitude > infinite, infinite + kind(1), raw)


def _ordered(raw: np.ndarray) -> np.ndarray:
    """Map floats to integers whose differences are the numbers of floats between them."""
    top = 1 << 8 * raw.dtype.itemsize - 1
    signed = raw.astype(object)
    return np.where(raw >= top, top - signed, signed)


@pytest.mark.parametrize("group", [pytest.param(g, id=g.name) for g in GROUPS])
def test_the_engine_computes_and_counts_as_arrays_do(group: Group) -> None:
    given = operands(group)
    wanted, counts = _expected(group, given)
    found, report = _launched(group, given)
    assert report.instructions == counts
    for text, a, b in zip(group.instructions, wanted, found, strict=True):
        mine, other = _canonical(group.result, a), _canonical(group.result, b)
        apart = mine != other
        inexact = any(t.startswith("wild") for t in group.sources)
        if inexact or any(name in text for name in APPROXIMATE):
            apart = np.abs(_ordered(mine) - _ordered(other)) > (64 if "f64" in text else 1)
        at = int(np.argmax(apart)) * len(a) // len(apart)
        shown = [hex(values[at]) for values in (*given, a, b)]
        assert not apart.any(), (text, shown, int(apart.sum()))


def test_every_operation_of_the_machine_is_among_these() -> None:
    machine = load()
    assert isinstance(machine, Machine)
    reached: set[int] = set()
    for group in GROUPS:
        module = _kernel(group)
        encoded = encode(translate(module, find_kernel(module, "k")), machine)
        reached |= set(encoded.ops["handler"].tolist())
    left = {name for name, number in machine.operations.items() if number not in reached}
    # Operations that change memory, and sparse products, have tests of their own.
    elsewhere = ("reduce_bulk.", "reduce_tensor.", "mma_sparse/")
    assert {name for name in left if not name.startswith(elsewhere)} == set(UNREACHED)
