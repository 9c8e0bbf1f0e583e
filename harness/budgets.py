"""The expected costs of a variant: `expect:` in bench.yaml, as names with limits.

A name is a quantity of harness/quantities/quantities.yaml with _ for -, the number of bank
conflicts, or a counter of docs/counters.md. The names are defined here, in a module that the matrix
may import, so that it can reject an unknown one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness import quantities

NONE = "none"
BANK_CONFLICTS = "bank_conflicts"
"""Shared-memory wavefronts beyond the ideal."""

QUANTITIES: tuple[str, ...] = tuple(key.replace("-", "_") for key in quantities.QUANTITIES)
ASYNCHRONOUS: tuple[str, ...] = (
    *(
        f"smsp__sass_inst_executed_op_{kind}.sum"
        for kind in (
            "tma", "tma_ld", "tma_st", "tma_red", "dshared", "dshared_ld", "dshared_st",
            "dshared_atom", "dshared_stas", "dshared_redas", "dshared_tma_st", "dshared_tma_red",
        )
    ),
    "smsp__inst_executed_pipe_tma.sum",
    "l1tex__tmain_requests.sum",
    *(
        f"l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld{to}.sum"
        for to in ("", "_dest_self", "_dest_multicast")
    ),
    *(
        f"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld{to}.sum"
        for to in ("", "_dest_multicast")
    ),
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast.sum",
    *(
        f"l1tex__m_l1tex2xbar_write_{what}_mem_global_op_tma_{operation}.sum"
        for what in ("sectors", "bytes")
        for operation in ("st", "red")
    ),
    *(
        f"l1tex__m_{way}_sectors_mem_dshared_op_tma_{operation}.sum"
        for way in ("l1tex2xbar_write", "xbar2l1tex_read")
        for operation in ("st", "red")
    ),
    "l1tex__m_l1tex2xbar_write_bytes_pipe_tma.sum",
    "l1tex__m_xbar2l1tex_read_bytes_pipe_tma.sum",
    *(
        f"l1tex__t_{what}_pipe_lsu_mem_dshared_op_{operation}.sum"
        for what in ("requests", "sectors")
        for operation in ("ld", "st", "atom", "redas")
    ),
)  # fmt: skip
"""The counters of Hopper's bulk copy unit and of accesses to other blocks' shared memory. The
emulator counts them in machine code, and records none of them for a launch without such
instructions."""

COUNTERS: tuple[str, ...] = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    *(
        f"l1tex__t_{what}_pipe_lsu_mem_global_op_{operation}.sum"
        for what in ("requests", "sectors")
        for operation in ("ld", "st", "red", "atom")
    ),
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    *(f"shared_{operation}_instructions" for operation in ("ld", "st", "atom")),
    "barrier_instructions",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    *(
        f"smsp__sass_thread_inst_executed_op_{precision}{operation}_pred_on.sum"
        for precision in "fdh"
        for operation in ("add", "mul", "fma")
    ),
    *(f"flops_{kind}" for kind in ("fp16", "fp32", "fp64", "tensor")),
    *(
        f"{space}_atomic_{what}"
        for space in ("global", "shared")
        for what in ("lanes", "addresses", "lanes_per_address", "most_lanes_per_address")
    ),
    "distinct_sectors_read",
    "distinct_sectors_written",
    *ASYNCHRONOUS,
)

NAMES: tuple[str, ...] = (BANK_CONFLICTS, *QUANTITIES, *COUNTERS)

_WORDS = {"==": "", "<=": "at most ", "<": "less than ", ">=": "at least ", ">": "more than "}
RELATIONS = tuple(_WORDS)
_IF_COUNTED = " if counted"


@dataclass(frozen=True)
class Budget:
    """The requirement on one figure: `none`, or a relation (one of RELATIONS) and a limit.

    `may_be_unchecked`: the gate may open although the figure is unknown.
    """

    relation: str
    limit: float
    may_be_unchecked: bool = False

    def holds(self, value: float) -> bool:
        """Return whether the figure meets the requirement; NaN never does. Errors in a ratio's last
        digits are tolerated."""
        near = math.isclose(value, self.limit, rel_tol=1e-9)
        below, above = value < self.limit and not near, value > self.limit and not near
        return {"==": near, "<=": near or below, "<": below, ">=": near or above, ">": above}[
            self.relation
        ]

    @property
    def words(self) -> str:
        """`none`, `4`, `at most 4`."""
        return NONE if self._is_none else f"{_WORDS[self.relation]}{shown(self.limit)}"

    @property
    def _is_none(self) -> bool:
        return (self.relation, self.limit) == ("==", 0)

    def __str__(self) -> str:
        """The text in the journal, which parse() reads."""
        text = NONE if self._is_none else f"{self.relation} {self.limit!r}"
        return text + (_IF_COUNTED if self.may_be_unchecked else "")


def parse(text: str) -> Budget:
    """Parse what str() wrote. Raises ValueError."""
    said = text.removesuffix(_IF_COUNTED)
    may_be_unchecked = said != text
    if said == NONE:
        return Budget("==", 0, may_be_unchecked)
    relation, _, limit = said.partition(" ")
    if relation not in _WORDS:
        raise ValueError(f"`{text}` is not a budget")
    return Budget(relation, float(limit), may_be_unchecked)


def shown(value: float) -> str:
    """`430,080`, `16.5`."""
    whole = math.isfinite(value) and value == round(value)
    return f"{value:,.0f}" if whole else f"{value:.6g}"
