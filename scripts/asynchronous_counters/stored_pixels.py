"""Execute im2col stores on a GPU without ncu, each in a process that is killed if it hangs.

    python scripts/asynchronous_counters/stored_pixels.py prepare FOLDER
    python scripts/asynchronous_counters/stored_pixels.py FOLDER [SECONDS]

Under ncu, the probe `store_pixels_4` of tests/fidelity/asynchronous ended or hung on two H100s. The
last launch here equals that probe; the others differ from it in one or two properties. The outcomes
(reports/h100/stored_pixels.json.gz) show that a GPU does not execute a store through a map with a
negative lower corner. `prepare` needs nvcc, and writes the cubin and what the emulator leaves in
memory. The second command needs a GPU and NumPy, prints a line for each launch, and writes
FOLDER/stored_pixels.json with the bytes that the GPU changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from one_launch import BYTES, Launch
from readings_on_gpu import unit

from harness.silicon.tensor_maps import TensorLayout

FILE: Final = "tensor_copies"
SECONDS: Final = 20.0
"""The time allowed for one launch and its process; a launch takes milliseconds."""


def _launch(at: tuple[int, ...], pixels: int = 16, corners: tuple[Any, Any] = ((0, 0), (0, 0)),
            kernel: str = "store_pixels_4") -> Launch:  # fmt: skip
    layout = TensorLayout(
        "f32", (32, 7, 6, 3), (32, pixels), lower=corners[0], upper=corners[1]
    )  # fmt: skip
    return Launch(FILE, kernel, (*at, 0, layout.box_bytes), maps=(layout,))


_AROUND = ((-1, -1), (-1, -1))
LAUNCHES: Final = {
    "the same pixels, loaded": _launch((0, 1, 1, 0), corners=_AROUND, kernel="load_pixels_4"),
    "one pixel, no corners": _launch((0, 1, 1, 0), 1),
    "no corners, from the first pixel": _launch((0, 0, 0, 0)),
    "no corners": _launch((0, 1, 1, 0)),
    "no corners, the next image too": _launch((0, 1, 5, 0)),
    "no corners, past the last image": _launch((0, 3, 4, 2)),
    "corners that begin at 0": _launch((0, 1, 1, 0), corners=((0, 0), (-1, -1))),
    "corners inside the image": _launch((0, 1, 1, 0), corners=((1, 1), (-1, -1))),
    "corners, within a row": _launch((0, 1, 1, 0), 4, _AROUND),
    "corners, to the end of a row": _launch((0, 1, 1, 0), 5, _AROUND),
    "corners, one pixel of the next row": _launch((0, 1, 1, 0), 6, _AROUND),
    "corners, from a negative pixel": _launch((0, -1, 1, 0), 4, _AROUND),
    "the probe": _launch((0, 1, 1, 0), corners=_AROUND),
}
"""The launches, by the property in which each differs from the probe."""


def changes(before: list[np.ndarray], after: list[np.ndarray]) -> list[list[list[int]]]:
    """The bytes of `out` and of the tensor that a launch has changed: their positions and their new
    values."""
    found = []
    for old, new in zip(before[1:], after[1:], strict=True):
        where = np.flatnonzero(old != new)
        found.append([where.tolist(), new[where].tolist()])
    return found


def prepare(folder: Path) -> None:
    """Compile, and write which bytes each launch changes in the emulator, or the fault that it
    causes there."""
    import emulated_launches

    from harness.compiler import compile as compiler

    folder.mkdir(parents=True, exist_ok=True)
    built = compiler.build(unit(FILE))
    shutil.copyfile(built.cubin, folder / f"{FILE}.cubin")
    expected = {}
    for name, each in LAUNCHES.items():
        report, buffers = emulated_launches.left_by_machine_code(built, each)
        faults = [fault.message for fault in report.faults]
        expected[name] = {"changes": changes(each.buffers(), buffers), "faults": faults}
    (folder / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


def launched(folder: Path, name: str) -> None:
    """Execute a launch on the GPU, in a separate process, and print what it has changed."""
    import ctypes

    import cuda_driver

    each, before = LAUNCHES[name], LAUNCHES[name].buffers()
    with cuda_driver.opened() as context:
        function = context.function(
            context.loaded((folder / f"{FILE}.cubin").read_bytes()), each.kernel
        )
        addresses = [context.allocated(BYTES) for _ in before]
        for address, data in zip(addresses, before, strict=True):
            context.write(address, data)
        map_ = cuda_driver.tensor_map(each.maps[0], addresses[2])
        arguments = [
            map_, *map(ctypes.c_uint64, addresses[:2]), *map(ctypes.c_int, each.scalars)
        ]  # fmt: skip
        context.launch(function, each.grid, each.block, each.shared, arguments)
        after = [context.read(address, BYTES) for address in addresses]
    print(json.dumps(changes(before, after)))


def outcome(folder: Path, name: str, seconds: float) -> dict[str, Any]:
    """The outcome of a launch: the bytes that it has changed, or what went wrong."""
    command = [sys.executable, __file__, "launch", str(folder), name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said, failed = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return {"error": f"no end after {seconds:g} s, and the driver does not let go of it"}
        return {"error": f"no end after {seconds:g} s"}
    if process.returncode:
        last = (failed.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        return {"error": last}
    return {"changes": json.loads(said)}


def compared(found: dict[str, Any], expected: dict[str, Any]) -> str:
    """A sentence about a launch on the GPU and in the emulator."""
    here = expected["faults"][0] if expected["faults"] else "no fault"
    if "error" in found:
        return f"GPU: {found['error']}; emulator: {here}"
    theirs, ours = (
        {(buffer, at): value for buffer, (where, values) in enumerate(each["changes"])
         for at, value in zip(where, values, strict=True)}
        for each in (found, expected)
    )  # fmt: skip
    if theirs == ours:
        return f"the same {len(ours):,} bytes changed; emulator: {here}"
    differ = sorted(at for at in theirs.keys() | ours.keys() if theirs.get(at) != ours.get(at))
    buffer, at = differ[0]
    return (
        f"{len(differ):,} bytes differ (GPU changed {len(theirs):,}, emulator {len(ours):,}), the "
        f"first at {at} of {('out', 'the tensor')[buffer]}; emulator: {here}"
    )


def compare(folder: Path, seconds: float) -> None:
    """Execute every launch on the GPU, and print how it compares with the emulator."""
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    every = {}
    for name in LAUNCHES:
        every[name] = found = outcome(folder, name, seconds)
        print(f"{name}: {compared(found, expected[name])}", flush=True)
    (folder / "stored_pixels.json").write_text(json.dumps(every), encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["prepare"]:
        prepare(Path(arguments[1]))
    elif arguments[:1] == ["launch"]:
        launched(Path(arguments[1]), arguments[2])
    else:
        compare(Path(arguments[0]), float(arguments[1]) if arguments[1:] else SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
