"""A run over several kinds of card: one folder with a complete run for each kind, and joint tables.

Nothing is ever computed across two kinds of card; each row names its card.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.console.suggestions import did_you_mean
from harness.errors import JournalError
from harness.journal import run_files
from harness.journal.storage import replace_text
from harness.tables.files import csv, load
from harness.tables.run import Run

if TYPE_CHECKING:
    import pandas as pd

FILE = "cards.json"
WINNERS = "winners.csv"
_LARGEST = 1 << 20
_Name = Annotated[str, Field(min_length=1, max_length=255)]


class _Cards(BaseModel):
    """The file's content: name → folder."""

    model_config = ConfigDict(strict=True)

    cards: Annotated[dict[_Name, _Name], Field(min_length=1)]


def is_above(folder: Path) -> bool:
    """Return whether the folder holds a run per kind of card."""
    return (folder / FILE).is_file()


def begin(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Card's name → the folder of its run, which is created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    there = _read(folder) if is_above(folder) else {}
    for name in names:
        if name not in there:
            there[name] = _free(re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"), there)
    _check(folder, there)
    replace_text(folder / FILE, json.dumps({"cards": there}, indent=1) + "\n")
    return {name: folder / there[name] for name in names}


def _free(slug: str, taken: dict[str, str]) -> str:
    own, number = slug or "card", 1
    while own in taken.values():
        number += 1
        own = f"{slug}-{number}"
    return own


def _read(folder: Path) -> dict[str, str]:
    """Read name → folder from the file. Raises JournalError if the harness did not write it."""
    try:
        found = _Cards.model_validate_json(run_files.read(folder, FILE, _LARGEST)).cards
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part)[:40] for part in first["loc"])
        raise _unreadable(folder, f"{key}: {first['msg']}" if key else first["msg"]) from None
    except OSError as error:
        raise _unreadable(folder, error.strerror or "") from None
    if len({*found.values()}) < len(found):
        raise _unreadable(folder, "it names one folder for two cards")
    _check(folder, found)
    return found


def _check(folder: Path, cards: Mapping[str, str]) -> None:
    """Check that each card's run is in a folder directly in this one, or will be. Raises
    JournalError."""
    for each in cards.values():
        if "/" in each or "\0" in each or each in ("", ".", ".."):
            raise _unreadable(folder, f"it names {each}, which is not a folder beside it")
        try:
            kind = os.lstat(folder / each).st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _unreadable(folder, f"{each}: {error.strerror}") from None
        if not stat.S_ISDIR(kind):
            raise _unreadable(folder, f"{each}, which it names, is a link or a file, not a folder")


def _unreadable(folder: Path, why: str) -> JournalError:
    return JournalError(f"{folder / FILE} cannot be used: {why}")


def load_all(folder: Path) -> dict[str, Run]:
    """Card's name → its run, for runs that have begun. Raises JournalError if none has."""
    found = {name: folder / each for name, each in _read(folder).items()}
    runs = {name: load(path) for name, path in found.items() if (path / "run.json").exists()}
    if not runs:
        raise _unreadable(folder, f"there is no run in {', '.join(map(str, found.values()))}")
    return runs


def load_one(folder: Path, card: str) -> Run:
    """The run on one kind of card. Raises a JournalError that lists the available ones."""
    runs = _read(folder) if is_above(folder) else {}
    if card not in runs:
        known = ", ".join(runs) or "only one kind of card; omit `card`"
        raise JournalError(
            f"{folder} has no run on {card}{did_you_mean(card, list(runs))}\n  it has {known}"
        )
    return load(folder / runs[card])


def results(runs: dict[str, Run]) -> pd.DataFrame:
    """Stack the results.csv of every card, with the card in the first column."""
    return _stacked({card: run.results.drop(columns="above_ceiling") for card, run in runs.items()})


def counters(runs: dict[str, Run]) -> pd.DataFrame:
    return _stacked({card: run.counters for card, run in runs.items()})


def _stacked(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    for card, table in tables.items():
        table.insert(0, "card", card)
    return pd.concat(list(tables.values()), ignore_index=True)


def winners(runs: dict[str, Run]) -> pd.DataFrame:
    """One row per comparison and card: which variant is fastest there with a cold cache, and
    whether all cards agree.

    A tie has no single winner: `tied` lists the variants that are not shown to be slower.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for card, run in runs.items():
        for group, cases in run.groups().items():
            rows.append({"card": card, "comparison": _name(cases[0]), **_fastest(run, group)})
    found = pd.DataFrame(rows, columns=["card", "comparison", "winner", "time_ns", "tied"])
    sets = found.groupby("comparison")["tied"].agg(
        lambda every: set.intersection(*(set(each.split()) for each in every))
    )
    found["same_everywhere"] = [bool(sets[each]) for each in found["comparison"]]
    return found


def _name(p: Any) -> str:
    sizes = "/".join(f"{name}={value}" for name, value in p.sizes.items())
    return f"{p.problem}/{p.dtype}/{sizes}"


def _fastest(run: Run, group: Any) -> dict[str, Any]:
    shown = [p for p in run.timings.shown(group) if not p.is_library]
    times = {p.case: time for p in shown if (time := run.time(p.case)) is not None}
    sound = [p for p in shown if p.case in times and run.outcomes[p.case].status == "ok"]
    if not sound:
        return {"winner": None, "time_ns": None, "tied": ""}
    best = min(sound, key=lambda p: times[p.case].value)
    tied = [p.variant for p in sound
            if p is best or run.compare(best.case, p.case).verdict != "faster"]  # fmt: skip
    return {"winner": best.variant, "time_ns": times[best.case].value, "tied": " ".join(tied)}


def write(folder: Path, runs: dict[str, Run]) -> pd.DataFrame:
    """Write results.csv, counters.csv and winners.csv above the runs; return the winners."""
    found = winners(runs)
    for table, name in (
        (results(runs), "results.csv"), (counters(runs), "counters.csv"), (found, WINNERS),
    ):  # fmt: skip
        run_files.write(folder, name, csv(table))
    return found
