"""`list`: every case of the matrix and its launches; with --resolved, every variant in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.cases import Case, how_many
from harness.commands.printed import resolved
from harness.console.progress import console
from harness.machine import devices
from harness.matrix import filters, model, plan


def list_cases(
    config: Path | None, kernels: Path | None, backend: str, choice: filters.Choice,
    arch: str | None, whole: bool,
) -> None:  # fmt: skip
    """Print the cases. `whole`: print each variant with its defaults instead."""
    bench = model.load(config, kernels)
    if whole:
        resolved.show(filters.narrowed(bench, choice, "cuda"), choice.only)
        return
    chosen, device, _ = devices.choose(backend, arch)
    bench = filters.narrowed(bench, choice, chosen)
    found = plan.resolve(bench, device, chosen, choice.only)
    console.print(f"on {device.name}", markup=False)
    problem = ""
    for case in found.cases:
        if case.problem != problem:
            problem = case.problem
            title = found.problems[problem].title if problem in found.problems else "not usable"
            console.print(f"\n{problem}: {title}", markup=False, style="bold")
        console.print(case.id, markup=False)
        for line in _about(case):
            console.print(f"    {line}", markup=False, style="dim")
    console.print()
    for line in notes(found):
        console.print(line, markup=False)
    console.print(count(found.cases))


def count(cases: Sequence[Case]) -> str:
    variants = len({(case.problem, case.variant) for case in cases if not case.is_library})
    return f"{how_many(len(cases))} of {how_many(variants, 'variant')}"


def notes(found: plan.Plan, most: int | None = None) -> Iterator[str]:
    """Notes on tests that the matrix leaves out of a run, or that a run cannot verify.

    `most`: the maximum number of left-out tests to list; any others are only counted.
    """
    by_choice = list(found.left_out())
    yield from (f"note: {sentence}" for sentence in by_choice[:most])
    if left := len(by_choice[most:]) if most is not None else 0:
        yield (
            f"note: {how_many(left, 'more variant')} not verified at every test size: "
            "`python -m harness list` names them"
        )
    refused = found.refused_tests()
    for case in found.cases:
        if case.shape in refused and not (case.skip or case.refusal):
            yield f"will fail: {case.id}: {refused[case.shape]}"


def _about(case: Case) -> Iterator[str]:
    """Say why the case does not run, or what it launches."""
    if reason := case.refusal or case.skip:
        yield from (("refused: " if case.refusal else "skipped: ") + reason).splitlines()
    elif case.steps:
        for step in case.steps:
            shared = f", {step.shared_bytes} bytes shared" if step.shared_bytes else ""
            cluster = f", clusters of {_extents(step.cluster)}" if step.cluster != (1, 1, 1) else ""
            yield f"{step.kernel}: {_extents(step.grid)} × {_extents(step.block)}{shared}{cluster}"
    else:
        yield case.function or "problem.py: library()"


def _extents(extents: tuple[int, int, int]) -> str:
    used = [e for i, e in enumerate(extents) if i == 0 or any(x > 1 for x in extents[i:])]
    return "·".join(map(str, used))
