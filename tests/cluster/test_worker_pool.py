"""The workers that a run takes, those that it leaves out, and the events that they wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cases import Device
from harness.cluster import connection
from harness.cluster.messages import Description, Requirements
from harness.cluster.worker_pool import WorkerPool
from harness.commands.runs.clusters import distinct_names
from harness.errors import BackendUnavailable, ClusterLost, UsageError
from harness.machine import devices
from harness.machine.card import Card
from harness.processes import children

Described = Callable[..., Description]


class Client:
    """The parts of a client that a pool needs, with workers that exist only as descriptions."""

    def __init__(self, **workers: Description) -> None:
        self.workers, self.status = workers, "running"

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 2)

    def submit(self, function: Any, *args: Any, workers: list[str], **how: Any) -> Any:
        about = self.workers[workers[0]]
        return SimpleNamespace(
            done=lambda: True, status="finished", result=lambda: about, cancel=lambda: None
        )

    def run_on_scheduler(self, function: Any) -> dict[str, Any]:
        return {address: (f"name of {address}", {"GPU": 1.0}) for address in self.workers}


def pool_of(client: Client, backend: str = "cuda") -> WorkerPool:
    return WorkerPool(
        client, "tcp://x:1", "attempt", Requirements(backend, None, Path(), {}, {}, {})
    )


@pytest.fixture
def described(device: Device) -> Described:
    """Make a worker with a card: described(host, uuid, card="a device")."""

    def make(host: str, uuid: str, card: str = "a device") -> Description:
        return Description(host, 2, device=replace(device, name=card), card=Card(uuid))

    return make


def assembled(client: Client, backend: str = "cuda") -> WorkerPool:
    pool = pool_of(client, backend)
    pool.assemble(0.1, 1)
    return pool


def test_a_member_is_named_by_its_host_and_gpu(described: Described) -> None:
    pool = assembled(Client(a=described("node1", "GPU-1")))
    assert [member.name for member in pool.everybody()] == ["node1 GPU-1"]
    assert pool.everybody()[0].resources == {"GPU": 1.0}


def test_of_two_workers_with_one_gpu_the_second_is_left_out(
    described: Described, capsys: pytest.CaptureFixture[str]
) -> None:
    same = described("node1", "GPU-1")
    pool = assembled(Client(a=same, b=same, c=described("node2", "GPU-1")))
    assert [member.address for member in pool.everybody()] == ["a", "c"]
    assert "without the worker b: a has the same GPU, GPU-1" in capsys.readouterr().out


def test_auto_takes_those_with_a_gpu_and_leaves_out_the_others(
    described: Described, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Description("node2", 2, no_gpu="it has no NVIDIA driver")
    pool = assembled(Client(a=described("node1", "GPU-1"), b=bare), "auto")
    assert (pool.backend, [m.address for m in pool.everybody()]) == ("cuda", ["a"])
    assert "without the worker b: no GPU: it has no NVIDIA driver" in capsys.readouterr().out


def test_auto_emulates_where_no_worker_has_a_gpu() -> None:
    pool = assembled(Client(a=Description("node1", 2, no_gpu="it has no NVIDIA driver")), "auto")
    assert pool.backend == "emulator"
    assert pool.kinds == [devices.emulated(None)]


def test_cuda_without_a_gpu_is_refused_with_the_reasons() -> None:
    bare = Description("node2", 2, no_gpu="it has no NVIDIA driver")
    with pytest.raises(BackendUnavailable, match=r"node2 \(b\): it has no NVIDIA driver"):
        assembled(Client(b=bare))


def test_a_cluster_that_no_worker_comes_to_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no worker has come within 0\.1 s"):
        assembled(Client())


def test_unlike_cards_are_kinds_of_their_own_and_one_that_is_new_later_is_left_out(
    described: Described, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(a=described("n1", "GPU-1", "B card"), b=described("n2", "GPU-2", "A card"))
    pool = assembled(client)
    assert [kind.name for kind in pool.kinds] == ["A card", "B card"]
    assert [m.address for m in pool.of(pool.kinds[1])] == ["a"]
    client.workers["c"] = described("n3", "GPU-3", "A card")
    client.workers["d"] = described("n4", "GPU-4", "C card")
    assert pool.refresh() == []
    assert [m.address for m in pool.everybody()] == ["a", "b", "c"]
    assert "without the worker d: its card is a C card, which this run has not" in (
        capsys.readouterr().out
    )


def test_kinds_of_one_name_are_told_apart_by_their_sizes(device: Device) -> None:
    small = replace(device, memory_bytes=40 * 2**30)
    assert distinct_names([device, replace(device, name="other")]) == ["a device", "other"]
    assert distinct_names([small, device]) == [
        "a device, 132 SMs, 40.00 GiB", "a device, 132 SMs, 80.00 GiB",
    ]  # fmt: skip
    assert len(set(distinct_names([device, replace(device, l2_bytes=1)]))) == 2


def test_a_worker_with_other_sources_that_comes_later_is_left_out(
    described: Described, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(a=described("n1", "GPU-1"))
    pool = assembled(client)
    client.workers["b"] = replace(described("n2", "GPU-2"), differs=("the harness differs: x.py",))
    pool.refresh()
    assert [m.address for m in pool.everybody()] == ["a"]
    assert "without the worker b: the harness differs: x.py" in capsys.readouterr().out


def test_who_has_gone_is_told(described: Described) -> None:
    client = Client(a=described("n1", "GPU-1"), b=described("n2", "GPU-2"))
    pool = assembled(client)
    del client.workers["b"]
    assert [member.address for member in pool.refresh()] == ["b"]


def test_a_scheduler_that_is_gone_ends_the_run(described: Described) -> None:
    client = Client(a=described("n1", "GPU-1"))
    pool = assembled(client)
    client.status = "connecting"
    with pytest.raises(ClusterLost, match="tcp://x:1 does not answer any more"):
        pool.refresh()


def test_nothing_is_timed_while_another_kind_is_still_verified(device: Device) -> None:
    pool, other = pool_of(Client()), replace(device, name="another")
    pool.expect([device, other])
    timed = threading.Event()

    def one() -> None:
        pool.have_qualified(device)
        pool.wait_for_others()
        timed.set()

    thread = threading.Thread(target=one)
    thread.start()
    assert not timed.wait(0.3)
    pool.have_qualified(other)
    assert timed.wait(10)
    thread.join()


@pytest.mark.parametrize(
    ("visible", "found"),
    [(None, ["GPU-a", "GPU-b"]), ("1", ["GPU-b"]), ("GPU-b,0", ["GPU-b", "GPU-a"]), ("", [])],
)
def test_the_gpus_of_this_host_are_those_that_one_may_see(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, found: list[str]
) -> None:
    said = children.Said(0, "0, GPU-a\n1, GPU-b\n", "")
    monkeypatch.setattr(children, "output", lambda command, seconds: said)
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert connection.visible_gpus() == found
