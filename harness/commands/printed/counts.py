"""The printed results of a run without times: what was verified, and what was counted."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.checks import checks
from harness.analysis.counted import Counts, Rung, largest
from harness.analysis.ladder import short_names
from harness.analysis.quantities import Quantity
from harness.analysis.readings import Missing, Reading
from harness.commands.printed import as_json
from harness.commands.printed.sheets import Cell, Sheet
from harness.report import counts as words
from harness.report import format as fmt
from harness.report.tables.cells import show
from harness.tables import Run

_HEADINGS = {
    "wavefronts-over-ideal": "wavefronts / ideal", "sectors-over-compulsory": "touched / needed",
    "acting-threads": "lanes of 32", "global-atomics": "global atomics",
    "instructions-per-kib": "instr. / KiB", "theoretical-occupancy": "occupancy",
    "wave-fill": "wave fill",
}  # fmt: skip
"""Column titles for quantities whose own title is too long for a terminal."""


def sheet(run: Run, problem: str, dtype: str, told: Sequence[Counts]) -> Sheet:
    """One row per variant at the largest counted size, with a summary beneath."""
    found = largest(told, problem, dtype)
    at = f" at {fmt.assignments(found.sizes)}" if found else ""
    telling = list(found.telling) if found else []
    headings = [_HEADINGS.get(each.key, each.title.lower()) for each in telling]
    columns = ["variant", "result", "launches verified", "error / bound", *headings]
    made = Sheet(f"{problem} ({dtype}){at}, emulated: counted, not timed", columns, 2,
                 ("launches verified", "error / bound", *reversed(headings)))  # fmt: skip
    rungs = {rung.planned.variant: rung for rung in found.rungs} if found else {}
    all_checks = checks(run, problem, dtype)
    shorts = short_names([check.variant for check in all_checks])
    for check in all_checks:
        error = "" if check.worst is None else fmt.three(check.worst)
        bad = "failed" if check.status == "failed" else ""
        rung = rungs.get(check.variant)
        made.rows.append(
            [Cell(check.variant, bad, shorts[check.variant]), Cell(check.status, bad),
             Cell(str(len(check.passed) or "")), Cell(error),
             *(_figure(found, each, rung) for each in telling)]
        )  # fmt: skip
    made.notes.extend(words.sentences(found) if found else [words.not_counted(run, problem, dtype)])
    return made


def _figure(found: Counts | None, quantity: Quantity, rung: Rung | None) -> Cell:
    """Format a value, with a mark if it was not counted exactly."""
    answer = found.of(quantity, rung) if found and rung else None
    if answer is None or isinstance(answer, Missing):
        return Cell("" if rung is None else "–")
    return Cell(("" if answer.judges else "~") + show(quantity, answer.value))


def overview(run: Run, pairs: Sequence[tuple[str, str]], told: Sequence[Counts]) -> Sheet:
    """One row per problem and type, those with failures first."""
    made = Sheet("", ["problem", "verified", "worth knowing"], 3)
    several = {p for p, _ in pairs if sum(p == other for other, _ in pairs) > 1}
    rows = []
    for pair in pairs:
        problem, dtype = pair
        found = [c for c in checks(run, problem, dtype) if c.status != "skipped"]
        good = sum(c.status == "verified" for c in found)
        counts = largest(told, problem, dtype)
        bad = "failed" if good < len(found) else ""
        name = f"{problem} {dtype}" if problem in several else problem
        known = words.in_brief(counts) if counts else words.not_counted(run, *pair)
        rows.append([Cell(name, bad), Cell(f"{good} of {len(found)}", bad), Cell(known)])
    made.rows.extend(sorted(rows, key=lambda row: not row[0].kind))
    return made


def as_data(found: Counts) -> as_json.Counted:
    """One problem, type and size, in base units; absent values are null."""
    return {
        "problem": found.problem,
        "dtype": found.dtype,
        "sizes": found.sizes,
        "variants": [
            {
                "variant": rung.planned.variant,
                "case": rung.planned.case,
                "launch": rung.planned.launch,
                "quantities": {
                    key: {"value": answer.value, "provenance": answer.provenance}
                    for (key, case), answer in found.answers.items()
                    if case == rung.planned.case and isinstance(answer, Reading)
                },
                "losses": [
                    {"quantity": loss.quantity, "text": loss.text, "value": loss.value,
                     "ideal": loss.ideal, "place": loss.place or None}
                    for loss in rung.losses
                ],
                "builds_on": rung.step.before.variant if rung.step else None,
                "changed": [
                    {"quantity": change.quantity.key, "before": change.pair[0],
                     "after": change.pair[1]}
                    for change in rung.changes if change.pair
                ],
            }
            for rung in found.rungs
        ],
    }  # fmt: skip
