"""Record the bytes that a GPU's tensor-map copies leave in shared memory and in the tensor.

    python scripts/tensor_maps/copies_on_gpu.py OUT       needs a GPU and nvcc

OUT/tensor_copies.csv.gz has a row for each case of copy_cases.py: its name, and the bytes that the
copy changed, each contiguous run as `offset:bytes` in hexadecimal; or `error` and the driver's
message. A copy that the GPU does not execute ends its context, so the cases after it are executed
by another process. The file is committed in reports/h100, where
tests/emulator/engine/instructions/memory/test_tensor_copy_readings.py compares the emulator with
it.
"""

from __future__ import annotations

import csv
import gzip
import multiprocessing
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import copy_cases as listed
import numpy as np

from harness.backends.cuda import tensor_maps
from harness.emulator.sass.cubin.elf import contents

SOURCE = Path(__file__).parents[2] / "tests/fidelity/tensor_copies/copies.cu"
_THREADS = 128
_OLD = 0xA5
_SHARED = listed.ROOM + 1024


def changed(before: np.ndarray, after: np.ndarray) -> str:
    """Write each run of changed 16-byte units as its offset and its new bytes, both in hex."""
    at = np.flatnonzero((before != after).reshape(-1, 16).any(axis=1))
    runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1) if len(at) else []
    return " ".join(
        f"{16 * run[0]:x}:{after[16 * run[0] : 16 * (run[-1] + 1)].tobytes().hex()}" for run in runs
    )


def read(cubin: str, cases: list[listed.Case]) -> list[str]:
    """Execute the cases in a context of this process, until one of them ends it."""
    import pycuda.autoinit  # noqa: F401 - makes the context
    import pycuda.driver as cuda

    module, found = cuda.module_from_file(cubin), []
    for case in cases:
        try:
            found.append(_copied(cuda, module, cubin, case))
        except Exception as error:
            found.append(f"error {error}")
            break
    return found


def _copied(cuda, module, cubin: str, case: listed.Case) -> str:  # type: ignore[no-untyped-def]
    launch = module.get_function(case.kernel)
    memory = cuda.to_device(case.tensor())
    room = np.full(listed.ROOM + 1, _OLD, np.uint8)
    shape = {"block": (_THREADS, 1, 1), "grid": (1, 1)}
    box = cuda.to_device(room if case.loads else case.box())
    if case.operation.startswith("bulk"):
        size = case.layout.box_bytes
        launch(memory, box, np.int32(size), shared=_SHARED, **shape)
    else:
        status, encoded = tensor_maps.encode(case.layout, int(memory))
        if status:
            return f"error the driver does not encode the map: {status}"
        coordinates = [np.int32(each) for each in (*case.at, *(0,) * (5 - len(case.at)))]
        launch.prepare(_format(cubin, case))
        more = [np.int32(case.layout.box_bytes)] if case.loads else []
        launch.prepared_call((1, 1), (_THREADS, 1, 1), encoded, *coordinates, int(box), *more,
                             shared_size=_SHARED)  # fmt: skip
    cuda.Context.synchronize()
    if case.loads:
        *after, all_of_them = cuda.from_device(box, (listed.ROOM + 1,), np.uint8)
        told = changed(room[:-1], np.array(after))
        return told if all_of_them else f"not {case.layout.box_bytes} bytes {told}"
    return changed(case.tensor(), cuda.from_device(memory, (listed.BYTES,), np.uint8))


def _format(cubin: str, case: listed.Case) -> str:
    """The parameters' layout in the notation of `struct`, with the padding that nvcc inserts."""
    kernel = contents(Path(cubin).read_bytes(), cubin).kernels[case.kernel]
    out = ""
    for parameter, kind in zip(kernel.parameters, ["128s", *"iiiiiPi"], strict=False):
        out += f"{parameter.offset - struct.calcsize(out)}x{kind}"
    return out


def main(out: Path) -> int:
    groups: dict[object, list[listed.Case]] = defaultdict(list)
    for case in listed.cases():
        groups[case.operation, case.layout.element, case.layout.interleave].append(case)
    with tempfile.TemporaryDirectory() as folder:
        built = str(Path(folder) / "copies.cubin")
        command = ["nvcc", "-arch=sm_90a", "-cubin", "-o", built, str(SOURCE)]
        subprocess.run(command, check=True)
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(16, mp_context=spawning, max_tasks_per_child=1) as pool:
            left, found = list(groups.values()), dict[str, str]()
            while left:
                read_of = [pool.submit(read, built, cases) for cases in left]
                for cases, each in zip(left, read_of, strict=True):
                    texts = each.result()  # of the first cases, up to one that ended the context
                    found |= {case.name: text for case, text in zip(cases, texts, strict=False)}
                left = [[case for case in cases if case.name not in found] for cases in left]
                left = [cases for cases in left if cases]
    with gzip.open(out / "tensor_copies.csv.gz", "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "changed"])
        rows.writerows([case.name, found[case.name]] for case in listed.cases())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
