"""A stand-in for ncu, which answers queries, pretends to profile, and misbehaves on request.

It is run as `ncu`; the environment variable STUB_NCU selects its behaviour. It also acts as the
worker: the last two arguments are the worker's, namely a job and the file for its lines.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MISHAPS = ("crashing", "dying-worker", "hanging", "deaf")
METRICS = Path(__file__).parent.parent / "data" / "ncu_metrics_gh100.txt"

FORBIDDEN = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)


def install(folder: Path) -> str:
    """Write an executable ncu into the folder; return its path."""
    path = folder / "ncu"
    here = str(Path(__file__).parent)
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {here!r})\n"
        "import stub_ncu\nsys.exit(stub_ncu.main(sys.argv[1:]))\n"
    )
    path.chmod(0o755)
    return str(path)


def main(arguments: list[str]) -> int:
    behaviour, _, detail = os.environ.get("STUB_NCU", "good").partition(" ")
    if arguments == ["--version"]:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1)")
        return 1 if behaviour == "broken" else 0
    if "--query-metrics" in arguments:
        text = METRICS.read_text()
        # Simulate a GPU that names its counters by operation, as some GPUs do.
        print(text.replace("dram__bytes_read ", "dram__bytes_op_read ") if detail == "op" else text)
        return 0
    return profile(arguments, behaviour, detail)


def profile(arguments: list[str], behaviour: str, detail: str) -> int:
    import report_files

    report = Path(arguments[arguments.index("--export") + 1])
    metrics = arguments[arguments.index("--metrics") + 1].split(",")
    job, lines = json.loads(Path(arguments[-2]).read_text()), Path(arguments[-1])
    launches = []

    def tell(line: str) -> None:
        with lines.open("a") as file:
            file.write(line + "\n")

    def launch(name: str, step: int) -> report_files.Launch:
        values = {metric: float(1 + step) for metric in metrics}
        return report_files.Launch("kernel", (name, f"{name}#{step}"), values)

    def finish(cut: int | None = None, file_format: int = report_files.FORMAT) -> None:
        content = report_files.content(launches, file_format=file_format)
        report.write_bytes(content[:cut])

    if behaviour == "forbidden":
        print(FORBIDDEN)
        return 1
    if behaviour == "refusing" and detail in metrics:
        print(f"==ERROR== Failed to find metric regex:^{detail}$")
        return 1
    for case in job["cases"]:
        name = f"{case['problem']}/{case['variant']}/{case['dtype']}"
        name += "".join(f"/{k}={v}" for k, v in (*case["sizes"].items(), *case["launch"].items()))
        tell(f"now {name}")
        if behaviour == "slow":
            time.sleep(float(detail))
        if detail and re.search(detail, name) and behaviour in MISHAPS:
            # A function may launch several kernels, only one of which has been launched at this
            # point.
            launches += [launch(name, step) for step in range(0 if case["steps"] else 1)]
            code = mishap(behaviour, tell, lines)
            finish()
            return code
        if behaviour == "copying" and re.search(detail, name):
            continue  # the driver copies memory without a kernel
        for step in range(len(case["steps"]) or 1):
            launches.append(launch(name, step))
    if behaviour == "silent":
        print("==WARNING== No kernels were profiled.")
    elif behaviour == "empty":
        report.touch()
    elif behaviour == "truncating":
        finish(cut=-40)
    elif behaviour == "older":
        finish(file_format=1)
    else:
        finish()
    return 0


def mishap(behaviour: str, tell: Callable[[str], None], lines: Path) -> int:
    """Simulate a failure in one case: ncu dies, its worker dies, or the worker hangs until it is
    ended."""
    if behaviour == "crashing":
        os.kill(os.getpid(), signal.SIGSEGV)
    if behaviour == "dying-worker":
        tell("error v1: an illegal memory access was encountered")
        print("==ERROR== The application returned an error code (1).")
        return 1
    sleep = "import time; time.sleep(60)"
    worker = subprocess.Popen([sys.executable, "-c", sleep, str(lines)])
    tell(f"pid {worker.pid}")
    worker.wait()
    if behaviour == "deaf":
        time.sleep(60)
    return 9
