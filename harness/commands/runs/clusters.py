"""`run --cluster`: from the workers that are there to a run on each kind of card among them.

Unlike cards are never mixed: each kind has a whole run of its own in the run's folder, at the same
time as the others, and above them stand one table of all and a page that says which variant wins
where.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import progress, report, stopping
from harness.cases import Device
from harness.cluster import connection, remote, versions
from harness.cluster.adoption import adopt
from harness.cluster.crew import Crew
from harness.cluster.hands import ClusterHands
from harness.commands.asked import Asked
from harness.commands.printed import results
from harness.commands.runs.whole import WholeRun
from harness.errors import ClusterLost, UsageError
from harness.matrix import model
from harness.measure.card import warnings
from harness.progress import console
from harness.run.folder import fresh, point_latest
from harness.run.hands import Place
from harness.tables import cards


def carry_out(asked: Asked, started: datetime, bench: model.Bench) -> tuple[int, Path]:
    """The exit code, and the run's folder. Raises UsageError for a cluster that cannot be used."""
    assert asked.cluster is not None
    connection.check(asked.cluster)
    wanted = versions.wanted(bench, asked.backend, asked.arch)
    with connection.opened(asked.cluster, wanted, asked.jobs) as crew:
        for kind in crew.kinds:
            names = ", ".join(member.name for member in crew.of(kind))
            console.print(f"{kind.name}: {names}", markup=False)
        if len(crew.kinds) > 1 or (asked.out and cards.is_above(asked.out)):
            code, folder = _on_each_kind(asked, started, bench, crew)
        else:
            code, folder = _on_one_kind(asked, started, bench, crew)
        _forget(crew)
    return code, folder


def _on_one_kind(
    asked: Asked, started: datetime, bench: model.Bench, crew: Crew
) -> tuple[int, Path]:
    if asked.out:
        adopt(crew, [asked.out])
    run = WholeRun(asked, started, bench, _place(crew, crew.kinds[0]))
    run.carry_out()
    return run.tell()


def _on_each_kind(
    asked: Asked, started: datetime, bench: model.Bench, crew: Crew
) -> tuple[int, Path]:
    folder = asked.out or fresh(started)
    if (folder / "run.json").exists():
        known = ", ".join(kind.name for kind in crew.kinds)
        raise UsageError(
            f"{folder} holds a run on one kind of card, and the workers have several: {known}\n"
            "  name another folder with --out, or start workers with one kind of card alone"
        )
    names = distinct_names(crew.kinds)
    below = cards.begin(folder, names)
    adopt(crew, list(below.values()))
    runs = [
        WholeRun(_of_card(asked, path), started, bench, _place(crew, kind, f"{name}: "))
        for kind, (name, path) in zip(crew.kinds, below.items(), strict=True)
    ]
    with progress.in_lines():
        crew.expect(crew.kinds)
        _together(dict(zip(crew.kinds, runs, strict=True)), crew)
    code = max(run.tell()[0] for run in runs)
    page = report.write_cards(folder)
    point_latest(folder)
    console.print(str(page), markup=False)
    return code, folder


def distinct_names(kinds: Sequence[Device]) -> list[str]:
    """What tells kinds of cards apart: their names, and where two have one name, their sizes."""
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


def _of_card(asked: Asked, path: Path) -> Asked:
    """What is asked of the run on one kind of card; its files are named after that."""

    def own(file: Path | None) -> Path | None:
        return file and file.with_name(f"{file.stem}-{path.name}{file.suffix}")

    told = asked.told
    return replace(
        asked, out=path, told=results.Wanted(told.quiet, own(told.json), own(told.markdown))
    )


def _together(runs: Mapping[Device, WholeRun], crew: Crew) -> None:
    """All at the same time; who is told to stop hands that on to each of them."""
    failed: list[BaseException] = []

    def one(kind: Device, run: WholeRun) -> None:
        try:
            run.carry_out()
        except BaseException as error:  # told below, in the thread that people see
            failed.append(error)
        finally:
            crew.have_qualified(kind)

    threads = [threading.Thread(target=one, args=each) for each in runs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except stopping.TOLD as told:
                crew.told = told
    if failed:
        raise failed[0]


def _place(crew: Crew, kind: Device, prefix: str = "") -> Place:
    """Where the run on one kind of card takes place."""
    first = crew.of(kind)[0].about
    about = {"where": crew.where, "attempt": crew.attempt, "workers": _said(crew, kind)}
    return Place(
        crew.backend, kind, ClusterHands(crew, kind, prefix),
        first.card if crew.backend == "cuda" else None, first.driver, about,
    )  # fmt: skip


def _said(crew: Crew, kind: Device) -> list[dict[str, Any]]:
    """For run.json: every worker that the run begins with, and what is to be known of its card."""
    found = []
    for member in crew.of(kind):
        about, beware = member.about, list(warnings(member.about.card))
        for each in beware:
            console.print(f"BEWARE {member.name}: {each}", markup=False)
        card = asdict(about.card) if about.gpu else None
        found.append({"host": about.host, "gpu": about.gpu, "cores": about.cores, "card": card,
                      "warnings": beware})  # fmt: skip
    return found


def _forget(crew: Crew) -> None:
    """What the workers kept has arrived."""
    try:
        crew.ask(remote.forget, crew.attempt, of=crew.everybody())
    except ClusterLost:
        return
