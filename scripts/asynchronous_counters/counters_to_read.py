"""The counters to read: Nsight Compute's counters for Hopper's asynchronous instructions, and the
counters that the emulator already has."""

from __future__ import annotations

from collections.abc import Iterator

_EACH = {
    "smsp__inst_executed_op_{}": (
        "tma_ld", "tma_st", "ldsm", "shared_stsm", "shared_ld", "shared_st", "shared_atom",
        "generic_ld", "generic_st", "generic_atom",
    ),
    "smsp__sass_inst_executed_op_{}": (
        "tma", "tma_ld", "tma_st", "tma_red", "dshared", "dshared_ld", "dshared_st", "dshared_atom",
        "dshared_redas", "dshared_stas", "dshared_tma_st", "dshared_tma_red", "shared",
        "shared_gmma",
    ),
    "smsp__sass_data_bytes_mem_shared{}": (
        "", "_op_ld", "_op_st", "_op_atom", "_op_ldsm", "_op_stsm", "_op_gmma",
    ),
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}": (
        "ld", "st", "atom", "ldsm", "stsm",
    ),
    "smsp__inst_executed_pipe_{}": (
        "tma", "tma_pred_on_any", "lsu", "uniform", "adu", "cbu", "tensor_op_gmma",
    ),
    "l1tex__data_pipe_lsu_wavefronts{}": (
        "", "_mem_lgds", "_mem_shared", "_mem_shared_op_ld", "_mem_shared_op_st",
        "_mem_shared_op_atom", "_mem_shared_op_gmma", "_mem_shared_op_misc",
    ),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}": ("ld", "st", "gmma"),
    "l1tex__data_bank_{}": ("reads", "writes"),
    "l1tex__{}_requests": ("lsuin", "tmain"),
    "l1tex__t_requests_pipe_lsu_mem_{}": (
        "dshared_op_ld", "dshared_op_st", "dshared_op_atom", "dshared_op_redas", "global_op_ld",
        "global_op_st", "global_op_red", "global_op_atom",
    ),
    "l1tex__t_sectors_pipe_lsu_mem_{}": (
        "dshared_op_ld", "dshared_op_st", "dshared_op_atom", "dshared_op_redas", "global_op_ld",
        "global_op_st", "global_op_red", "global_op_atom",
    ),
    "l1tex__t_output_wavefronts_pipe_lsu_mem_dshared_op_{}": ("ld", "st", "atom", "redas"),
    "l1tex__m_l1tex2xbar_write_sectors_{}": (
        "mem_dshared_op_ld", "mem_dshared_op_st", "mem_dshared_op_atom", "mem_dshared_op_redas",
        "mem_dshared_op_tma_st", "mem_dshared_op_tma_red", "mem_global_op_tma_st",
        "mem_global_op_tma_red",
    ),
    "l1tex__m_l1tex2xbar_write_bytes_{}": (
        "mem_dshared", "mem_global_op_tma_st", "mem_global_op_tma_red", "pipe_tma",
    ),
    "l1tex__m_l1tex2xbar_read_requests_mem_global_op_tma_ld_dest_multicast{}": (
        "", "_size_32B", "_size_64B", "_size_96B", "_size_128B",
    ),
    "l1tex__m_xbar2l1tex_read_sectors_{}": (
        "mem_dshared_op_ld", "mem_dshared_op_st", "mem_dshared_op_atom", "mem_dshared_op_redas",
        "mem_dshared_op_tma_st", "mem_dshared_op_tma_red", "mem_global_op_tma_ld",
        "mem_global_op_tma_ld_dest_self", "mem_global_op_tma_ld_dest_multicast",
    ),
    "l1tex__m_xbar2l1tex_read_bytes_{}": (
        "mem_dshared", "mem_global_op_tma_ld", "mem_global_op_tma_ld_dest_multicast", "pipe_tma",
    ),
    "lts__t_requests_srcunit_tex_op_{}": ("read", "write", "red"),
    "lts__t_sectors_srcunit_tex_op_{}": ("read", "write", "red"),
    "smsp__{}": (
        "inst_executed", "thread_inst_executed", "thread_inst_executed_pred_on",
        "sass_branch_targets", "sass_branch_targets_threads_divergent",
        "sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    ),
}  # fmt: skip
OF_INSTRUCTIONS = ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal")
"""Counters that Nsight Compute itself sums over instructions; their names have no `.sum`."""


def _all() -> Iterator[str]:
    for pattern, parts in _EACH.items():
        yield from (f"{pattern.format(part)}.sum" for part in parts)
    yield from OF_INSTRUCTIONS


METRICS = tuple(_all())
