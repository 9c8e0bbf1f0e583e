"""Notebook views of a run: a problem's ladder as a table, and a summary of the run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.statistics import builds_on
from harness.statistics.net_times import Group

if TYPE_CHECKING:
    import pandas as pd

    from harness.tables.run_tables import RunTables

_TIMED = {
    "median_ns": "µs", "gbps": "GB/s", "pct_of_ceiling": "% of ceiling", "speedup": "× baseline",
    "verdict": "against the baseline",
}  # fmt: skip
_COUNTED = {"status": "status", "registers": "registers", "occupancy_theoretical": "occupancy"}


def ladder(
    run: RunTables, problem: str, dtype: str | None, cache: str, sizes: Mapping[str, int]
) -> pd.DataFrame:
    """The rows of `results` for each variant of one group at the launch shape at which it is shown,
    best first."""
    group = _group(run, problem, dtype, sizes)
    cases = {p.case: p for p in run.timings.shown(group)}
    own = run.results[run.results.case.isin(cases) & run.results.cache.isin({cache, ""})]
    if run.tells_what_builds_on_what and run.is_timed:
        parents = {case: builds_on.parent(p, run.timings.shape) for case, p in cases.items()}
        found = [
            run.compare(case, parent.case, cache) if (parent := parents[case]) else None
            for case in own.case
        ]
        own = own.assign(
            over_parent=[c.ratio.value if c and c.ratio else None for c in found],
            over_parent_verdict=[c.verdict if c else None for c in found],
        )
    own = own.sort_values("median_ns", kind="stable", na_position="last").set_index("variant")
    return own.dropna(axis="columns", how="all") if len(own) else own


def _group(run: RunTables, problem: str, dtype: str | None, sizes: Mapping[str, int]) -> Group:
    """The largest of the requested groups of the first type that has a valid case."""
    groups = run.timings.groups
    found = [
        group
        for group, cases in groups.items()
        if group[0] == problem
        and dtype in {None, group[1]}
        and all(cases[0].sizes.get(key) == value for key, value in sizes.items())
    ]
    if not found:
        there = "; ".join(" ".join(filter(None, group)) for group in groups)
        asked = " ".join([problem, dtype or "", *(f"{k}={v}" for k, v in sizes.items())])
        raise UsageError(
            f"this run has no {' '.join(asked.split())}\n  it has: {there or 'nothing'}"
        )

    def worth(group: Group) -> tuple[bool, int]:
        return bool(run.timings.shown(group)), max(p.bytes for p in groups[group])

    return max((group for group in found if group[1] == found[0][1]), key=worth)


def text(run: RunTables) -> str:
    tables = (f"\n{title}\n{table.to_string()}" for title, table in _brief(run))
    return "\n".join([_told(run), *tables])


def html(run: RunTables) -> str:
    tables = (f"<h4>{escape(title)}</h4>\n{table.to_html()}" for title, table in _brief(run))
    return "\n".join([f"<p>{escape(_told(run))}</p>", *tables])


def _told(run: RunTables) -> str:
    """Say what was run, on which machine, and where to look next."""
    device = (run.info.get("device") or {}).get("name") or "an unknown device"
    problems = list(dict.fromkeys(p.problem for p in run.planned.values()))
    ended = Counter(outcome.status for outcome in run.outcomes.values())
    counts = ", ".join(f"{n} {status}" for status, n in ended.items()) or "no cases"
    how = "timed" if run.is_timed else "counted, not timed,"
    return (
        f"{', '.join(problems) or 'nothing'}: {how} on {device} ({counts}); "
        "see .results, .counters, .ladder(problem)"
    )


def _brief(run: RunTables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each problem's ladder at its largest size, with the most useful columns first."""
    names = _TIMED if run.is_timed else _COUNTED
    for problem, dtype in dict.fromkeys(group[:2] for group in run.timings.groups):
        found = ladder(run, problem, dtype, "cold", {})
        table = found[[name for name in names if name in found]].copy()
        if "median_ns" in table:
            table["median_ns"] /= 1e3
        for name in table.select_dtypes("number").columns:
            table[name] = [_four(value) for value in table[name]]
        size = _group(run, problem, dtype, {})[2]
        yield f"{problem} {dtype} {size}", table.rename(columns=names)


def _four(value: Any) -> str:
    """Format a number with four digits, and a missing one as an empty text."""
    return "" if math.isnan(value) else f"{float(value):,.4g}"
