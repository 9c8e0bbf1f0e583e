"""Record a GPU's results for the instructions that instructions.py lists.

    python scripts/device_functions/on_gpu.py OUT       needs a GPU, its driver and nvcc

OUT/rounded_instructions.csv has a row for each instruction: its text, the digest of its results,
and the card. The file is committed in reports/h200/fidelity, where test_rounded_instructions.py
compares the emulator with it. OUT/rounded_instructions.npz has the results themselves, by name.
"""

from __future__ import annotations

import csv
import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import instructions
import numpy as np

NAME = "rounded_instructions"
ARCH = "sm_90"


class Gpu:
    """The first GPU, used through the driver's interface alone."""

    def __init__(self) -> None:
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(99)
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, len(name), device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.name = name.value.decode()

    def call(self, function: str, *arguments: object) -> None:
        error = getattr(self.driver, function)(*arguments)
        if error:
            raise RuntimeError(f"{function}: CUDA error {error}")

    def load(self, cubin: Path) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self.call("cuModuleLoad", ctypes.byref(found), str(cubin).encode())
        return found

    def run(
        self, module: ctypes.c_void_p, name: str, given: Sequence[np.ndarray], out: np.ndarray
    ) -> None:
        """Launch one thread per operand; together, the threads fill `out`."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        places = [ctypes.c_uint64() for _ in (*given, out)]
        for place, array in zip(places, (*given, out), strict=True):
            self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        for place, array in zip(places, given, strict=False):
            size = ctypes.c_size_t(array.nbytes)
            self.call("cuMemcpyHtoD_v2", place, ctypes.c_void_p(array.ctypes.data), size)
        parameters = (ctypes.c_void_p * len(places))(*(ctypes.addressof(each) for each in places))
        blocks, threads = instructions.COUNT // instructions.BLOCK, instructions.BLOCK
        self.call(
            "cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, parameters, None
        )
        size = ctypes.c_size_t(out.nbytes)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), places[-1], size)
        for place in places:
            self.call("cuMemFree_v2", place)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out, gpu, listed = Path(sys.argv[1]), Gpu(), instructions.cases()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder) / "cases.ptx", Path(folder) / "cases.cubin"
        ptx.write_text(instructions.module(listed))
        subprocess.run(["nvcc", "-cubin", f"-arch={ARCH}", ptx, "-o", cubin], check=True)
        module = gpu.load(cubin)
        for number, together in enumerate(instructions.groups(listed).values()):
            dtype = f"u{instructions.bits(together[0].result) // 8}"
            found = np.zeros((len(together), instructions.COUNT), dtype)
            gpu.run(module, f"k{number}", instructions.operands(together[0].sources), found)
            results |= dict(zip((case.name for case in together), found, strict=True))
    np.savez_compressed(out / f"{NAME}.npz", **results)  # type: ignore[arg-type]
    with (out / f"{NAME}.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(("instruction", "digest", "card"))
        for case in listed:
            write.writerow((case.name, instructions.digest(results[case.name]), gpu.name))


if __name__ == "__main__":
    main()
