"""The selection of CUTLASS's and CuTe's unit tests for sm_90.

The choice follows a rule, so that results do not influence it: among the device-wide matrix
products without sparsity, the alphabetically first file for each type of the input matrices and for
each feature in the file names; and all of CuTe's tests for Hopper. The first test in each file is
compiled, with its own sizes. The three tests of CuTe that compile quickly are run as a whole
(asynchronous_programs.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

GEMMS, HOPPER = "test/unit/gemm/device", "test/unit/cute/hopper"
_TYPES: Final = ("bf16", "f16", "f32", "f8", "s8", "tf32")
_FEATURES: Final = (
    "cluster_unspecialized", "cluster_warpspecialized", "cluster_warpspecialized_cooperative",
    "cluster_warpspecialized_pingpong", "aux_load", "aux_store", "bias_elementwise", "blockwise",
    "dag", "evt", "gett", "group_gemm", "ptr_array", "reduce", "row_broadcast", "rs", "stream_k",
    "tensor_broadcast",
)  # fmt: skip
_WHOLE: Final = {"bulk_load", "bulk_store", "stsm"}


def chosen(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield each program's file in the repository, and the name of its test."""
    gemms = sorted(f for f in (checkout / GEMMS).glob("sm90_*.cu") if "sparse" not in f.name)
    patterns = [
        *(f"sm90_gemm_{each}_" for each in _TYPES),
        *(f"_{each}(_|$)" for each in _FEATURES),
    ]
    found = [next(f for f in gemms if re.search(each, f.stem)) for each in patterns]
    found += sorted(f for f in (checkout / HOPPER).glob("*.cu") if f.stem not in _WHOLE)
    for file in dict.fromkeys(found):
        first = re.search(r"^TEST\((\w+),\s*(\w+)\)", file.read_text(), re.MULTILINE)
        assert first is not None
        yield str(file.relative_to(checkout)), f"{first[1]}_{first[2]}"
