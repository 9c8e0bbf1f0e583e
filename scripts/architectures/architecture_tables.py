"""Write docs/fidelity.md's per-architecture tables from the files committed in reports/emulated.

    python scripts/architectures/architecture_tables.py            rewrite the page
    python scripts/architectures/architecture_tables.py --check    exit 1 if it is out of date

scripts/benchmark_architectures.py, others.py and functions.py write those files.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import sections

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "reports" / "emulated"
READ = "sm_90"
EXECUTED, EQUAL, UNFUSED, DIFFERS = "executed", "equal", "equal unfused", "differs"
LAUNCHES = {"small": "of each", "whole": "a quick run"}
Row = Mapping[str, str]


def rows(name: str, folder: Path = FOLDER) -> list[Row]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _by_arch(found: Sequence[Row]) -> Mapping[str, list[Row]]:
    own: dict[str, list[Row]] = defaultdict(list)
    for row in found:
        own[row["arch"]].append(row)
    return dict(sorted(own.items(), key=lambda pair: int(pair[0][3:])))


def collection(found: Sequence[Row]) -> str:
    """The table of this repository's kernels."""
    lines = [
        "| architecture | launches | verified from PTX | from machine code | | bit-identical to "
        "PTX | differ |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for arch, own in _by_arch(found).items():
        for row in own:
            counted, ok = int(row["counted_in_machine_code"]), int(row["ok"]) + int(row["failed"])
            small, _, part = row["measured"].partition(", ")
            lines.append(
                f"| {arch} | {LAUNCHES[small]}{f', {part}' if part else ''} | {row['ok']} | "
                f"{counted} | {_percent(counted, ok)} | {row['equal_to_ptx']} | "
                f"{_code(row['differ'].split())} |"
            )
    return "\n".join(lines)


def foreign(launches: Sequence[Row], kernels: Sequence[Row]) -> str:
    """The table of other people's kernels: the outcomes of the launches, and how many kernels in
    the same files can be executed.
    """
    as_read = {row["launch"]: row["digest"] for row in launches if row["arch"] == READ}
    files = _by_arch(kernels)
    columns = ["launches", "executed", "", "bit-identical to PTX", "if not fused"]
    columns += [f"bit-identical to {READ}", "from its PTX"] if as_read else []
    columns += ["kernels in the files", "executable", ""]
    lines = [f"| architecture | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    for arch, own in _by_arch(launches).items():
        ran = [row for row in own if row["from_machine_code"] == EXECUTED]
        beside = [row["beside_ptx"] for row in ran]
        there = sum(int(row["kernels"] or 0) for row in files[arch])
        taken = sum(int(row["executable"] or 0) for row in files[arch])
        cells = [len(own), len(ran), _percent(len(ran), len(own)), beside.count(EQUAL),
                 beside.count(UNFUSED)]  # fmt: skip
        if as_read:
            cells.append(sum(row["digest"] == as_read.get(row["launch"]) for row in ran))
            cells.append(sum(row["from_ptx_of_sm_90"] == EQUAL for row in ran))
        cells += [there, taken, _percent(taken, there)]
        lines.append(f"| {arch} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *_apart(launches, kernels)])


def _apart(launches: Sequence[Row], kernels: Sequence[Row]) -> list[str]:
    """List what differs, is not executed or is refused, each with its architectures."""
    told: dict[str, list[str]] = defaultdict(list)
    for row in launches:
        name, why = f"`{row['launch']}`", row["from_machine_code"]
        if why != EXECUTED:
            told[f"{name} is not executed: {why}"].append(row["arch"])
        elif row["from_ptx_of_sm_90"] == DIFFERS:
            told[f"{name} differs from {READ}, even when assembled from the PTX for {READ}"].append(
                row["arch"]
            )
        if why == EXECUTED and row["beside_ptx"] == DIFFERS:
            told[f"{name} differs from PTX by {row['difference']}"].append(row["arch"])
        elif why == EXECUTED and row["beside_ptx"] not in (EQUAL, UNFUSED):
            kind = row["beside_ptx"].partition(" ")[2]
            told[f"{name}, from PTX: the fault `{kind}`"].append(row["arch"])
    for row in kernels:
        for reason in filter(None, row["refused"].split("; ")):
            told[f"Refused in `{row['file']}`: {_short(reason)}"].append(row["arch"])
    every = set(_by_arch(launches))
    return [
        f"- {what} ({'all' if every <= {*arches} else ', '.join(dict.fromkeys(arches))})"
        for what, arches in told.items()
    ]


def _short(reason: str) -> str:
    """Remove the location from a refusal."""
    what = reason.partition(" at 0x")[0]
    return what.rpartition(": ")[2] if ".cu:" in what else what


def functions(found: Sequence[Row]) -> str:
    """The table of the device functions in CUDA's headers."""
    lines = [
        "| architecture | functions | executed | | bit-identical to PTX | if not fused | differ | "
        f"bit-identical to {READ} |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for arch, own in _by_arch(found).items():
        for row in own:
            differ = len(_listed(row["differ"]))
            share = _percent(int(row["executed"]), int(row["functions"]))
            lines.append(
                f"| {arch} | {row['functions']} | {row['executed']} | {share} | {row['equal']} | "
                f"{row['equal_unfused']} | {differ} | {row['equal_to_sm_90']} |"
            )
    apart: dict[str, list[str]] = defaultdict(list)
    refused: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in found:
        for column, what in ("differ", "from PTX"), ("differ_from_sm_90", f"from {READ}"):
            for each in _listed(row[column]):
                name, _, by = each.rpartition(" ")
                apart[f"`{name}` differs {what} {_by(by)}"].append(row["arch"])
        for each in _listed(row["refusals"]):
            opcode = each.partition("`")[2].partition(" ")[0]
            for name in each.rpartition("): ")[2].split("), "):
                refused[opcode, f"`{name.rstrip(')')})`"].append(row["arch"])
    for (opcode, name), arches in refused.items():
        apart[f"`{opcode}` is refused ({', '.join(arches)}), in"].append(name)
    told = [
        f"- {what} {', '.join(each)}" if what.endswith("in") else f"- {what} ({', '.join(each)})"
        for what, each in apart.items()
    ]
    return "\n".join([*lines, "", *told]) if told else "\n".join(lines)


def _by(difference: str) -> str:
    """Describe a difference. The smallest normal double means zeros that differ only in sign."""
    if difference == "no-result":
        return f"without a result at {READ}"
    is_sign = float(difference) < 2 * sys.float_info.min
    return "in the sign of zero" if is_sign else f"by {difference}"


def _listed(cell: str) -> list[str]:
    return list(filter(None, cell.split("; ")))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "fidelity.md")
    options = parser.parse_args(arguments)
    contents = {
        "collection": collection(rows("architectures.csv")),
        "foreign": foreign(rows("others.csv"), rows("others_kernels.csv")),
        "functions": functions(rows("device_functions.csv")),
    }
    command = "python scripts/architectures/architecture_tables.py"
    return sections.keep(options.page, contents, options.check, command)


if __name__ == "__main__":
    sys.exit(main())
