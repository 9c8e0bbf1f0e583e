"""`run --cluster`: from the workers that are there to a run on each kind of card among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.cases import Device
from harness.cluster import connection, remote, versions
from harness.cluster.adoption import adopt
from harness.cluster.crew import Crew
from harness.cluster.hands import ClusterHands
from harness.commands.options import Asked
from harness.errors import ClusterLost
from harness.matrix import model
from harness.progress import console
from harness.run.hands import Place

Run = Callable[[Asked, datetime, model.Bench, Place], tuple[int, Path]]


def carry_out(asked: Asked, started: datetime, bench: model.Bench, run: Run) -> tuple[int, Path]:
    """The exit code, and the run's folder. Raises UsageError for a cluster that cannot be used."""
    assert asked.cluster is not None
    connection.check(asked.cluster)
    wanted = versions.wanted(bench, asked.backend, asked.arch)
    with connection.opened(asked.cluster, wanted, asked.jobs) as crew:
        [kind] = crew.kinds
        members = crew.of(kind)
        console.print(f"{len(members)} workers: {', '.join(m.name for m in members)}", markup=False)
        if asked.out:
            adopt(crew, asked.out)
        code, folder = run(asked, started, bench, place(crew, kind))
        _forget(crew)
    return code, folder


def place(crew: Crew, kind: Device, prefix: str = "") -> Place:
    """Where the run on one kind of card takes place."""
    first = crew.of(kind)[0].about
    about = {"where": crew.where, "attempt": crew.attempt, "workers": _said(crew, kind)}
    return Place(
        crew.backend, kind, ClusterHands(crew, kind, prefix),
        first.card if crew.backend == "cuda" else None, first.driver, about,
    )  # fmt: skip


def _said(crew: Crew, kind: Device) -> list[dict[str, Any]]:
    """For run.json: every worker that the run begins with."""
    return [
        {"host": m.about.host, "gpu": m.about.gpu, "cores": m.about.cores,
         "card": asdict(m.about.card)}
        for m in crew.of(kind)
    ]  # fmt: skip


def _forget(crew: Crew) -> None:
    """What the workers kept has arrived."""
    try:
        crew.ask(remote.forget, crew.attempt, of=crew.everybody())
    except ClusterLost:
        return
