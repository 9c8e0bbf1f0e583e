"""Write the table that compares the emulator's counters with Nsight Compute's on a GPU.

    python scripts/readings/fidelity_table.py           rewrite docs/fidelity.md between the markers
    python scripts/readings/fidelity_table.py --check   exit 1 if it is out of date

`fidelity_readings.py` makes the comparison; tests/test_fidelity.py fails on a difference that
tests/fidelity/exceptions.yaml does not explain. Longer cases, which take minutes, have a separate
table that no test recomputes.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

import sections
from fidelity_readings import (
    COMPILED,
    EXACT,
    MACHINE,
    MODEL,
    OF_MACHINE,
    OF_MEMORY,
    PARAMETER_BYTES,
    PTX,
    ROOT,
    Compared,
    Known,
    Launch,
    compare,
    known,
    reading_files,
)

PREDICATED_ON = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
LABELS = OF_MEMORY | {
    "smsp__inst_executed.sum": "warp instructions",
    "smsp__thread_inst_executed.sum": "thread instructions",
    "smsp__thread_inst_executed_pred_on.sum": "of them predicated on",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "threads per instruction",
    PREDICATED_ON: "predicated-on threads per instruction",
    "launch__registers_per_thread": "registers",
    "sm__maximum_warps_per_active_cycle_pct": "theoretical occupancy",
    "launch__waves_per_multiprocessor": "waves",
}
IN_COLUMNS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    PREDICATED_ON,
)
"""The ptx-level counters that have a column of their own."""


class Section:
    """The Markdown between the markers."""

    def __init__(self, launches: Sequence[Launch], exceptions: Sequence[Known]) -> None:
        self.launches, self.exceptions = launches, exceptions

    def text(self) -> str:
        return "\n\n".join([self.summary(), self.by_counter(), self.reasons(), self.by_launch()])

    def summary(self) -> str:
        variants = {launch.name for launch in self.launches}
        compiled = [each for launch in self.launches for each in launch.of(COMPILED)]
        same = sum(each.equal for each in compiled)
        return (
            f"{len(self.launches):,} launches of {len(variants)} variants. {self._equal(MACHINE)} "
            f"{self._equal(EXACT)} {same:,} of {len(compiled):,} figures for registers, occupancy "
            f"and waves are equal.\n\n{self.traffic()}"
        )

    def _equal(self, provenance: str) -> str:
        every = [each for launch in self.launches for each in launch.of(provenance)]
        digit = sum(each.equal and each.ours == each.theirs for each in every)
        noisy = sum(each.equal for each in every) - digit
        within = f", and {noisy:,} store sectors within 0.5 %" if noisy else ""
        return f"{digit:,} of {len(every):,} `{provenance}` readings are exactly equal{within}."

    def traffic(self) -> str:
        """Compare the bytes that device memory delivered with the required minimum."""
        pairs = [launch.read for launch in self.launches if launch.read is not None]
        rest = [(theirs - ours - code, ours) for ours, code, theirs in pairs]
        over = sorted(more for more, _ in rest if 0 <= more <= PARAMETER_BYTES)
        less = sum(more < 0 for more, _ in rest)
        beyond = [more / ours for more, ours in rest if more > PARAMETER_BYTES]
        largest = max(ours for ours, *_ in pairs)
        return (
            (
                f"In {len(over):,} of {len(pairs):,} launches, `dram__bytes_read.sum` exceeds 32 × "
                f"`distinct_sectors_read` plus the size of the kernel's code by {over[0]:,.0f} to "
                f"{over[-1]:,.0f} bytes, which are parameters and constants. The largest launch "
                f"reads {largest:,.0f} bytes."
            )
            + (
                f" In {len(beyond)} launches the difference is {_percent(min(beyond))} to "
                f"{_percent(max(beyond))}: memory delivers two sectors when a single one is "
                "requested, and delivers sectors again that later writes have evicted from the L2 "
                "cache; and spilled registers are read back."
                if beyond
                else ""
            )
            + (
                f" In {less} launches it is negative: a launch finds its own writes in the L2 "
                "cache."
                if less
                else ""
            )
        )

    def by_counter(self) -> str:
        lines = [
            "| counter | provenance | readings | equal | difference: median, from, to |",
            "|---|---|--:|--:|--:|",
        ]
        found: dict[tuple[str, str], list[Compared]] = defaultdict(list)
        for launch in self.launches:
            for each in launch.compared:
                found[each.metric, each.provenance].append(each)
        order = (MACHINE, OF_MACHINE, EXACT, MODEL, COMPILED, PTX)
        for (metric, provenance), own in sorted(found.items(), key=lambda i: order.index(i[0][1])):
            equal = sum(each.equal for each in own)
            apart = sorted(each.relative for each in own if not each.equal)
            spread = ""
            if apart:
                middle = median(each.relative for each in own)
                spread = ", ".join(map(_percent, (middle, apart[0], apart[-1])))
            name = f"`{metric}`" if "__" in metric or "_" in metric else metric
            lines.append(f"| {name} | {provenance} | {len(own):,} | {equal:,} | {spread} |")
        return "\n".join(lines)

    def reasons(self) -> str:
        """Each known difference that occurs, with its reason."""
        parts = [
            f"- {', '.join(f'`{name}`' for name in e.kernels)}: "
            f"{', '.join(_label(c) for c in e.counters)} (`{e.provenance}`). {e.because.strip()}"
            for e in self.exceptions
        ]
        head = "Where `machine-exact` and `emulator-exact` counters differ, and why:"
        return "\n".join([head, "", *parts]) if parts else "No exact counter differs."

    def by_launch(self) -> str:
        lines = [
            "Where the two differ, a cell shows our value / ncu's. The last three columns are "
            "`ptx-level`: by how much our value differs from ncu's.",
            "",
            "| kernel | launch | machine code | PTX, exact | PTX, model | registers, occupancy | "
            + " | ".join(_label(metric) for metric in IN_COLUMNS)
            + " |",
            "|---|---|---|---|---|---|--:|--:|--:|",
        ]
        lines += [self._row(launch) for launch in self.launches]
        return "\n".join(lines)

    def _row(self, launch: Launch) -> str:
        case = launch.case
        kernel = f"`{launch.name}`"
        if len(case.steps) > 1:
            kernel += f" {launch.step + 1}. `{launch.kernel}`"
        shape = [case.dtype, *(f"{k} {v}" for k, v in (case.sizes | case.launch).items())]
        cells = [kernel, ", ".join(shape)]
        if launch.refusal:
            return f"| {' | '.join(cells)} | not emulated: {launch.refusal} | | | | | | |"
        cells += [_verdict(launch.of(kind)) for kind in (MACHINE, EXACT, MODEL, COMPILED)]
        by_metric = {each.metric: each for each in launch.of(PTX)}
        for metric in IN_COLUMNS:
            one = by_metric.get(metric)
            cells.append(_percent(one.relative) if one else "")
        return f"| {' | '.join(cells)} |"


def _verdict(compared: Sequence[Compared]) -> str:
    """✓ and the number of matches, or the counters that differ."""
    apart = [each for each in compared if not each.equal]
    if not apart:
        return f"✓ {len(compared)}" if compared else ""
    named = "; ".join(f"{_label(e.metric)} {e.ours:,.10g} / {e.theirs:,.10g}" for e in apart)
    return f"{len(compared) - len(apart)} of {len(compared)}; {named}"


def _label(metric: str) -> str:
    return LABELS.get(metric, metric)


def _percent(relative: float) -> str:
    if relative == float("inf"):
        return "where the hardware has none"
    shown = f"{100 * relative:+.1f} %"
    return "0.0 %" if shown in ("+0.0 %", "-0.0 %") else shown.replace("-", "−")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "fidelity.md")
    options = parser.parse_args(arguments)
    files = reading_files()
    longer = Section(compare(files, in_tests=False), known())
    contents = {
        "fidelity": Section(compare(files), known()).text(),
        "longer": f"{longer.summary()}\n\n{longer.by_launch()}",
    }
    command = "python scripts/readings/fidelity_table.py"
    return sections.keep(options.page, contents, options.check, command)


if __name__ == "__main__":
    sys.exit(main())
