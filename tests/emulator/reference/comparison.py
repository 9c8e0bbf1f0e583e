"""Run a case on both sides, and describe every difference."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.emulator import LaunchReport, launch, parse
from reference.interpreter import execute
from reference.strategies import Case

BUFFERS = ("input", "output", "totals", "own")


@dataclass(frozen=True)
class Comparison:
    """`differences` is empty if both sides agree; `warps_compared`: whether warp counts were
    compared."""

    differences: tuple[str, ...]
    thread_instructions: int
    warps_compared: bool


def compare(case: Case) -> Comparison:
    """Emulate with both engines, interpret once, and compare all results.

    The judge runs with a chunk of all blocks, and with chunks of one or two: the number of
    blocks per chunk must not affect any result, counter or instruction count. The fast run follows,
    with one job or two. Warp instructions are compared with the reference only if
    `Kernel.reconvergence_is_plain`.
    """
    expected = [bytearray(b.tobytes()) for b in case.buffers()]
    scalars = {"input_words": len(expected[0]) // 8, "scalar": case.scalar}
    outcome = execute(case.kernel, case.grid, case.block, expected, scalars, case.shared_bytes)
    warps = outcome.warp_instructions if case.kernel.reconvergence_is_plain else None
    try:
        differences = _emulate(case, expected, outcome.by_opcode, warps)
    except Exception:  # anything that the emulator raises on a good kernel is a difference
        differences = [traceback.format_exc(limit=-2)]
    return Comparison(tuple(differences), sum(outcome.by_opcode.values()), warps is not None)


def _emulate(
    case: Case, expected: list[bytearray], by_opcode: Counter[str], warps: int | None
) -> list[str]:
    module = parse(case.kernel.ptx())
    differences: list[str] = []
    first: LaunchReport | None = None
    threads = int(np.prod(case.block))
    ways: list[dict[str, Any]] = [
        {"engine": "judge"},
        {"engine": "judge", "chunk_threads": threads * (1 + case.seed % 2)},
        {"engine": "auto", "jobs": 1 + case.seed % 2},
    ]
    for way in ways:
        arrays = case.buffers()
        arguments = [arrays[0], len(arrays[0]), *arrays[1:], case.scalar]
        report = launch(module, "k", case.grid, case.block, arguments, case.shared_bytes, **way)
        found = [f"fault: {fault}" for fault in report.faults]
        found += _memory(arrays, expected)
        if first is None:
            first = report
            found += _counts(report, by_opcode)
            issued = report.counter("smsp__inst_executed.sum").value
            if warps is not None and issued != warps:
                found.append(f"{issued} warp instructions, expected {warps}")
        elif (report.counters, report.instructions) != (first.counters, first.instructions):
            found.append("counters differ from those with all blocks in one chunk")
        differences += [f"{way}: {text}" for text in found]
    return differences


def _memory(arrays: list[np.ndarray], expected: list[bytearray]) -> list[str]:
    """The first wrong word of each buffer."""
    out = []
    for name, array, wanted in zip(BUFFERS, arrays, expected, strict=True):
        words = np.frombuffer(bytes(wanted), np.uint64)
        wrong = np.flatnonzero(array != words)
        if len(wrong):
            at = int(wrong[0])
            out.append(f"{len(wrong)} words of {name} differ, the first at {at}: "
                       f"{int(array[at]):#x}, expected {int(words[at]):#x}")  # fmt: skip
    return out


def _counts(report: LaunchReport, expected: Counter[str]) -> list[str]:
    """Compare the predicated-on thread instructions, by opcode and in total."""
    found: Counter[str] = Counter()
    for each in report.instructions:
        found[each.opcode] += each.threads_predicated_on
    out = [
        f"{found[opcode]} thread instructions {opcode}, expected {expected[opcode]}"
        for opcode in sorted({*found, *expected})
        if found[opcode] != expected[opcode]
    ]
    if report.thread_instructions != sum(expected.values()):
        wanted = sum(expected.values())
        out.append(f"{report.thread_instructions} thread instructions, expected {wanted}")
    return out
