"""An unusable part of a cluster is reported in one sentence before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ground import Ground
from typer.testing import CliRunner

from harness.__main__ import app
from harness.cluster import connection, versions
from harness.cluster.connection import shares
from harness.cluster.messages import Requirements
from harness.errors import UsageError


def test_a_scheduler_that_does_not_answer_is_named(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 0.5)
    with pytest.raises(UsageError, match=r"tcp://127\.0\.0\.1:9: no scheduler answers there"):
        ground.run("out", "tcp://127.0.0.1:9")
    assert not (ground.folder / "out").exists()


@pytest.mark.parametrize("where", ["", "locals", "local:", "local:0", "host:8786", "tcp:"])
def test_a_name_of_no_cluster_is_refused_with_what_is_one(where: str) -> None:
    with pytest.raises(UsageError, match="name `local`, `local:4` for four workers, or the sched"):
        connection.check(where)


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install .*\[cluster\]'"):
        connection.check("local")


@pytest.mark.parametrize("other", ["--sandbox", "--watch"])
def test_it_goes_with_neither_a_sandbox_nor_watching(other: str) -> None:
    ended = CliRunner().invoke(app, ["run", "--cluster", "local", other])
    assert isinstance(ended.exception, UsageError)
    assert "--cluster cannot be combined with" in str(ended.exception)


def test_other_sources_are_told_file_by_file(ground: Ground) -> None:
    kernels = ground.folder / "kernels"
    theirs = {"double/v0.cu": "a" * 64, "double/gone.cu": "b" * 64}
    wanted = Requirements(
        "emulator", None, kernels, versions.harness_files(), theirs, {"numpy": "0.1"}
    )
    sources, package = versions.differences(wanted, kernels)
    assert sources.startswith(f"the problems in {kernels} differ: double/gone.cu (missing there,")
    assert "double/v0.cu (" in sources
    assert package.endswith("the client has 0.1")


def test_what_only_one_side_has_installed_decides_nothing(ground: Ground) -> None:
    kernels = ground.folder / "kernels"
    wanted = Requirements("emulator", None, kernels, versions.harness_files(), {}, {"torch": "99"})
    assert all("torch" not in each for each in versions.differences(wanted, kernels)) or (
        "torch" in versions.packages()
    )


def test_a_worker_without_the_problems_says_where_it_looked(tmp_path: Path) -> None:
    wanted = Requirements("emulator", None, tmp_path / "no", versions.harness_files(), {}, {})
    [said] = versions.differences(wanted, tmp_path / "no")
    assert said == f"it has no folder {tmp_path / 'no'}, and none of that name where it was started"


@pytest.mark.parametrize(
    ("where", "jobs", "cores"),
    [("local", 2, [2]), ("local", 9, [3, 3, 3]), ("local:3", 2, [1, 1, 1]), ("local:2", 8, [4, 4])],
)
def test_without_a_gpu_cores_are_shared_among_workers(
    where: str, jobs: int, cores: list[int]
) -> None:
    wanted = Requirements("emulator", None, Path(), {}, {}, {})
    assert [share.cores for share in shares(where, wanted, jobs)] == cores


def test_with_gpus_each_worker_sees_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "visible_gpus", lambda: ["GPU-a", "GPU-b"])
    made = shares("local", Requirements("auto", None, Path(), {}, {}, {}), 8)
    assert [(s.environment["CUDA_VISIBLE_DEVICES"], s.cores) for s in made] == [
        ("GPU-a", 4), ("GPU-b", 4),
    ]  # fmt: skip
    assert made[0].environment["OMP_NUM_THREADS"] == "4"
