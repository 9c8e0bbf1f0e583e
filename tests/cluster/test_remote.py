"""A worker's task holds the GPU exclusively, and stops when the client no longer asks for
records."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ground import Ground

from harness.backends.emulated_device import emulated_device
from harness.cluster import remote, store
from harness.cluster.executor import Deliveries
from harness.cluster.messages import Task
from harness.errors import UsageError
from harness.journal.file import parsed
from harness.journal.records import Located, Outcome
from harness.machine.gpu_lock import gpu_to_itself
from harness.matrix import model, plan
from harness.run.compilation import compile_all
from harness.run.task_runner import RunSettings, WorkItem

ATTEMPT = "fedcba9876543210"


@pytest.fixture
def task(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Task:
    """A task on one variant, whose files are in this host's store."""
    disk = ground.folder / "disk"
    disk.mkdir()
    monkeypatch.setattr(store, "home", lambda: disk)
    bench = model.load(ground.folder / "bench.yaml")
    device = emulated_device("sm_90")
    resolved = plan.resolve(bench, device, "emulator", ["double/v0"])
    made = compile_all([*resolved.tests, *resolved.cases], bench.kernels, device.arch)
    sent = Deliveries(None)  # type: ignore[arg-type]
    built = {case: sent._named(each) for case, each in made.built.items()}
    store.take(ATTEMPT, {name: path.read_bytes() for name, path in sent._files.items()})
    item = WorkItem("qualify", "double/v0", tuple(resolved.cases), tuple(resolved.tests))
    setting = RunSettings("emulator", device, bench.kernels, bench.limits, bench.timing)
    return Task(ATTEMPT, f"qualify-{os.urandom(4).hex()}", item, setting, (), built, 1)


def told(task: Task) -> list[object]:
    content = remote.told(ATTEMPT, {task.key: 0})[task.key]
    return [parsed(line) for line in content.splitlines()]


def test_an_errand_is_written_down_with_where_it_was_done_and_only_once(task: Task) -> None:
    done = remote.carry_out(task)
    assert (done.said, done.stopped) == ("ok", False)
    records = told(task)
    assert isinstance(records[0], Located)
    assert records[0].host
    assert [r.status for r in records if isinstance(r, Outcome)] == ["ok"]
    assert done.size == store.journal(ATTEMPT, task.key).stat().st_size
    with pytest.raises(remote.GivenTwiceError):
        remote.carry_out(task)


def test_a_client_that_asks_no_more_ends_what_is_done_for_it(
    task: Task, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LEASE_S", 0.5)
    with ground.held(after=0):
        done = remote.carry_out(task)
    assert done.stopped
    assert not any(isinstance(record, Outcome) for record in told(task))


def test_within_a_worker_errands_share_the_gpu_and_nobody_else_has_it() -> None:
    gpu = f"GPU-of-a-test-{os.getpid()}"
    with remote._gpu(gpu):
        with remote._gpu(gpu), pytest.raises(UsageError, match="another run is using"):  # noqa: SIM117
            with gpu_to_itself(gpu):
                raise AssertionError("two have it")
        with pytest.raises(UsageError, match="another run is using"), gpu_to_itself(gpu):
            raise AssertionError("two have it")
    with gpu_to_itself(gpu):
        pass


def test_problems_are_found_where_the_worker_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels").mkdir()
    monkeypatch.chdir(tmp_path)
    assert remote.found(Path("/no/such/kernels")) == tmp_path / "kernels"
    assert remote.found(tmp_path) == tmp_path
