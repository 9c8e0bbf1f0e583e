"""`--size`, `--dtype`, `--launch` and `--quick`: reduce the matrix to the chosen cases.

A filter turns the whole matrix into a smaller one, so all later code, even in a resumed run,
handles only a matrix and no filters.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product

from harness.console.suggestions import did_you_mean
from harness.dtypes import BY_NAME
from harness.errors import ExpressionError, ProblemError, UsageError
from harness.matrix import model, selection
from harness.matrix.expressions import Expression
from harness.matrix.values import Shape
from harness.matrix.variants import Problem, Variant
from harness.problem import Work, loading

QUICK_BYTES = 128 * 2**20
"""The most compulsory traffic, in bytes, at the size that a quick run times: more than any L2
cache holds, and a fraction of a millisecond of memory traffic."""
QUICK_FLOPS = 2**31
"""The most arithmetic at that size: the host computes the reference in float64, and a naive kernel
takes a hundred times as long as the best one."""
QUICK_SECONDS = 15
"""Seconds after which a quick run adds no more placements to a problem."""


@dataclass(frozen=True)
class Choice:
    """The selection from the matrix as typed on the command line; an empty one selects all."""

    only: tuple[str, ...] = ()
    size: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()
    launch: tuple[str, ...] = ()
    quick: bool = False

    def __str__(self) -> str:
        """The options as they are written on a command line."""
        words = [
            f"--{name} {value}" for name, values in asdict(self).items()
            for value in (values if isinstance(values, (list, tuple)) else ())
        ]  # fmt: skip
        return " ".join([*words, *(["--quick"] if self.quick else [])]) or "no filter"


Wanted = Mapping[str, frozenset[int]]
"""Key → its allowed values."""


def narrowed(bench: model.Bench, choice: Choice, backend: str) -> model.Bench:
    """The matrix reduced to the chosen problems, sizes, types and launch shapes, or to a quick run.

    The returned `sizes.bench` has the sizes for the backend. A size that no chosen problem lists is
    added to every problem for which it names all parameters.

    A baseline or library, to which others are compared, keeps its launch shapes if none of them
    is chosen. Raises UsageError for a filter that matches nothing; the message lists the valid
    values.
    """
    sizes, launch = _wanted("--size", choice.size), _wanted("--launch", choice.launch)
    chosen = selection.problems(bench, choice.only)
    found = {name: _of_backend(bench.problems[name], backend) for name in chosen}
    listed = {size for problem in found.values() for size in _frozen(problem.sizes.bench)}
    found = _kept(
        found, lambda p: _with_sizes(p, sizes, listed), lambda: _sizes_there(found, choice)
    )
    for dtype in choice.dtype:
        if dtype not in BY_NAME:
            raise UsageError(
                f"--dtype {dtype!r} is not an element type{did_you_mean(dtype, BY_NAME)}"
            )
    found = _kept(found, lambda p: _with_dtypes(p, choice.dtype), lambda: _dtypes_there(found))
    found = _kept(found, lambda p: _with_launch(p, launch), lambda: _launch_there(found, choice))
    bench = replace(bench, problems=found)
    return _quickly(bench, backend) if choice.quick else bench


def _wanted(option: str, texts: Iterable[str]) -> Wanted:
    """`n=2**20,2**24` → {"n": {1048576, 16777216}}, and `m=64,n=8` → {"m": {64}, "n": {8}}; a key
    that is repeated gets more values."""
    found: dict[str, set[int]] = {}
    for text in texts:
        key = ""
        try:
            for part in text.split(","):
                name, equals, value = part.rpartition("=")
                key = name.strip() or key
                if not key or (equals and not name.strip()):
                    raise ExpressionError("there is no `=` behind a name")
                found.setdefault(key, set()).add(Expression(value).evaluate({}))
        except ExpressionError as error:
            raise UsageError(
                f"{option} {text!r}: {error}\n  write a name and values: {option} n=2**20,2**24"
            ) from None
    return {key: frozenset(numbers) for key, numbers in found.items()}


def _kept(
    every: Mapping[str, Problem],
    narrow: Callable[[Problem], Problem | None],
    refusal: Callable[[], str],
) -> dict[str, Problem]:
    """The problems that still have a case."""
    found = {name: narrow(problem) for name, problem in every.items()}
    left = {name: problem for name, problem in found.items() if problem is not None}
    if not left:
        raise UsageError(refusal())
    return left


def _has(shape: Mapping[str, int], wanted: Wanted) -> bool:
    return all(shape.get(key) in values for key, values in wanted.items())


def _of_backend(problem: Problem, backend: str) -> Problem:
    """The problem with only those sizes in `bench` that the backend runs."""
    sizes = problem.sizes
    return replace(problem, sizes=replace(sizes, bench=sizes.of(backend), is_chosen=True))


Frozen = frozenset[tuple[str, int]]


def _frozen(sizes: Iterable[Shape]) -> Iterator[Frozen]:
    return (frozenset(size.items()) for size in sizes)


def _with_sizes(problem: Problem, wanted: Wanted, listed: Container[Frozen]) -> Problem | None:
    """Keep the requested sizes of the matrix, and add those that are not listed."""
    names = list(problem.sizes.bench[0])
    left = [size for size in problem.sizes.bench if _has(size, wanted)]
    if set(names) == set(wanted):
        each = product(*(sorted(v for v in wanted[name] if v > 0) for name in names))
        sizes = [dict(zip(names, values, strict=True)) for values in each]
        left += [s for s, key in zip(sizes, _frozen(sizes), strict=True) if key not in listed]
    return replace(problem, sizes=replace(problem.sizes, bench=tuple(left))) if left else None


def _with_dtypes(problem: Problem, wanted: Sequence[str]) -> Problem | None:
    def narrow(variant: Variant) -> Variant | None:
        left = tuple(dtype for dtype in variant.dtypes if dtype in wanted or not wanted)
        return replace(variant, dtypes=left) if left else None

    return _each(problem, narrow)


def _with_launch(problem: Problem, wanted: Wanted) -> Problem | None:
    """Apply a launch filter. A variant without launch keys has no shapes to choose from."""

    def narrow(variant: Variant) -> Variant | None:
        left = tuple(s for s in variant.launch if not s or _has(s, wanted))
        needed = variant.name == problem.baseline or variant.as_library
        return replace(variant, launch=left) if left else variant if needed else None

    found = _each(problem, narrow)
    some = found and any(_has(s, wanted) for v in found.everything() for s in v.launch)
    return found if some else None


def _each(problem: Problem, narrow: Callable[[Variant], Variant | None]) -> Problem | None:
    """The problem with its remaining variants and libraries; None if no variant remains."""

    def left(every: Mapping[str, Variant]) -> dict[str, Variant]:
        found = {name: narrow(variant) for name, variant in every.items()}
        return {name: variant for name, variant in found.items() if variant is not None}

    variants = left(problem.variants)
    if not variants:
        return None
    return replace(problem, variants=variants, libraries=left(problem.libraries))


def _sizes_there(problems: Mapping[str, Problem], choice: Choice) -> str:
    shapes = [size for problem in problems.values() for size in problem.sizes.bench]
    text = _there("--size", choice.size, shapes)
    if len(problems) > 1:
        return text
    return f"{text}\n  or any size, with all its names: --size {_typed_size(shapes[0])}"


def _typed_size(size: Shape) -> str:
    return ",".join(f"{name}={value}" for name, value in size.items())


def _launch_there(problems: Mapping[str, Problem], choice: Choice) -> str:
    shapes = [s for p in problems.values() for v in p.everything() for s in v.launch]
    return _there("--launch", choice.launch, shapes)


def _dtypes_there(problems: Mapping[str, Problem]) -> str:
    there = dict.fromkeys(dtype for problem in problems.values() for dtype in problem.dtypes)
    return f"--dtype matches nothing; there are {', '.join(there)}"


def _there(option: str, texts: Sequence[str], shapes: Iterable[Shape]) -> str:
    values: dict[str, dict[int, None]] = {}
    for shape in shapes:
        for key, value in shape.items():
            values.setdefault(key, {})[value] = None
    listed = "; ".join(f"{key} = {', '.join(map(str, each))}" for key, each in values.items())
    return f"{option} {' '.join(texts)} matches nothing; there are {listed or 'none'}"


def _quickly(bench: model.Bench, backend: str) -> model.Bench:
    """Reduce the matrix to one size per problem, and to the fewest placements that give an
    interval."""
    timing = bench.timing.model_copy(
        update={
            "rounds": "auto",
            "placements": (3,),
            "choosing": 1,
            "batch": 4,
            "shared_processes": True,
        }
    )
    limits = bench.limits.model_copy(
        update={"measure_s": min(bench.limits.measure_s, QUICK_SECONDS)}
    )
    most = QUICK_BYTES if backend != "emulator" else bench.limits.emulate_bytes
    found = {}
    for name, problem in bench.problems.items():
        sizes = replace(problem.sizes, bench=(_quick_size(bench, problem, most),))
        found[name] = replace(problem, sizes=sizes)
    return replace(bench, problems=found, timing=timing, limits=limits)


def _quick_size(bench: model.Bench, problem: Problem, most: int) -> Shape:
    """The largest size that moves at most `most` bytes and is quick to verify, or else the
    smallest size."""
    try:
        by_bytes = sorted(_with_work(bench, problem), key=lambda each: each[0].bytes)
    except ProblemError:  # plan.py reports it for each case
        return problem.sizes.bench[0]
    within = [s for work, s in by_bytes if work.bytes <= most and work.flops <= QUICK_FLOPS]
    return within[-1] if within else by_bytes[0][1]


def _with_work(bench: model.Bench, problem: Problem) -> Iterator[tuple[Work, Shape]]:
    loaded = loading.load(bench.kernels / problem.name)
    for size in problem.sizes.bench:
        yield loaded.work(size, problem.dtypes[0]), size
