"""Run other people's kernels on a GPU under Nsight Compute: counters and results of every launch.

    python on_gpu.py COMPILED OUT

COMPILED is the output of sources.py. OUT gets `readings.tar.xz`, from which readings.py makes the
committed readings. It contains ncu's reports, `part-*.ncu-rep`, with the launches in the order of
`results.json`, and `results.json` itself, which has for each launch the hash of every buffer before
and after, and a few values of the buffers that changed.

Needs PyCUDA, NumPy, PyYAML and `ncu` (the environment variable NCU selects a different one); from
this repository it needs only launches.py and kernels.yaml in the same folder. The launches run in
order, in portions, each in a process under ncu. A launch that fails or crashes is reported with its
reason, and the launches after it are run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import launches as listed
import numpy as np

GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
METRICS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    *(GLOBAL.format(what, op) for op in ("ld", "st", "red", "atom")
      for what in ("requests", "sectors")),
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"
      for op in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")),
    "launch__registers_per_thread",
)  # fmt: skip
BY_INSTRUCTION = (
    "sass__inst_executed_per_opcode",
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
)
"""Counts by opcode and by address, which show where to look when a sum differs. They are left out
if ncu rejects them."""
MOST_STATIC_SHARED = 48 << 10
PORTION = 35
"""The number of launches in one process, all of which are lost if its report is lost."""
LATE_S = 90
"""The deadline of a process, in seconds."""
BUDGET_S = 240
SAMPLES = 16
"""The number of evenly spaced values that are kept of a buffer."""


def sha256(array: listed.Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def samples(array: listed.Array) -> list[float]:
    """A few values: the first, the last, and evenly spaced ones between them."""
    places = np.linspace(0, array.size - 1, min(SAMPLES, array.size)).astype(int)
    return [float(value) for value in array[places]]


def run(compiled: Path, names: Sequence[str], lines: Path) -> int:
    """Run every launch in order, in the process under ncu, and print a line after each."""
    import pycuda.driver as cuda

    manifest = json.loads((compiled / "manifest.json").read_text(encoding="utf-8"))
    by_name = {launch.name: launch for launch in listed.read()}
    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    modules: dict[str, Any] = {}
    try:
        with lines.open("a", encoding="utf-8") as told:
            for name in names:
                told.write(json.dumps({"starts": name}) + "\n")
                told.flush()
                file = manifest[name]["file"]
                if file not in modules:
                    modules[file] = cuda.module_from_file(str(compiled / f"{file}.cubin"))
                found = _launched(cuda, by_name[name], manifest[name], modules[file])
                told.write(json.dumps({"done": name, **found}) + "\n")
                told.flush()
    finally:
        modules.clear()
        context.pop()
    return 0


def _launched(
    cuda: Any, launch: listed.Launch, entry: Mapping[str, Any], module: Any
) -> dict[str, Any]:
    before = {each.name: each.contents(launch.name) for each in launch.buffers}
    places = {name: cuda.mem_alloc(array.nbytes) for name, array in before.items()}
    for name, array in before.items():
        cuda.memcpy_htod(places[name], array)
    for each in launch.variables:
        contents = each.contents(launch.name)
        address, size = module.get_global(each.name)
        if size != contents.nbytes:
            raise ValueError(f"{each.name} has {size} bytes, not {contents.nbytes}")
        cuda.memcpy_htod(address, contents)
    function = module.get_function(entry["symbol"])
    if launch.shared_bytes > MOST_STATIC_SHARED:
        function.set_attribute(
            cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes
        )
    parameters = packed(launch, entry["parameters"], {n: int(p) for n, p in places.items()})
    # Passed as bytes, because the cubin gives each argument's offset.
    function.prepare("B" * len(parameters))
    function.prepared_call(launch.grid, launch.block, *parameters, shared_size=launch.shared_bytes)
    cuda.Context.synchronize()
    after, kept = {}, {}
    for name, array in before.items():
        result = np.empty_like(array)
        cuda.memcpy_dtoh(result, places[name])
        places[name].free()
        result = launch.in_order(name, result)
        after[name] = sha256(result)
        if after[name] != sha256(launch.in_order(name, array)):
            kept[name] = samples(result)
    hashes = {name: sha256(array) for name, array in before.items()}
    return {"symbol": entry["symbol"], "before": hashes, "after": after, "samples": kept}


def packed(
    launch: listed.Launch, parameters: Sequence[Sequence[int]], addresses: Mapping[str, int]
) -> bytes:
    """Pack the arguments into one parameter block, at the offsets that the cubin gives."""
    out = bytearray(max((offset + size for offset, size in parameters), default=0))
    for arg, (offset, size) in zip(launch.args, parameters, strict=True):
        buffer = isinstance(arg, listed.Buffer)
        own = addresses[arg.name].to_bytes(8, "little") if buffer else arg.packed()
        if len(own) != size:
            raise ValueError(f"{launch.name}: {arg.name} has {len(own)} bytes, not {size}")
        out[offset : offset + size] = own
    return bytes(out)


def profile(compiled: Path, out: Path) -> int:
    """Run every launch under ncu, one portion after another."""
    out.mkdir(parents=True, exist_ok=True)
    manifest = json.loads((compiled / "manifest.json").read_text(encoding="utf-8"))
    left = [launch.name for launch in listed.read() if launch.name in manifest]
    metrics: tuple[str, ...] = (*METRICS, *BY_INSTRUCTION)
    parts: list[dict[str, Any]] = []
    end = time.monotonic() + BUDGET_S
    while left and time.monotonic() < end:
        part, asked = len(parts), left[:PORTION]
        report = out / f"part-{part}.ncu-rep"
        found, said, code = _under_ncu(compiled, report, asked, metrics)
        done = [line for line in found if "done" in line]
        names = [line["done"] for line in done]
        failed = next((line["starts"] for line in reversed(found) if "starts" in line), "")
        failed = "" if failed in names else failed
        whole = report.exists() and names == asked
        narrower = not whole and not failed and len(metrics) > len(METRICS)
        if narrower:  # ncu may lack a per-instruction metric: try without them
            metrics, done, names = METRICS, [], []
            report.unlink(missing_ok=True)
        parts.append({
            "part": part, "code": code, "asked": asked, "failed": failed, "launches": done,
            "report": report.exists(), "said": said[-3000:],
        })  # fmt: skip
        (out / "results.json").write_text(json.dumps({"parts": parts}), encoding="utf-8")
        print(f"part {part}: {len(names)} of {len(asked)} launches, exit {code}, report "
              f"{report.stat().st_size if report.exists() else 'missing'}"
              f"{', failed: ' + failed if failed else ''}"
              f"{', again with fewer metrics' if narrower else ''}", flush=True)  # fmt: skip
        if narrower:
            continue
        # A portion that made no progress is abandoned, and the next one is tried.
        gone = {*names, failed} if names or failed else set(asked)
        left = [name for name in left if name not in gone]
    with tarfile.open(out / "readings.tar.xz", "w:xz") as packed_up:
        for path in sorted([*out.glob("part-*.ncu-rep"), out / "results.json"]):
            packed_up.add(path, path.name)
            path.unlink()
    size = (out / "readings.tar.xz").stat().st_size
    print(f"{len(left)} launches left; readings.tar.xz has {size} bytes")
    return 1 if left else 0


def _under_ncu(
    compiled: Path, report: Path, names: Sequence[str], metrics: Sequence[str]
) -> tuple[list[dict[str, Any]], str, int | None]:
    """Run a portion under ncu; return the worker's output, ncu's output, and its exit code (None
    after a timeout)."""
    lines, log = report.with_suffix(".lines"), report.with_suffix(".said")
    command = [
        os.environ.get("NCU", "ncu"), "--clock-control", "none", "--cache-control", "all",
        "--replay-mode", "kernel", "--target-processes", "all", "--metrics", ",".join(metrics),
        "--export", str(report), "--force-overwrite",
        sys.executable, str(Path(__file__).resolve()), "--worker", str(compiled), str(lines),
        ",".join(names),
    ]  # fmt: skip
    lines.touch()
    with log.open("wb") as said:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            code: int | None = child.wait(LATE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = None
    told = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    text = log.read_text(errors="replace")
    lines.unlink()
    log.unlink()
    return told, text, code


def main(arguments: Sequence[str]) -> int:
    if len(arguments) == 4 and arguments[0] == "--worker":
        return run(Path(arguments[1]), arguments[3].split(","), Path(arguments[2]))
    if len(arguments) != 2:
        print("usage: on_gpu.py COMPILED OUT", file=sys.stderr)
        return 2
    return profile(Path(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
