"""Bench → cases: every combination, with its launches worked out for one device.

A case is problem × variant × dtype × sizes × launch shape. A combination that cannot run is still
a case, with the reason in `skip` (the matrix says so) or `refusal` (it is a mistake), so that
nothing disappears from a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from harness.cases import LIBRARY, Case, Device, Step
from harness.errors import ExpressionError, UsageError
from harness.matrix import model
from harness.matrix.expressions import Expression


def matching(bench: model.Bench, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """The problem/variant pairs that any pattern matches; all of them without a pattern.

    A pattern is `problem/variant`, `problem` or either with * and ?. Raises UsageError for a
    pattern that matches nothing.
    """
    pairs = [(p, v) for p, problem in bench.problems.items() for v in problem.variants]
    if not patterns:
        return pairs
    chosen: set[tuple[str, str]] = set()
    for pattern in patterns:
        whole = pattern if "/" in pattern else f"{pattern}/*"
        hits = {pair for pair in pairs if fnmatchcase("/".join(pair), whole)}
        if not hits:
            known = "\n".join(f"  {p}/{v}" for p, v in pairs)
            raise UsageError(f"--only {pattern!r} matches nothing; there are\n{known}")
        chosen |= hits
    for name in {problem for problem, _ in chosen}:  # nothing can be compared with no baseline
        chosen.add((name, bench.problems[name].baseline))
    return [pair for pair in pairs if pair in chosen]


def plan(
    bench: model.Bench,
    device: Device,
    patterns: Sequence[str] = (),
    which: str = "bench",
    buffers: Mapping[str, frozenset[str]] | None = None,
) -> list[Case]:
    """The cases for a device, in the matrix's order.

    which: "bench" or "test" sizes. buffers: each problem's buffer names, which an argument may be;
    an argument that is neither a buffer nor an expression over known names raises ConfigError.
    """
    cases: list[Case] = []
    for problem_name, variant_name in matching(bench, patterns):
        problem = bench.problems[problem_name]
        sizes = problem.sizes.bench if which == "bench" else problem.sizes.test
        known = (buffers or {}).get(problem_name, frozenset())
        for dtype in problem.dtypes:
            for size in sizes:
                for shape in problem.launch:
                    values = {**device.names(), **size, **shape}
                    variant = problem.variants[variant_name]
                    worker = _Resolver(bench, problem_name, variant_name, values, known)
                    case = worker.case(variant, dtype, size, shape)
                    cases.append(_refused(case, device))
    return cases


def library_cases(bench: model.Bench, cases: Sequence[Case]) -> list[Case]:
    """The library's case for every problem, dtype and size among the cases that has one."""
    keys = {case.group: case for case in cases if bench.problems[case.problem].library}
    return [Case(c.problem, LIBRARY, c.dtype, c.sizes) for c in keys.values()]


class _Resolver:
    """Works out one variant's expressions at one size and launch shape."""

    def __init__(
        self,
        bench: model.Bench,
        problem: str,
        variant: str,
        values: Mapping[str, int],
        buffers: frozenset[str],
    ) -> None:
        self.bench, self.values, self.buffers = bench, dict(values), buffers
        self.path: tuple[str | int, ...] = ("problems", problem, "variants", variant)

    def case(
        self, variant: model.Variant, dtype: str, size: dict[str, int], shape: dict[str, int]
    ) -> Case:
        names = (self.path[1], self.path[3])
        for name, expression in variant.let.items():
            if name in self.values:
                raise self._error(f"`{name}` already has a meaning here", "let", name)
            self.values[name] = self._number(expression, "let", name)
        wrong = [name for name in variant.overwrites if name not in self.buffers]
        if wrong:
            raise self._error(f"`{wrong[0]}` is not a buffer", "overwrites")
        if variant.when is not None and not self._number(variant.when, "when"):
            reason = f"the variant is limited to `{variant.when}`"
            return Case(str(names[0]), str(names[1]), dtype, size, shape, skip=reason)
        return Case(
            problem=str(names[0]),
            variant=str(names[1]),
            dtype=dtype,
            sizes=size,
            launch=shape,
            source=variant.source,
            defines={
                macro: self._number(expression, "defines", macro)
                for macro, expression in variant.defines.items()
            },
            steps=tuple(self._step(step, i) for i, step in enumerate(variant.steps)),
            overwrites=tuple(variant.overwrites),
        )

    def _step(self, step: model.Step, index: int) -> Step:
        at = ("steps", index)
        return Step(
            step.kernel,
            self._extents(step.grid, *at, "grid"),
            self._extents(step.block, *at, "block"),
            self._number(step.shared, *at, "shared"),
            tuple(self._argument(arg, *at, "args", i) for i, arg in enumerate(step.args)),
        )

    def _extents(self, extents: Sequence[Expression], *at: str | int) -> tuple[int, int, int]:
        numbers = [self._number(extent, *at) for extent in extents]
        x, y, z = (*numbers, 1, 1)[:3]
        return x, y, z

    def _argument(self, argument: str | int, *at: str | int) -> str | int:
        if isinstance(argument, str) and argument in self.buffers:
            return argument
        names: frozenset[str] = frozenset()
        try:
            expression = Expression(str(argument))
            names = expression.names
            return expression.evaluate(self.values)
        except ExpressionError as error:
            if names and names <= set(self.values):  # it is one, but has no value here
                raise self._error(str(error), *at) from None
            raise self._error(
                f"argument `{argument}` is neither a buffer of the problem "
                f"({', '.join(sorted(self.buffers))}) nor an expression over "
                f"{', '.join(self.values)}",
                *at,
            ) from None

    def _number(self, expression: Expression, *at: str | int) -> int:
        try:
            return expression.evaluate(self.values)
        except ExpressionError as error:
            raise self._error(str(error), *at) from None

    def _error(self, what: str, *at: str | int) -> ExpressionError:
        path = (*self.path, *at)
        return ExpressionError(what, self.bench.where(*path), ".".join(map(str, path)))


def _refused(case: Case, device: Device) -> Case:
    """The case, with the first limit of the device that one of its launches exceeds."""
    if case.skip:
        return case
    for problem in _over_limits(case, device):
        return replace(case, refusal=problem)
    return case


def _over_limits(case: Case, device: Device) -> Iterator[str]:
    for step in case.steps:
        axes = (("grid", step.grid, device.max_grid), ("block", step.block, device.max_block))
        for what, extents, most in axes:
            if any(extent < 1 for extent in extents):
                yield f"{step.kernel}: {what} {extents} has an extent below 1"
            elif any(extent > limit for extent, limit in zip(extents, most, strict=True)):
                yield f"{step.kernel}: {what} {extents} exceeds {device.name}'s {most}"
        if step.threads_per_block > device.max_threads_per_block:
            yield (
                f"{step.kernel}: {step.threads_per_block} threads a block; "
                f"{device.name} allows {device.max_threads_per_block}"
            )
        if not 0 <= step.shared_bytes <= device.max_shared_bytes:
            yield (
                f"{step.kernel}: {step.shared_bytes} bytes of shared memory a block; "
                f"{device.name} allows {device.max_shared_bytes}"
            )
