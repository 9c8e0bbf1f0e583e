"""The merged matrix: problems and their variants with defaults applied, not yet planned.

Expressions are not yet evaluated: plan.py has the sizes, the launch keys and the device, and
resolves the names in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.budgets import Budget
from harness.cases import COMPILED, Device, Kind
from harness.errors import ExpressionError
from harness.files.strict_yaml import Key, YamlLocation
from harness.matrix.expressions import Expression, Number
from harness.matrix.tensor_maps import WrittenTensorMap
from harness.matrix.values import KernelName, Shape
from harness.silicon.architectures import compute_capability
from harness.silicon.features import Feature, dotted

NOTHING = Expression("0")


@dataclass(frozen=True)
class MergedStep:
    """One kernel launch; a kernel variant has one or more, in order."""

    kernel: KernelName
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    args: tuple[str | int | float | WrittenTensorMap, ...]
    """Buffers of the problem by name, expressions, or tensor maps."""
    shared: Expression = NOTHING
    """Dynamic shared memory in bytes."""
    cluster: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Needs:
    """The hardware that a variant needs."""

    features: tuple[Feature, ...] = ()
    """The required features; one without a name is a compute capability given as a number."""
    shared_bytes: int = 0
    """Bytes per block, static and dynamic together."""

    @property
    def is_specific(self) -> bool:
        """Return whether the variant needs code for the architecture's own target, such as
        `sm_90a`."""
        return any(feature.is_specific for feature in self.features)

    def missing(self, device: Device) -> str:
        """A description of the first requirement that the device does not meet; empty if it meets
        all."""
        lacking = filter(None, (lacks(feature, device) for feature in self.features))
        return next(lacking, "") or too_much_shared(self.shared_bytes, device)


def lacks(feature: Feature, device: Device) -> str:
    """The reason why the device, or code compiled for it, lacks the feature; empty if the feature
    is available."""
    compiled = compute_capability(device.arch)
    there = min(device.compute_capability, compiled)
    needed = dotted(feature.since) + (f" ({feature.words})" if feature.words else "")
    name = device.arch if there == compiled else device.name
    if there < feature.since:
        return f"needs compute capability {needed}, {name} is {dotted(there)}"
    if feature.until is not None and there > feature.until:
        most = f"at most {dotted(feature.until)}" if feature.until > feature.since else "no other"
        return f"needs compute capability {needed} and {most}, {name} is {dotted(there)}"
    if feature.is_specific and compiled != device.compute_capability:
        return (
            f"needs code for compute capability {dotted(device.compute_capability)} itself "
            f"({feature.words}), and kernels are compiled for {device.arch}"
        )
    return ""


def too_much_shared(needed: int, device: Device) -> str:
    """The reason why a block cannot have this much shared memory on the device; empty if it can."""
    if needed <= device.max_shared_bytes:
        return ""
    name = device.name if any(device.capability) else device.arch
    return (
        f"needs {needed:,} bytes of shared memory a block, {name} allows "
        f"{device.max_shared_bytes:,}"
    )


@dataclass(frozen=True)
class Variant:
    """One way to compute a problem, or a library to measure against, with all its settings.

    places: where each value is written, by the value's path in this record, such as
    ("steps", 0, "grid"). A value that is not written in any file has no entry.
    """

    name: str
    kind: Kind
    dtypes: tuple[str, ...]
    launch: tuple[Shape, ...] = ({},)
    """Its launch shapes; if there is nothing to choose, a single shape without keys."""
    source: str = ""
    function: str = ""
    args: tuple[str | int | float, ...] = ()
    steps: tuple[MergedStep, ...] = ()
    let: Mapping[str, Number] = field(default_factory=dict)
    when: Expression | None = None
    fits: Expression | None = None
    defines: Mapping[str, Number] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    overwrites: tuple[str, ...] = ()
    expect: Mapping[str, Budget] = field(default_factory=dict)
    """The expected counts, under the names in harness/budgets.py."""
    needs: Needs = Needs()
    builds_on: str = ""
    idea: str = ""
    """The quantity that the variant improves over the one it builds on; for a trap, the one it
    makes worse."""
    is_trap: bool = False
    arithmetic: str = ""
    as_library: bool = False
    compiled: bool = False
    places: Mapping[tuple[Key, ...], YamlLocation] = field(
        default_factory=dict, repr=False, compare=False
    )

    def place(self, *at: Key) -> YamlLocation:
        """The location where a value, or else its parent, was written."""
        for length in range(len(at), -1, -1):
            if at[:length] in self.places:
                return self.places[at[:length]].at(*at[length:])
        raise KeyError(at)

    def used_names(self) -> set[str]:
        """The names that the variant's expressions use, directly or through `let`."""
        expressions: list[Expression | Number] = [*self.defines.values()]
        expressions += [limit for limit in (self.when, self.fits) if limit]
        arguments: list[str | int | float | WrittenTensorMap] = [*self.args]
        for step in self.steps:
            expressions += [*step.grid, *step.block, *step.cluster, step.shared]
            expressions += step.kernel.expressions
            arguments += step.args
        names = {name for expression in expressions for name in expression.names}
        names |= {name for argument in arguments for name in _names(argument)}
        todo = list(names)
        while todo:
            name = todo.pop()
            found = self.let[name].names - names if name in self.let else set()
            names |= found
            todo += found
        return names

    @property
    def own_let(self) -> tuple[str, ...]:
        """The variant's own names in `let`, without those from the defaults."""
        above = self.places[()].path
        return tuple(n for n in self.let if self.place("let", n).path[: len(above)] == above)


def _names(argument: str | int | float | WrittenTensorMap) -> frozenset[str]:
    """The names in an argument: those in its expressions, or the name of a buffer."""
    if isinstance(argument, WrittenTensorMap):
        return argument.names
    try:
        return Number(str(argument)).names
    except ExpressionError:  # plan.py reports the error
        return frozenset()


@dataclass(frozen=True)
class Sizes:
    test: tuple[Shape, ...]
    bench: tuple[Shape, ...]
    emulate: tuple[Shape, ...] = ()
    is_chosen: bool = False
    """True if `bench` was chosen for the backend; otherwise it has the sizes that a GPU times."""

    def of(self, backend: str) -> tuple[Shape, ...]:
        """The sizes for the backend's cases. The sizes timed on a GPU may be too large for the
        emulator."""
        if self.is_chosen or backend != "emulator":
            return self.bench
        return self.emulate or self.bench


@dataclass(frozen=True)
class Problem:
    """The variants of one computation, the libraries to compare them with, and where they run."""

    name: str
    sizes: Sizes
    baseline: str
    variants: Mapping[str, Variant]
    libraries: Mapping[str, Variant] = field(default_factory=dict)
    library: tuple[str, ...] = ()
    """The rows of problem.py's library(): "torch", and "torch_compile" for the same function under
    torch.compile."""
    place: YamlLocation = field(repr=False, compare=False, kw_only=True)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types of all variants."""
        return tuple(dict.fromkeys(d for v in self.variants.values() for d in v.dtypes))

    def everything(self) -> Iterator[Variant]:
        """The variants, the libraries, and the library in problem.py."""
        yield from self.variants.values()
        yield from self.libraries.values()
        for name in self.library:
            yield Variant(name, "library", self.dtypes, as_library=True, compiled=name == COMPILED,
                          places={(): self.place.at("library")})  # fmt: skip

    def count(self) -> int:
        """The number of the problem's cases, at all sizes."""
        sizes = len(self.sizes.test) + max(len(self.sizes.bench), len(self.sizes.emulate))
        return sum(len(v.dtypes) * sizes * len(v.launch) for v in self.everything())
