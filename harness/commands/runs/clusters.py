"""`run --cluster`: one run on each kind of card among the cluster's workers.

Different cards are never mixed: each kind has its own complete run in the run's folder, and these
runs are concurrent. In addition, there are a combined table and a page that says which variant wins
on which card.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import report
from harness.cases import Device
from harness.cluster import connection, remote, versions
from harness.cluster.adoption import adopt
from harness.cluster.executor import DaskExecutor
from harness.cluster.worker_pool import WorkerPool
from harness.commands.printed import results
from harness.commands.request import RunRequest
from harness.commands.runs.whole import WholeRun
from harness.console import progress
from harness.console.progress import console
from harness.errors import ClusterLost, UsageError
from harness.machine.card import warnings
from harness.matrix import model
from harness.processes import stopping
from harness.run.executor import RunContext
from harness.run.folder import fresh, point_latest
from harness.tables import cards


def carry_out(request: RunRequest, started: datetime, bench: model.Bench) -> tuple[int, Path]:
    """Return the exit code and the run's folder. Raises UsageError if the cluster is unusable."""
    assert request.cluster is not None
    connection.check(request.cluster)
    wanted = versions.wanted(bench, request.backend, request.arch)
    with connection.opened(request.cluster, wanted, request.jobs) as pool:
        for kind in pool.kinds:
            names = ", ".join(member.name for member in pool.of(kind))
            console.print(f"{kind.name}: {names}", markup=False)
        if len(pool.kinds) > 1 or (request.out and cards.is_above(request.out)):
            code, folder = _on_each_kind(request, started, bench, pool)
        else:
            code, folder = _on_one_kind(request, started, bench, pool)
        _forget(pool)
    return code, folder


def _on_one_kind(
    request: RunRequest, started: datetime, bench: model.Bench, pool: WorkerPool
) -> tuple[int, Path]:
    if request.out:
        adopt(pool, [request.out])
    run = WholeRun(request, started, bench, _place(pool, pool.kinds[0]))
    run.carry_out()
    return run.tell()


def _on_each_kind(
    request: RunRequest, started: datetime, bench: model.Bench, pool: WorkerPool
) -> tuple[int, Path]:
    folder = request.out or fresh(started)
    if (folder / "run.json").exists():
        known = ", ".join(kind.name for kind in pool.kinds)
        raise UsageError(
            f"{folder} holds a run on one kind of card, and the workers have several: {known}\n"
            "  name another folder with --out, or start workers with only one kind of card"
        )
    names = distinct_names(pool.kinds)
    below = cards.begin(folder, names)
    adopt(pool, list(below.values()))
    runs = [
        WholeRun(_of_card(request, path), started, bench, _place(pool, kind, f"{name}: "))
        for kind, (name, path) in zip(pool.kinds, below.items(), strict=True)
    ]
    with progress.in_lines():
        pool.expect(pool.kinds)
        _together(dict(zip(pool.kinds, runs, strict=True)), pool)
    code = max(run.tell()[0] for run in runs)
    page = report.write_cards(folder)
    point_latest(folder)
    console.print(str(page), markup=False)
    return code, folder


def distinct_names(kinds: Sequence[Device]) -> list[str]:
    """Names that distinguish the kinds of cards, with sizes added if two share a name."""
    often = Counter(kind.name for kind in kinds)
    found = [
        kind.name if often[kind.name] == 1
        else f"{kind.name}, {kind.sm_count} SMs, {kind.memory_bytes / 2**30:.2f} GiB"
        for kind in kinds
    ]  # fmt: skip
    return [
        each if found.count(each) == 1 else f"{each} ({number})"
        for number, each in enumerate(found, 1)
    ]


def _of_card(request: RunRequest, path: Path) -> RunRequest:
    """The request for the run on one kind of card; its files are named after the card."""

    def own(file: Path | None) -> Path | None:
        return file and file.with_name(f"{file.stem}-{path.name}{file.suffix}")

    told = request.told
    return replace(
        request,
        out=path,
        told=results.OutputOptions(told.quiet, own(told.json), own(told.markdown)),
    )


def _together(runs: Mapping[Device, WholeRun], pool: WorkerPool) -> None:
    """Do all the runs concurrently; a stop request is passed on to each."""
    failed: list[BaseException] = []

    def one(kind: Device, run: WholeRun) -> None:
        try:
            run.carry_out()
        except BaseException as error:  # reported below, in the main thread
            failed.append(error)
        finally:
            pool.have_qualified(kind)

    threads = [threading.Thread(target=one, args=each) for each in runs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except stopping.TOLD as told:
                pool.told = told
    if failed:
        raise failed[0]


def _place(pool: WorkerPool, kind: Device, prefix: str = "") -> RunContext:
    """The context of the run on one kind of card."""
    first = pool.of(kind)[0].about
    about = {"where": pool.where, "attempt": pool.attempt, "workers": _said(pool, kind)}
    return RunContext(
        pool.backend, kind, DaskExecutor(pool, kind, prefix),
        first.card if pool.backend == "cuda" else None, first.driver, about,
    )  # fmt: skip


def _said(pool: WorkerPool, kind: Device) -> list[dict[str, Any]]:
    """The run.json entry: the workers at the start of the run, with their cards' properties."""
    found = []
    for member in pool.of(kind):
        about, beware = member.about, list(warnings(member.about.card))
        for each in beware:
            console.print(f"BEWARE {member.name}: {each}", markup=False)
        card = asdict(about.card) if about.gpu else None
        found.append({"host": about.host, "gpu": about.gpu, "cores": about.cores, "card": card,
                      "warnings": beware})  # fmt: skip
    return found


def _forget(pool: WorkerPool) -> None:
    """Tell the workers to delete their files; the client has received all of them."""
    try:
        pool.ask(remote.forget, pool.attempt, of=pool.everybody())
    except ClusterLost:
        return
