"""The available memory according to /proc and cgroups, and limiting a process to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.processes import host_memory

GIB = 1 << 30


def machine(folder: Path, available_kib: int, cgroup: str) -> Path:
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {available_kib} kB\n")
    (folder / "self/cgroup").write_text(cgroup)
    return folder


def test_without_a_cgroup_it_is_what_the_machine_has(tmp_path: Path) -> None:
    proc = machine(tmp_path / "proc", 4 << 20, "")
    assert host_memory.available(proc, tmp_path / "none") == 4 * GIB


def test_a_cgroup_above_ours_bounds_it_too_and_file_caches_are_given_back(tmp_path: Path) -> None:
    proc = machine(tmp_path / "proc", 64 << 20, "0::/batch/job\n")
    batch = tmp_path / "cgroup/batch"
    (batch / "job").mkdir(parents=True)
    (batch / "job/memory.max").write_text("max\n")
    (batch / "job/memory.current").write_text("1\n")
    (batch / "memory.max").write_text(f"{16 * GIB}\n")
    (batch / "memory.current").write_text(f"{10 * GIB}\n")
    (batch / "memory.stat").write_text(f"anon 5\ninactive_file {2 * GIB}\n")
    assert host_memory.available(proc, tmp_path / "cgroup") == 8 * GIB


def test_a_cgroup_of_the_first_version_bounds_it_too(tmp_path: Path) -> None:
    proc = machine(tmp_path / "proc", 64 << 20, "5:cpu:/x\n4:memory:/of/the/host\n")
    root = tmp_path / "cgroup/memory"  # a container's own group is the root that it sees
    root.mkdir(parents=True)
    (root / "memory.limit_in_bytes").write_text(f"{3 * GIB}")
    (root / "memory.usage_in_bytes").write_text(f"{GIB}")
    assert host_memory.available(proc, tmp_path / "cgroup") == 2 * GIB


def test_where_nothing_tells_nobody_knows(tmp_path: Path) -> None:
    assert host_memory.available(tmp_path / "no", tmp_path / "none") is None


def test_an_allocation_beyond_what_a_process_is_held_to_is_an_error_and_no_kill() -> None:
    code = (
        "import numpy as np\n"
        "from harness.processes import host_memory\n"
        "host_memory.hold(300 << 20)\n"
        "np.ones(25_000_000)  # 200 MB\n"
        "try: np.ones(100_000_000)  # 800 MB\n"
        "except MemoryError as error: print('refused', error)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("refused")
