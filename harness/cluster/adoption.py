"""Adopt the records that workers had written when their client died, before the run continues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.cluster import remote
from harness.cluster.worker_pool import WorkerPool
from harness.console.progress import console
from harness.journal.file import Journal, parsed, read_journal
from harness.journal.records import Located, Record, to_json
from harness.tables import about

JOURNAL = "journal.jsonl"


def adopt(pool: WorkerPool, folders: Sequence[Path]) -> int:
    """Add the missing records of earlier attempts to the runs' journals, and return how many.

    If a case was reassigned in the meantime, only the records of its last worker are used.
    """
    found = {folder: _attempt_of(folder) for folder in folders}
    count = sum(_adopt(pool, folder, attempt) for folder, attempt in found.items() if attempt)
    for attempt in set(found.values()) - {""}:
        pool.ask(remote.forget, attempt, of=pool.one_per_host())
    if count:
        console.print(f"{count} records were still with the workers", markup=False)
    return count


def _adopt(pool: WorkerPool, folder: Path, attempt: str) -> int:
    path = folder / JOURNAL
    if not path.exists():
        return 0
    here = list(read_journal(path))
    there, last = {to_json(record) for record in here}, _last(here)
    found = [record for journal in _journals(pool, attempt) if _is_last(journal, last)
             for record in journal if to_json(record) not in there]  # fmt: skip
    with Journal(path) as journal:
        for record in found:
            journal.append(record)
    return len(found)


def _attempt_of(folder: Path) -> str:
    try:
        return str((about.read(folder / "run.json").get("cluster") or {}).get("attempt") or "")
    except (OSError, ValueError):  # opening the folder reports what is wrong with it
        return ""


def _journals(pool: WorkerPool, attempt: str) -> Iterator[list[Record]]:
    """Yield each journal's records, up to any damaged line that a full or failed disk left."""
    said = pool.ask(remote.everything, attempt, of=pool.one_per_host())
    for content in (each for contents in said.values() for each in contents):
        found = []
        for line in content.splitlines():
            try:
                found.append(parsed(line))
            except (ValueError, KeyError, TypeError):
                break
        yield found


def _last(records: list[Record]) -> dict[tuple[str, str], Located]:
    return {(r.case, r.stage): r for r in records if isinstance(r, Located)}


def _is_last(journal: list[Record], last: dict[tuple[str, str], Located]) -> bool:
    """Return whether none of the journal's cases was given to another worker later."""
    own = _last(journal)
    return bool(own) and all(last.get(key) == located for key, located in own.items())
