"""Named hardware features, each with the compute capabilities that have it.

Sources: [ptx] the PTX ISA's "Target ISA Notes" of the instruction; [guide] CUDA Programming Guide
13.0, "Compute Capabilities".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import NamedTuple

Capability = tuple[int, int]


class Feature(NamedTuple):
    """A hardware feature, with the first compute capability that has it. `until`: the last one, if
    later ones lack it. `is_specific`: whether nvcc offers it only for an architecture-specific
    target, such as `sm_90a`, whose code no other architecture runs."""

    since: Capability
    words: str
    until: Capability | None = None
    is_specific: bool = False


FEATURES = MappingProxyType({
    "tensor_cores": Feature((7, 0), "tensor cores"),  # [ptx] wmma on float16
    "mma_m16n8k16": Feature((8, 0), "mma.m16n8k16"),  # [ptx] mma on float16
    "tf32": Feature((8, 0), "TF32"),  # [ptx] wmma and mma on tf32; [guide] tensor core data types
    "cp_async": Feature((8, 0), "cp.async"),  # [ptx] cp.async
    "bf16": Feature((8, 0), "bfloat16 arithmetic"),  # [ptx] fma.bf16; [guide] as above
    "fp8": Feature((8, 9), "FP8"),  # [ptx] mma on e4m3 and e5m2
    "clusters": Feature((9, 0), "thread block clusters"),  # [guide] feature support
    "tma": Feature((9, 0), "the tensor memory accelerator"),  # [ptx] cp.async.bulk.tensor
    # [ptx] wgmma.mma_async: "requires sm_90a"; setmaxnreg: sm_90a, sm_100a and so on
    "wgmma": Feature((9, 0), "warpgroup products", until=(9, 0), is_specific=True),
    "setmaxnreg": Feature((9, 0), "registers moved between warpgroups", is_specific=True),
})  # fmt: skip


def specific_in(texts: Iterable[str]) -> list[str]:
    """Find the features named in these texts that nvcc offers only for architecture-specific
    targets. The names are those of instructions: `wgmma.mma_async`, `setmaxnreg.inc`."""
    specific = [name for name, feature in FEATURES.items() if feature.is_specific]
    return [name for name in specific if any(re.search(rf"\b{name}\b", text) for text in texts)]


def dotted(capability: Capability) -> str:
    """The capability in NVIDIA's notation: 8.0."""
    return f"{capability[0]}.{capability[1]}"
