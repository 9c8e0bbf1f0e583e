"""Bench → cases: every combination, with its launches computed for one device.

A case is problem × variant × dtype × sizes × launch shape. A combination that cannot run is still a
case. `skip` gives the reason if the matrix excludes it or there is no GPU, and `refusal` if it is
an error, so no combination disappears from a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from harness.cases import ELEMENT_BYTES, Case, Device, Shape, Step, TensorMap
from harness.dtypes import numpy_dtype
from harness.errors import ExpressionError, ProblemError
from harness.files import python_packages
from harness.files.strict_yaml import Key
from harness.matrix import files, model, selection, variants
from harness.matrix.expressions import Expression, Number, Value
from harness.matrix.tensor_maps import WrittenTensorMap
from harness.matrix.variants import Variant
from harness.problem import Buffer, Problem, Work, loading
from harness.silicon.architectures import MOST_SHARED_BYTES
from harness.silicon.features import FEATURES

ON_A_GPU = "the emulator executes kernels; {} needs a GPU"
_NEEDS_A_GPU = {
    "python": "a Python function", "host": "a host function", "library": "a library",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The plan of a run: its problems, its cases, and the tests that verify the cases first.

    `cases`: at the bench sizes, including libraries. `tests`: at the test sizes, for the cases'
    launch shapes. `works`: by group. A problem with a faulty problem.py has only refused cases.
    """

    problems: Mapping[str, Problem]
    cases: Sequence[Case]
    tests: Sequence[Case]
    works: Mapping[str, Work] = field(default_factory=dict)

    def refused_tests(self) -> dict[Shape, str]:
        """Reasons why launch shapes cannot be verified at a required test size."""
        found: dict[Shape, str] = {}
        for test in self.tests:
            if test.refusal:
                found.setdefault(test.shape, f"at the test size {_sizes(test)}: {test.refusal}")
        return found

    def left_out(self) -> Iterator[str]:
        """The test sizes at which `when` leaves a variant unverified, one sentence per variant."""
        skipped: dict[tuple[str, str], dict[str, str]] = {}
        shapes = {case.shape for case in (*self.tests, *self.cases) if not case.skip}
        for test in self.tests:
            if test.skip and test.shape in shapes and test.kind == "kernel":
                name = test.problem, test.variant
                skipped.setdefault(name, {})[_sizes(test)] = test.skip
        for (problem, variant), sizes in skipped.items():
            reason = next(iter(sizes.values()))
            yield f"{problem}/{variant} is not verified at {'; '.join(sizes)}: {reason}"


def resolve(bench: model.Bench, device: Device, backend: str, patterns: Sequence[str] = ()) -> Plan:
    """Compute everything that a run needs from the matrix. Raises ConfigError and UsageError, but
    never because of a problem.py, since a fault in that file stops only its problem."""
    loaded: dict[str, Problem] = {}
    cases: list[Case] = []
    tests: list[Case] = []
    works: dict[str, Work] = {}
    for name, wanted in selection.rows(bench, patterns).items():
        problem, fault = bench.problems[name], ""
        chosen = [
            v for v in problem.everything()
            if v.name in wanted or v.name == problem.baseline or v.as_library
        ]  # fmt: skip
        try:
            loaded[name] = loading.load(bench.kernels / name)
            at = _site(bench, problem, device, backend, loaded[name])
            own = [case for v in chosen for case in at.cases(v, problem.sizes.of(backend))]
            works |= _works(own, loaded[name])
            own_tests = [
                case for v in chosen if not v.as_library for case in at.cases(v, problem.sizes.test)
            ]
        except ProblemError as error:
            loaded.pop(name, None)
            fault, own_tests = str(error), []
            own = [c for v in chosen for c in _bare(problem, v, backend, fault)]
            works |= dict.fromkeys((case.group for case in own), Work(0, 0, 0))
        cases += own
        tests += own_tests
    cases = selection.cases(cases, patterns, {p.name: p.baseline for p in bench.problems.values()})
    shapes = {case.shape for case in cases}
    return Plan(loaded, cases, [t for t in tests if t.shape in shapes], works)


def cases_at(
    bench: model.Bench,
    device: Device,
    problem: str,
    sizes: Iterable[Mapping[str, int]],
    backend: str = "emulator",
) -> list[Case]:
    """The cases of one problem's variants at the given sizes."""
    found = bench.problems[problem]
    site = _site(bench, found, device, backend, loading.load(bench.kernels / problem))
    return [
        case for v in found.variants.values() for case in site.cases(v, [dict(s) for s in sizes])
    ]


def _site(
    bench: model.Bench, problem: variants.Problem, device: Device, backend: str, loaded: Problem
) -> _Site:
    found: Sequence[Buffer] = loaded.buffers(problem.sizes.bench[0], problem.dtypes[0])
    names = frozenset(buffer.name for buffer in found)
    return _Site(bench, problem, device, backend, loaded, names)


def _works(cases: Iterable[Case], loaded: Problem) -> dict[str, Work]:
    """Group → the work model. buffers() is called too, so that a fault in it is found before the
    run starts."""
    found = {}
    for case in {case.group: case for case in cases}.values():
        loaded.buffers(case.sizes, case.dtype)
        found[case.group] = loaded.work(case.sizes, case.dtype)
    return found


def _bare(problem: variants.Problem, variant: Variant, backend: str, fault: str) -> Iterator[Case]:
    """The cases of a problem that cannot be loaded, with their names alone."""
    for dtype in variant.dtypes:
        for size in problem.sizes.of(backend):
            for shape in variant.launch:
                yield Case(
                    problem.name, variant.name, dtype, size, shape, refusal=fault,
                    builds_on=variant.builds_on, kind=variant.kind, as_library=variant.as_library,
                )  # fmt: skip


@dataclass(frozen=True)
class _Site:
    """The context for evaluating a problem's variants: the device, and the buffers' names."""

    bench: model.Bench
    problem: variants.Problem
    device: Device
    backend: str
    loaded: Problem
    buffers: frozenset[str]

    def cases(self, variant: Variant, sizes: Iterable[dict[str, int]]) -> Iterator[Case]:
        for dtype in variant.dtypes:
            for size in sizes:
                for shape in variant.launch:
                    case = _Resolver(self, variant, dtype, size, shape).case()
                    yield self._refused(self._without_gpu(case))

    def _without_gpu(self, case: Case) -> Case:
        """The case; skipped, with the reason, if the backend is the emulator and cannot run it."""
        if case.skip or self.backend != "emulator":
            return case
        what = _NEEDS_A_GPU.get("library" if case.is_library else case.kind, "")
        return replace(case, skip=ON_A_GPU.format(what)) if what else case

    def _refused(self, case: Case) -> Case:
        """The case; skipped if the device lacks a requirement, refused if a launch is too large."""
        if case.skip:
            return case
        if lacking := next(_lacking(case, self.device), ""):
            return replace(case, skip=lacking)
        for problem in _over_limits(case, self.device):
            return replace(case, refusal=problem)
        return case


class _Names(Mapping[str, Value]):
    """The names an expression may use: sizes, launch keys, device facts, and `let` on demand."""

    def __init__(self, known: Mapping[str, int], resolver: _Resolver) -> None:
        self._known: dict[str, Value] = dict(known)
        self._resolver = resolver
        self._open: list[str] = []

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            expression = self._resolver.variant.let[name]
            if name in self._open:
                way = " → ".join([*self._open[self._open.index(name) :], name])
                raise self._resolver.error(f"it needs itself: {way}", "let", name)
            self._open.append(name)
            self._known[name] = self._resolver.value(expression, "let", name)
            self._open.remove(name)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._resolver.variant.let

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._resolver.variant.let]))

    def __len__(self) -> int:
        return len(list(iter(self)))


class _PlacedError(ExpressionError):
    """An error that already names its location: a `let` that another expression uses."""


class _Resolver:
    """Evaluates one variant's expressions at one size and launch shape."""

    def __init__(
        self, site: _Site, variant: Variant, dtype: str, size: dict[str, int],
        shape: dict[str, int],
    ) -> None:  # fmt: skip
        self.site, self.variant = site, variant
        self.dtype, self.size, self.shape = dtype, size, shape
        bytes_each = numpy_dtype(dtype).itemsize
        known = {**site.device.names(), ELEMENT_BYTES: bytes_each, **size, **shape}
        for name in variant.let:
            if name in known:
                raise self.error(f"`{name}` already has a meaning here", "let", name)
        self.names = _Names(known, self)

    def case(self) -> Case:
        variant, problem = self.variant, self.site.problem
        for name in variant.own_let if variant.kind != "library" else ():
            _ = self.names[name]  # so that a mistake in an unused one is reported
        for index, name in enumerate(variant.overwrites):
            if name not in self.site.buffers:
                raise self.error(f"`{name}` is not a buffer", "overwrites", index)
        case = Case(
            problem.name, variant.name, self.dtype, self.size, self.shape,
            builds_on=variant.builds_on, kind=variant.kind, as_library=variant.as_library,
            compiled=variant.compiled,
        )  # fmt: skip
        if lacking := variant.needs.missing(self.site.device):
            return replace(case, skip=lacking)
        if variant.when is not None and not self.whole(variant.when, "when"):
            return replace(case, skip=f"the variant is limited to `{variant.when}`")
        if variant.fits is not None and not self.whole(variant.fits, "fits"):
            return replace(case, skip=f"its integers are too narrow unless `{variant.fits}`")
        return replace(
            case,
            source=variant.source,
            function=variant.function,
            defines={
                macro: self.value(expression, "defines", macro)
                for macro, expression in variant.defines.items()
            },
            let=self._let() if variant.kind == "python" else {},
            steps=tuple(self._step(step, i) for i, step in enumerate(variant.steps)),
            args=tuple(self._argument(arg, "args", i) for i, arg in enumerate(variant.args)),
            overwrites=variant.overwrites,
            flags=variant.flags,
            include=files.include_folders(self.site.bench.kernels, problem.name, variant.include),
            sources=variant.sources,
            target="a" if variant.needs.is_specific else "",
        )

    def _let(self) -> dict[str, Value]:
        """The `let` values that a Python function's parameters may name. Defaults without a value
        at this size and launch shape are omitted."""
        found = {}
        for name in self.variant.let:
            try:
                found[name] = self.names[name]
            except ExpressionError:
                if name in self.variant.own_let:
                    raise
        return found

    def _step(self, step: variants.MergedStep, index: int) -> Step:
        at = ("steps", index)
        filled = [self.whole(e, *at, "kernel") for e in step.kernel.expressions]
        return Step(
            step.kernel.filled(filled),
            self._extents(step.grid, *at, "grid"),
            self._extents(step.block, *at, "block"),
            self.whole(step.shared, *at, "shared"),
            tuple(
                self._tensor_map(arg, *at, "args", i)
                if isinstance(arg, WrittenTensorMap)
                else self._argument(arg, *at, "args", i)
                for i, arg in enumerate(step.args)
            ),
            self._extents(step.cluster, *at, "cluster"),
        )

    def _extents(self, extents: Sequence[Expression], *at: Key) -> tuple[int, int, int]:
        numbers = [self.whole(extent, *at) for extent in extents]
        x, y, z = (*numbers, 1, 1, 1)[:3]
        return x, y, z

    def _tensor_map(self, argument: WrittenTensorMap, *at: Key) -> TensorMap:
        every: Sequence[Buffer] = self.site.loaded.buffers(self.size, self.dtype)
        buffer = next((each for each in every if each.name == argument.buffer), None)
        if buffer is None:
            raise self.error(
                f"`{argument.buffer}` is not a buffer of the problem "
                f"({', '.join(each.name for each in every)})", *at, "tensor_map",
            )  # fmt: skip
        found = argument.at(buffer, lambda e, key, n: self.whole(e, *at, key, n))
        if isinstance(found, str):
            raise self.error(f"{found}\n  it is so at {_listed(self.size)}", *at)
        return found

    def _argument(self, argument: str | int | float, *at: Key) -> str | int | float:
        if isinstance(argument, str) and argument in self.site.buffers:
            return argument
        names: frozenset[str] = frozenset()
        try:
            expression = Number(str(argument))
            names = expression.names
            return expression.evaluate(self.names)
        except _PlacedError:
            raise
        except ExpressionError as error:
            if names and all(name in self.names for name in names):  # it has no value here
                raise self.error(str(error), *at) from None
            raise self.error(
                f"argument `{argument}` is neither a buffer of the problem "
                f"({', '.join(sorted(self.site.buffers))}) nor an expression over "
                f"{', '.join(self.names)}",
                *at,
            ) from None

    def whole(self, expression: Expression, *at: Key) -> int:
        with self._placed(*at):
            return expression.evaluate(self.names)

    def value(self, expression: Number, *at: Key) -> Value:
        with self._placed(*at):
            return expression.evaluate(self.names)

    @contextmanager
    def _placed(self, *at: Key) -> Iterator[None]:
        """Add an expression's location to its error, unless the error already names another."""
        try:
            yield
        except _PlacedError:
            raise
        except ExpressionError as error:
            raise self.error(str(error), *at) from None

    def error(self, what: str, *at: Key) -> ExpressionError:
        place = self.variant.place(*at)
        return _PlacedError(what, str(place), place.key)


def _lacking(case: Case, device: Device) -> Iterator[str]:
    """The launch requirements that the device does not meet, and any missing headers."""
    yield from python_packages.missing(case.include)
    no_clusters = variants.lacks(FEATURES["clusters"], device)
    no_maps = variants.lacks(FEATURES["tma"], device)
    for step in case.steps:
        reason = variants.too_much_shared(step.shared_bytes, device)
        if reason and step.shared_bytes <= MOST_SHARED_BYTES:
            yield f"{step.kernel}: {reason}"
        if no_clusters and step.cluster != (1, 1, 1):
            yield f"{step.kernel}: {no_clusters}"
        if no_maps and any(isinstance(each, TensorMap) for each in step.args):
            yield f"{step.kernel}: {no_maps}"


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
                f"{step.kernel}: {step.threads_per_block} threads per block; "
                f"{device.name} allows {device.max_threads_per_block}"
            )
        if not 0 <= step.shared_bytes <= MOST_SHARED_BYTES:
            yield (
                f"{step.kernel}: {step.shared_bytes:,} bytes of shared memory per block; "
                f"no known card allows more than {MOST_SHARED_BYTES:,}"
            )
        if step.cluster == (1, 1, 1):
            continue
        if any(extent < 1 or g % extent for g, extent in zip(step.grid, step.cluster, strict=True)):
            yield f"{step.kernel}: grid {step.grid} is no multiple of its cluster {step.cluster}"


def _sizes(case: Case) -> str:
    return _listed(case.sizes)


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())
