"""Compile the kernels of kernels.py to PTX, for sm_80 and sm_90, and record how each is launched.

    pip install triton==3.9.0 && python tests/emulator/triton/make_ptx.py

Needs no GPU. Line information is kept; the other debug information, which makes up most of the text
and contains paths, is removed. The PTX version is set to the newest that the assembler of CUDA 13.0
accepts: these kernels do not need the version that Triton writes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ARCHITECTURES = (80, 90)
# Triton rejects these 8-bit floats there, and specialises warps only for sm_90 and later.
NOT_FOR = {"matmul_fp8e4nv": 80, "specialized_matmul": 80, "specialized_attention": 80}


def main() -> None:
    import triton
    from triton.backends.compiler import GPUTarget

    from kernels import KERNELS

    launches = {}
    for name, (function, types, constants, warps) in KERNELS.items():
        names = [each for each in function.arg_names if each not in constants]
        signature = dict(zip(names, types.split(), strict=True))
        source = triton.compiler.ASTSource(fn=function, signature=signature, constexprs=constants)
        for arch in ARCHITECTURES:
            if NOT_FOR.get(name) == arch:
                continue
            target = GPUTarget("cuda", arch, 32)
            made = triton.compile(source, target=target, options={"num_warps": warps})
            text = re.sub(r'"[^"\n]*/kernels\.py"', '"kernels.py"', made.asm["ptx"])
            text = re.sub(r"^\t\.section.*?^\t\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
            text = re.sub(r'"/[^"\n]*/', '"', text)
            text = re.sub(r", function_name .*", "", text)  # they refer to the removed sections
            text = re.sub(r"^\.version .*", ".version 9.0", text, flags=re.MULTILINE)
            file = HERE / f"{name}.sm_{arch}.ptx.gz"
            file.write_bytes(gzip.compress(text.encode(), mtime=0))
            launches[f"{name}.sm_{arch}"] = {
                "threads": 32 * made.metadata.num_warps, "shared": made.metadata.shared,
            }  # fmt: skip
    (HERE / "launches.json").write_text(json.dumps(launches, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
