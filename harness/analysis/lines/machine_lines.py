"""The machine instructions of each source line, as text in fixed columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.journal.counter_records import MachineCode, MachineInstruction

WIDTH = 46
"""The width, in characters, in which most instructions fit."""
HEADING = (
    f"{'address':>7} {'executed':>12} {'lanes':>6} {'acting':>6}  {'instruction':<{WIDTH}} memory"
)


def by_line(
    found: Iterable[MachineCode], step: int, file: str
) -> Mapping[int, Sequence[MachineInstruction]]:
    """Map each line of one step and file to its instructions, in address order."""
    lines: dict[int, list[MachineInstruction]] = {}
    for code in found:
        if code.step == step and file in code.files:
            number = code.files.index(file)
            for each in code.instructions:
                if each.file == number:
                    lines.setdefault(each.line, []).append(each)
    return lines


def text(each: MachineInstruction) -> str:
    """Format one instruction in the columns that HEADING names."""
    memory = _memory(each)
    shown = (
        f"{each.address:>7x} {each.warps:>12,} {_mean(each.threads, each.warps):>6} "
        f"{_mean(each.threads_on, each.warps):>6}  {each.text:<{WIDTH}} {memory}"
    )
    return shown.rstrip()


def _mean(threads: int, warps: int) -> str:
    return f"{threads / warps:.1f}" if warps else ""


def _memory(each: MachineInstruction) -> str:
    if each.requests:
        return f"{each.sectors / each.requests:.1f} sectors a request"
    if each.wavefronts_ideal and each.wavefronts > each.wavefronts_ideal:
        return f"{each.wavefronts / each.wavefronts_ideal:.2f}× ideal wavefronts"
    return f"{each.wavefronts:,} wavefronts" if each.wavefronts else ""
