"""Record a GPU's products with a sparse first operand.

    python scripts/sparse_products/products_on_gpu.py OUT       needs a GPU and nvcc

OUT/sparse_products.csv.gz has a row for each kernel of product_cases.py: its name, and the bytes of
all sums in hexadecimal. The file is committed in reports/h100, where
tests/emulator/engine/instructions/arithmetic/test_sparse_products.py compares the emulator with it.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import product_cases as listed


def main(out: Path) -> int:
    import pycuda.autoinit  # noqa: F401 - makes the context
    import pycuda.driver as cuda

    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "products.cubin"
        command = ["nvcc", "-arch=sm_90a", "-cubin", "-o", str(built), str(listed.SOURCE)]
        subprocess.run(command, check=True)
        module = cuda.module_from_file(str(built))
    with gzip.open(out / "sparse_products.csv.gz", "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["kernel", "sums"])
        for case in listed.cases():
            *given, sums = case.words()
            launch = module.get_function(case.kernel)
            launch(*map(cuda.In, given), cuda.InOut(sums),
                   grid=(listed.PRODUCTS, 1), block=(case.threads, 1, 1))  # fmt: skip
            rows.writerow([case.kernel, sums.tobytes().hex()])
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
