"""Figures derived from counters. Each formula takes values by key and may have no result.

The formulas are plain functions rather than expressions in the data file, because there are few,
and a type checker and tests can check them. metrics.yaml states the meaning of each and the keys
that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Values = Mapping[str, float]
Formula = Callable[[Values], float | None]
"""The result is None if the divisor is zero: the figure then does not apply to the launch."""

_WAVEFRONTS, _IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}"
_LIMIT = "launch__occupancy_limit_{}"
_LIMITS = ("registers", "shared_mem", "warps", "blocks")


def _over(a: float, b: float) -> float | None:
    return a / b if b else None


def _per_request(operation: str) -> Formula:
    sectors, requests = (_GLOBAL.format(what, operation) for what in ("sectors", "requests"))
    return lambda values: _over(values[sectors], values[requests])


def _flops(letter: str) -> Formula:
    add, mul, fma = (
        f"smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on"
        for operation in ("add", "mul", "fma")
    )
    pair = 2 if letter == "h" else 1  # HADD2, HMUL2 and HFMA2 work on two halves at once
    return lambda values: pair * (values[add] + values[mul] + 2 * values[fma])


FORMULAS: Mapping[str, Formula] = {
    "blocks_per_multiprocessor": lambda v: min(v[_LIMIT.format(kind)] for kind in _LIMITS),
    "shared_wavefronts_excess": lambda v: v[_WAVEFRONTS] - v[_IDEAL],
    "shared_wavefronts_over_ideal": lambda v: _over(v[_WAVEFRONTS], v[_IDEAL]),
    "sectors_per_load": _per_request("ld"),
    "sectors_per_store": _per_request("st"),
    "flops_fp32": _flops("f"),
    "flops_fp64": _flops("d"),
    "flops_fp16": _flops("h"),
    "dram_bytes": lambda v: v["dram__bytes_read"] + v["dram__bytes_write"],
}


def occupancy_limiter(values: Values) -> str:
    """The resource that allows the fewest blocks; several are joined by "and"."""
    limits = {kind: values[_LIMIT.format(kind)] for kind in _LIMITS}
    least = min(limits.values())
    return " and ".join(
        kind.replace("shared_mem", "shared memory") for kind, n in limits.items() if n == least
    )
