"""`list`: every case of the matrix and what it would launch."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from harness.cases import Case
from harness.commands.options import MATRIX, Arch, Backend, Config, Only
from harness.matrix import model, plan
from harness.progress import console
from harness.run import devices
from harness.run.runner import buffer_names, load_problems


def list_cases(
    config_path: Config = MATRIX,
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
) -> None:
    """Show every case of the matrix and what it would launch."""
    bench = model.load(config_path)
    _, device, _ = devices.choose(backend, arch)
    names = buffer_names(bench, load_problems(bench, only))
    cases = plan.plan(bench, device, only, "bench", names)
    table = Table("case", "grid × block of each step", "", title=f"on {device.name}")
    for case in cases:
        shapes = "; ".join(f"{_extents(s.grid)} × {_extents(s.block)}" for s in case.steps)
        table.add_row(case.id, shapes, case.refusal or case.skip)
    console.print(table)
    console.print(count(cases))


def count(cases: Sequence[Case]) -> str:
    variants = len({(case.problem, case.variant) for case in cases})
    return f"{len(cases)} cases of {variants} variants"


def _extents(extents: tuple[int, int, int]) -> str:
    used = [e for i, e in enumerate(extents) if i == 0 or any(x > 1 for x in extents[i:])]
    return "·".join(map(str, used))
