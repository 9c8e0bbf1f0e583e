"""What a worker does with an errand: it keeps the GPU to itself, and stops when nobody asks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ground import Ground

from harness.backends.emulated_device import emulated_device
from harness.cluster import remote, store
from harness.cluster.errand import Errand
from harness.cluster.hands import Sent
from harness.errors import UsageError
from harness.journal import parsed
from harness.matrix import model, plan
from harness.records import Located, Outcome
from harness.run.compilation import compile_all
from harness.run.gpu_lock import gpu_to_itself
from harness.run.site import Piece, Setting

ATTEMPT = "fedcba9876543210"


@pytest.fixture
def errand(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Errand:
    """One variant, whose files lie in this host's store."""
    disk = ground.folder / "disk"
    disk.mkdir()
    monkeypatch.setattr(store, "home", lambda: disk)
    bench = model.load(ground.folder / "bench.yaml")
    device = emulated_device("sm_90")
    resolved = plan.resolve(bench, device, "emulator", ["double/v0"])
    made = compile_all([*resolved.tests, *resolved.cases], bench.kernels, device.arch)
    sent = Sent(None)  # type: ignore[arg-type]
    built = {case: sent._named(each) for case, each in made.built.items()}
    store.take(ATTEMPT, {name: path.read_bytes() for name, path in sent._files.items()})
    piece = Piece("qualify", "double/v0", tuple(resolved.cases), tuple(resolved.tests))
    setting = Setting("emulator", device, bench.kernels, bench.limits, bench.timing)
    return Errand(ATTEMPT, f"qualify-{os.urandom(4).hex()}", piece, setting, (), built, 1)


def told(errand: Errand) -> list[object]:
    content = remote.told(ATTEMPT, {errand.key: 0})[errand.key]
    return [parsed(line) for line in content.splitlines()]


def test_an_errand_is_written_down_with_where_it_was_done_and_only_once(errand: Errand) -> None:
    done = remote.carry_out(errand)
    assert (done.said, done.stopped) == ("ok", False)
    records = told(errand)
    assert isinstance(records[0], Located)
    assert records[0].host
    assert [r.status for r in records if isinstance(r, Outcome)] == ["ok"]
    assert done.size == store.journal(ATTEMPT, errand.key).stat().st_size
    with pytest.raises(remote.GivenTwiceError):
        remote.carry_out(errand)


def test_a_client_that_asks_no_more_ends_what_is_done_for_it(
    errand: Errand, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "LEASE_S", 0.5)
    with ground.held(after=0):
        done = remote.carry_out(errand)
    assert done.stopped
    assert not any(isinstance(record, Outcome) for record in told(errand))


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
