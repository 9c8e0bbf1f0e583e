"""The Dask cluster of a run: a new one on this host, or one that already exists.

Anything unusable is reported before the run starts, with the worker's name and the reason.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.cluster.messages import Requirements
from harness.cluster.worker_pool import WorkerPool
from harness.console.progress import console
from harness.console.suggestions import install
from harness.errors import UsageError
from harness.machine import devices, environment
from harness.processes import children
from harness.processes.workers import DESCRIBE_S

CONNECT_S = 10
ASKED_S = DESCRIBE_S + 60
STARTING_S = 120
"""The seconds to wait for the first worker of an existing cluster."""

MOST_CORES = 4
"""The most cores that one emulating worker gets; further workers get the remaining cores."""

_SETTINGS = {
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.scheduler.allowed-failures": 0,
}
"""Settings for a cluster that the harness starts. The memory is used by the processes that run
kernels, and a Dask worker cannot spill it."""

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Variables that limit a library's threads. Dask sets them to 1, which would leave all but one of a
worker's cores idle while a large reference is computed."""


def check(where: str) -> None:
    """Raise UsageError if `where` names no cluster, or if `distributed` is missing."""
    kind, _, rest = where.partition(":")
    is_local = kind == "local" and (not rest or (rest.isdecimal() and int(rest) > 0))
    if where == "local:" or not (is_local or (kind in ("tcp", "tls", "ucx") and rest)):
        raise UsageError(
            f"--cluster {where}: name `local`, `local:4` for four workers, or the scheduler of an "
            "existing cluster, such as tcp://scheduler:8786"
        )
    try:
        importlib.import_module("distributed")
    except ImportError:
        raise UsageError(
            "--cluster needs the package `distributed`, which is not installed\n"
            f"  install it for this Python: {install('', 'cluster')}"
        ) from None


@contextmanager
def opened(where: str, wanted: Requirements, jobs: int = 0) -> Iterator[WorkerPool]:
    """Yield the usable workers, after asking each for its description.

    `jobs`: the cores of this host that local workers share; 0 for all. Raises UsageError if the
    scheduler cannot be reached, a worker has different sources, or no worker is usable.
    """
    import dask
    import distributed

    _silence()
    with dask.config.set(_SETTINGS), _cluster(where, wanted, jobs) as address:
        try:
            client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UsageError(
                f"--cluster {where}: no scheduler answers there within {CONNECT_S} s: "
                f"{str(error) or type(error).__name__}\n  is it running, and is its port open from "
                "this host? `dask scheduler` prints its address when it starts"
            ) from None
        try:
            pool = WorkerPool(client, where, secrets.token_hex(8), wanted)
            pool.assemble(STARTING_S, ASKED_S)
            yield pool
        finally:
            _close(client)


def _silence() -> None:
    """Silence Dask's own messages: the harness reports each error itself, once."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _close(client: Any) -> None:
    try:
        client.close(timeout=2)
    except (OSError, TimeoutError, RuntimeError):  # the scheduler is gone
        return


@contextmanager
def _cluster(where: str, wanted: Requirements, jobs: int) -> Iterator[str]:
    """Yield the scheduler's address; a local cluster lives as long as it is used."""
    if not where.startswith("local"):
        yield where
        return
    from distributed import Nanny, Scheduler, SpecCluster

    workers = {
        index: {
            "cls": Nanny,
            "options": {
                "nthreads": share.cores, "name": share.name, "env": share.environment,
                "resources": {"GPU": 1} if share.is_gpu else {}, "memory_limit": 0,
                "dashboard": False, "silence_logs": logging.CRITICAL,
                "local_directory": os.environ.get("TMPDIR", "/tmp"),
            },
        }
        for index, share in enumerate(shares(where, wanted, jobs))
    }  # fmt: skip
    shows = importlib.util.find_spec("bokeh") is not None
    options = {"host": "127.0.0.1", "port": 0, "dashboard": shows}
    if shows:
        options["dashboard_address"] = "127.0.0.1:0"
    scheduler = {"cls": Scheduler, "options": options}
    with SpecCluster(workers=workers, scheduler=scheduler, silence_logs=logging.CRITICAL) as made:
        if shows:
            console.print(f"Dask's dashboard: {made.dashboard_link}", markup=False)
        yield made.scheduler_address


class Share:
    """The resources of one worker on this host."""

    def __init__(self, name: str, cores: int, gpu: str = "") -> None:
        self.name, self.cores, self.is_gpu = name, cores, bool(gpu)
        self.environment = dict.fromkeys(_THREADS, str(cores))
        if gpu:
            self.environment["CUDA_VISIBLE_DEVICES"] = gpu


def shares(where: str, wanted: Requirements, jobs: int) -> list[Share]:
    """Return one share per GPU or, if nothing is timed, one per group of cores."""
    _, _, number = where.partition(":")
    cores = jobs or environment.cores()
    gpus = [] if wanted.backend == "emulator" else visible_gpus()
    if gpus:
        gpus = gpus[: int(number)] if number else gpus
        each = max(1, cores // len(gpus))
        return [Share(f"gpu{index}", each, uuid) for index, uuid in enumerate(gpus)]
    count = int(number) if number else max(1, -(-cores // MOST_CORES))
    return [Share(f"cores{index}", max(1, cores // count)) for index in range(count)]


def visible_gpus() -> list[str]:
    """The UUIDs of the GPUs that this process may use, in the driver's order."""
    if not devices.has_driver():
        return []
    try:
        said = children.output(
            ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"], 30
        )
    except (OSError, children.LateError):
        return []
    found = dict(line.split(", ") for line in said.out.splitlines() if ", " in line)
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return list(found.values())
    return [found.get(each.strip(), each.strip()) for each in chosen.split(",") if each.strip()]
