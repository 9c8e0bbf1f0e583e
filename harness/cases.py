"""Devices, launches and cases as plain data, passed between all other parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from harness.silicon.architectures import Limits, architecture, compute_capability
from harness.silicon.tensor_maps import TensorLayout

DEVICE_FACTS = ("sm_count", "warp_size", "l2_bytes", "max_threads_per_block", "max_shared_bytes")
"""The properties of the device that an expression in bench.yaml may use."""
ELEMENT_BYTES = "element_bytes"  # in an expression, the size of the case's dtype

LIBRARY = "torch"
COMPILED = "torch_compile"
"""Names of the rows for problem.py's library(): called directly, and compiled by torch.compile."""

Kind = Literal["kernel", "python", "host", "library"]
"""The kinds of case: kernels of a .cu file; a Python function on tensors; a host function of a .cu
file, compiled into a library; or problem.py's library()."""

Flush = Literal["clean", "dirty"]
"""The state in which flushing leaves the L2 cache: with nothing to write back, or with dirty
lines."""

IDEAS = {
    "coalescing": "every sector of global memory that is touched is used completely",
    "vector-access": "the same bytes in fewer, wider accesses",
    "traffic": "fewer bytes or accesses of global memory for the same result",
    "caching": "data is still in a cache when it is needed again",
    "register-tiling": "a word loaded from shared memory is used several times from a register",
    "bank-conflicts": "fewer conflicts: words are in different banks of shared memory or registers",
    "fewer-instructions": "fewer instructions for the same result",
    "tensor-cores": "products are computed by the tensor cores",
    "divergence": "fewer lanes of a warp wait while others work",
    "atomics": "fewer atomics, or fewer on the same address at a time",
    "latency-hidden": "more work is in flight while a warp waits",
    "spills": "fewer values are spilled from registers to memory",
    "occupancy": "more warps are resident",
    "barriers": "fewer or shorter waits at barriers",
    "balance": "the grid fills the GPU, including its last wave",
    "launches": "fewer launches, or fewer round trips to the host",
    "coarsening": "fewer threads and blocks to start, with more work each",
    "none": "not meant to be faster: another notation, another accuracy, or support for any size",
}
"""The ideas that a variant may state; for a trap, the quantity that it makes worse. The idea comes
from the source, and is compared with the counters (harness/analysis)."""

Shape = tuple[str, str, str, str]
"""Problem, variant, dtype and launch keys."""


@dataclass(frozen=True)
class Room:
    """The free memory when the device was queried, and how much of it a worker uses, in bytes.

    `device_taken`: device memory of a worker that holds no buffers yet: its context, its code, and
    the buffer that flushes the cache. `host_taken`: host memory of the same worker.
    """

    device_free: int
    device_taken: int
    host_taken: int


@dataclass(frozen=True)
class Device:
    """The properties of a device on which a launch shape may depend, and its limits. Sizes in
    bytes.
    """

    name: str
    arch: str
    sm_count: int
    warp_size: int
    l2_bytes: int
    memory_bytes: int
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    max_grid: tuple[int, int, int]
    max_shared_bytes: int
    """The maximum shared memory per block, static and dynamic, that a kernel can opt in to."""
    bus: str = ""
    """The PCI address, by which NVML finds the card. It does not distinguish devices: equal cards
    are interchangeable."""
    capability: tuple[int, int] = (0, 0)
    """The card's own compute capability; (0, 0) without a card, in which case that of `arch`
    applies."""
    own_limits: Limits | None = None
    """The limits that the driver reports; None if the facts of `arch` are used instead."""
    room: Room | None = None
    """None if buffers are not in the device's own memory."""

    @property
    def compute_capability(self) -> tuple[int, int]:
        return self.capability if any(self.capability) else compute_capability(self.arch)

    @property
    def limits(self) -> Limits:
        """The limits for a launch. Raises UnknownArchitectureError if they are not known."""
        return self.own_limits or architecture(self.arch)

    @property
    def free_bytes(self) -> int:
        """The bytes that a case's buffers may take: free memory minus the worker's own share."""
        if self.room is None:
            return self.memory_bytes
        return max(0, self.room.device_free - self.room.device_taken)

    @property
    def runs_machine_code(self) -> bool:
        """Return whether the device runs code compiled for `arch`; otherwise the driver compiles
        the PTX."""
        major, minor = compute_capability(self.arch)
        return major == self.compute_capability[0] and minor <= self.compute_capability[1]

    def names(self) -> dict[str, int]:
        """The device facts that an expression may use."""
        return {name: getattr(self, name) for name in DEVICE_FACTS}


@dataclass(frozen=True)
class TensorMap:
    """A kernel parameter of type `const __grid_constant__ CUtensorMap`: the map of a tensor that
    begins at the start of a buffer."""

    buffer: str
    layout: TensorLayout

    def __str__(self) -> str:
        return f"a tensor map of {self.buffer}"


@dataclass(frozen=True)
class Step:
    """One kernel launch, with every expression evaluated."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    args: tuple[str | int | float | TensorMap, ...]
    """Buffer names, numbers and tensor maps."""
    cluster: tuple[int, int, int] = (1, 1, 1)
    """The dimensions of a thread block cluster in blocks; 1, 1, 1 if none is requested."""

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class Case:
    """One unit to run. `id` is stable: it is the NVTX range, the journal key and the report's
    anchor."""

    problem: str
    variant: str
    dtype: str
    sizes: dict[str, int]
    launch: dict[str, int] = field(default_factory=dict)
    source: str = ""
    defines: dict[str, int | float] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    overwrites: tuple[str, ...] = ()
    skip: str = ""
    refusal: str = ""
    builds_on: str = ""
    """The variant that this one improves on by a step."""
    kind: Kind = "kernel"
    function: str = ""
    """The function that a python or host case calls, `file.py:function` or `file.cu:function`."""
    args: tuple[str | int | float, ...] = ()
    """The arguments of a host case, which are buffer names and numbers; the stream is passed after
    them."""
    flags: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """Additional compiler flags; include folders, below the problems folder; sources, in the
    problem's folder."""
    let: dict[str, int | float] = field(default_factory=dict)
    """The values of names that a python case's parameters may use, besides sizes and launch
    keys."""
    as_library: bool = False
    """True for a library, which is shown with the variants for comparison."""
    compiled: bool = False
    """True if torch.compile compiles its function; for libraries only."""

    target: str = field(default="", repr=False)
    """The suffix of the architecture that its kernels are compiled for: `a` if they use features
    that only that architecture has. It is not part of `repr`, because run/staleness.py records it
    separately."""

    @property
    def id(self) -> str:
        parts = [self.problem, self.variant, self.dtype]
        parts += [f"{k}={v}" for k, v in (*self.sizes.items(), *self.launch.items())]
        return "/".join(parts)

    @property
    def group(self) -> str:
        """The name shared by all cases that are measured together: those with the same problem,
        dtype and sizes."""
        return "/".join([self.problem, self.dtype, *(f"{k}={v}" for k, v in self.sizes.items())])

    @property
    def shape(self) -> Shape:
        """The key of cases that share a verification result regardless of size."""
        return self.problem, self.variant, self.dtype, str(self.launch)

    @property
    def is_library(self) -> bool:
        return self.variant == LIBRARY or self.as_library


def listed(sizes: Iterable[Mapping[str, int]]) -> str:
    """`n=1, n=33` or `rows=2 cols=8, rows=3 cols=8`."""
    return ", ".join(" ".join(f"{k}={v}" for k, v in size.items()) for size in sizes)


def how_many(count: int, of: str = "case") -> str:
    """`1 case`, `12 cases`."""
    return f"{count:,} {of}" + ("" if count == 1 else "s")
