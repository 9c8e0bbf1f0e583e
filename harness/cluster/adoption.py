"""What workers had written when their client died goes into the run's journal before it goes on."""

from __future__ import annotations

from pathlib import Path

from harness.cluster import remote
from harness.cluster.crew import Crew
from harness.errors import JournalError
from harness.journal import Journal, parsed, read_journal
from harness.progress import console
from harness.records import Located, Record, to_json
from harness.tables import about

JOURNAL = "journal.jsonl"


def adopt(crew: Crew, folder: Path) -> int:
    """How many records of an earlier attempt were not in the run's journal, and are now.

    A case may have been given to another worker since: only the last one that had it counts.
    """
    attempt = _attempt_of(folder)
    if not attempt or not (folder / JOURNAL).exists():
        return 0
    here = list(read_journal(folder / JOURNAL))
    there, last = {to_json(record) for record in here}, _last(here)
    found = [record for journal in _journals(crew, attempt) if _is_last(journal, last)
             for record in journal if to_json(record) not in there]  # fmt: skip
    if found:
        with Journal(folder / JOURNAL) as journal:
            for record in found:
                journal.append(record)
        console.print(f"{len(found)} records were still with the workers", markup=False)
    crew.ask(remote.forget, attempt, of=crew.one_per_host())
    return len(found)


def _attempt_of(folder: Path) -> str:
    try:
        return str((about.read(folder / "run.json").get("cluster") or {}).get("attempt") or "")
    except (OSError, ValueError):  # whoever opens the folder says what is wrong with it
        return ""


def _journals(crew: Crew, attempt: str) -> list[list[Record]]:
    said = crew.ask(remote.everything, attempt, of=crew.one_per_host())
    try:
        return [[parsed(line) for line in content.splitlines()]
                for contents in said.values() for content in contents]  # fmt: skip
    except (ValueError, KeyError, TypeError):
        raise JournalError("a worker's journal is not what was written; it is left out") from None


def _last(records: list[Record]) -> dict[tuple[str, str], Located]:
    return {(r.case, r.stage): r for r in records if isinstance(r, Located)}


def _is_last(journal: list[Record], last: dict[tuple[str, str], Located]) -> bool:
    """Whether nobody else has had its cases since."""
    own = _last(journal)
    return bool(own) and all(last.get(key) == located for key, located in own.items())
