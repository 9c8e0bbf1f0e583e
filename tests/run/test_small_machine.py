"""If the machine has more cores than its memory has room for workers, no worker is killed."""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from memory_groups import group_of
from tiny_problem import PROBLEM

MIB = 1 << 20
VARIANTS = 4
COMMAND = """\
from harness.report import site
site.write_pages = lambda run: run.folder / "report.html"  # they take seconds
from harness.__main__ import main
main()
"""


@pytest.fixture
def tmp_path(same_place: Path) -> Path:
    return same_place


@pytest.fixture
def emulate(folder: Path, importable: None) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run four variants, each of which uses a large amount of memory for a while, on sixteen
    cores."""

    def run(mib: int, before: Callable[[], None]) -> subprocess.CompletedProcess[str]:
        hungry = "    def reference(self, sizes, dtype, inputs):\n"
        more = (
            "        import numpy, time\n"
            "        if not self.__dict__.setdefault('been', 0):  # once in each worker\n"
            f"            held = numpy.ones({mib} << 17)\n"
            "            time.sleep(0.2)\n"
            "            self.been = 1\n"
        )
        (folder / "kernels/double/problem.py").write_text(PROBLEM.replace(hungry, hungry + more))
        matrix, variant = (folder / "bench.yaml").read_text().split("      v0:\n")
        steps, rest = variant.split("timing:\n")
        variants = "".join(f"      v{number}:\n{steps}" for number in range(VARIANTS))
        (folder / "bench.yaml").write_text(
            f"{matrix}{variants}timing:\n{rest}".replace("block: [64, 128]", "block: [64]")
        )
        command = [sys.executable, "-c", COMMAND, "run", "--backend", "emulator", "--jobs", "16"]
        return subprocess.run(
            [*command, "--out", "run"], cwd=folder, capture_output=True, text=True,
            preexec_fn=before, check=False,
        )  # fmt: skip

    return run


def statuses(folder: Path) -> Mapping[str, str]:
    with (folder / "run/results.csv").open(newline="") as file:
        return {row["variant"]: row["status"] for row in csv.DictReader(file)}


ALL_RIGHT = dict.fromkeys((f"v{number}" for number in range(VARIANTS)), "ok")


@pytest.mark.fault(
    "sixteen cores and memory for three workers, by a cgroup",
    outcome="No more workers run at once than have room; the kernel kills none, and all is right.",
)
@pytest.mark.parametrize("mib", [300, 400])
def test_in_a_small_cgroup_the_kernel_kills_no_worker(
    emulate: Callable[..., subprocess.CompletedProcess[str]], folder: Path, mib: int
) -> None:
    """At 300 MiB each, three workers at once would be too many; at 400 MiB, two may be too many."""
    with group_of(1000 * MIB) as group:
        ended = emulate(mib, group.enter)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert group.killed == 0
    assert statuses(folder) == ALL_RIGHT


def test_under_a_limit_of_each_process_a_worker_that_fits_ends_well(
    emulate: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    def hold() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (900 * MIB, 900 * MIB))

    ended = emulate(400, hold)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert statuses(folder) == ALL_RIGHT
