"""A cluster in a process of its own: a scheduler and workers on this host, without a GPU.

    python workers.py NUMBER [NAME=VALUE;...]...

It prints the scheduler's address, and exits at the end of its input. Each further argument is the
environment of one worker.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import distributed

ROOT = Path(__file__).parents[2]
COMING_S = 60.0


@dataclass
class Workers:
    """The cluster, from a test's point of view."""

    process: subprocess.Popen[str]
    address: str

    @property
    def addresses(self) -> list[str]:
        with distributed.Client(self.address, set_as_default=False) as client:
            return list(client.nthreads())

    def kill_scheduler(self) -> None:
        """Kill the scheduler, and with it everything that depends on it."""
        self.process.kill()
        self.process.wait()

    def kill_worker(self, address: str) -> None:
        """Kill one worker's process, as if its host had been lost."""
        with distributed.Client(self.address, set_as_default=False) as client:
            pids = client.run(os.getpid)
        os.kill(pids[address], signal.SIGKILL)

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def started(number: int, environments: Sequence[str] = (), **more: str) -> Workers:
    """Start a cluster, and wait until all of its workers have connected."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(number), *environments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **more},
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address, "the cluster did not start"
    return Workers(process, address)


def main(number: int, environments: Sequence[str]) -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    spec = {}
    for index in range(number):
        said = environments[index] if index < len(environments) else ""
        environment = dict(each.split("=", 1) for each in said.split(";") if each)
        spec[index] = {
            "cls": distributed.Nanny,
            "options": {
                "nthreads": 1, "name": f"w{index}", "env": environment, "memory_limit": 0,
                "dashboard": False, "silence_logs": logging.CRITICAL,
            },
        }  # fmt: skip
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
    }
    with distributed.SpecCluster(spec, scheduler=scheduler) as cluster:
        until = time.monotonic() + COMING_S
        while len(cluster.scheduler_info["workers"]) < number and time.monotonic() < until:
            time.sleep(0.05)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
