"""Compare other people's kernels in the emulator with an H200's counts and results.

    python scripts/others_kernels/table.py COMPILED            rewrite docs/fidelity.md
    python scripts/others_kernels/table.py COMPILED --check    exit 1 if it is out of date

COMPILED is the output of sources.py; the readings are those that readings.py wrote. Each launch
runs as machine code and as PTX. The script compares each counter that both the emulator and the
H200 have, and every buffer's contents, bit by bit; if these differ, it compares the stored values.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "readings"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import launches as listed
import numpy as np
import sections
from emulated import Launcher, Results, launchers
from fidelity_readings import MACHINE, UNIFORM, Compared
from on_gpu import SAMPLES, samples
from readings import COUNTERS, OPCODES, RESULTS

from harness.emulator.errors import EmulatorError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"

Readings = Mapping[str, Mapping[str, float]]
"""Launch → counter → reading."""


@dataclass(frozen=True)
class Result:
    """A buffer on the H200: hashes of its contents, and a few values if they changed."""

    before: str
    after: str
    values: tuple[float, ...]


@dataclass
class Held:
    """One launch and its readings. `apart`: the differences between the two."""

    launch: listed.Launch
    equal: int = 0
    noisy: int = 0
    apart: list[Compared] = field(default_factory=list)
    modelled: int = 0
    modelled_equal: int = 0
    refusal: str = ""
    from_ptx: str = ""
    """How PTX's results differ from machine code's; empty if they are bit-identical."""
    by_both: dict[str, bool] = field(default_factory=dict)
    """The counters that both front ends have, and whether they are equal."""
    results_held: bool = False
    """True if there are H200 results to compare with."""
    on_gpu: str = ""
    """How the emulator's results differ from the H200's; empty if they are bit-identical."""


def read(path: Path = COUNTERS) -> Readings:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["launch"]][row["counter"]] = float(row["reading"])
    return found


def read_results(path: Path = RESULTS) -> Mapping[str, Mapping[str, Result]]:
    found: dict[str, dict[str, Result]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            values = tuple(float(value) for value in row["values"].split())
            found[row["launch"]][row["buffer"]] = Result(row["before"], row["after"], values)
    return found


def hold(
    launcher: Launcher, read_there: Mapping[str, float], left_there: Mapping[str, Result]
) -> Held:
    """Run a launch as PTX and as machine code, and compare it with the H200's readings. Nothing is
    compared if the machine code is refused or has a fault."""
    held = Held(launcher.launch)
    try:
        machine = launcher.from_machine_code()
    except EmulatorError as error:
        held.refusal = str(error)
        return held
    if machine.report.faults:
        held.refusal = machine.report.faults[0].message
        return held
    ours = {each.name: (each.value, each.provenance) for each in machine.report.counters}
    for counter, theirs in read_there.items():
        if counter in ours and (theirs or counter != UNIFORM):
            value, provenance = ours[counter]
            _compare(held, Compared(counter, provenance, value, theirs))
    if any(counter.startswith(OPCODES) for counter in read_there):
        _compare_opcodes(held, machine, read_there)
    held.results_held = bool(left_there)
    held.on_gpu = "; ".join(_results_apart(launcher.launch, machine, left_there))
    _compare_with_ptx(held, launcher, machine)
    return held


def _compare(held: Held, each: Compared) -> None:
    if each.provenance != MACHINE:
        held.modelled += 1
        held.modelled_equal += each.equal
    elif each.to_the_digit:
        held.equal += 1
    elif each.equal:
        held.noisy += 1
    else:
        held.apart.append(each)


def _compare_opcodes(held: Held, machine: Results, there: Mapping[str, float]) -> None:
    """Compare the warp instructions of each opcode, without modifiers, as ncu counts them."""
    own: dict[str, int] = defaultdict(int)
    for opcode, count in machine.report.instruction_mix.items():
        own[opcode.partition(".")[0]] += count
    exact = all(each.provenance == MACHINE for each in machine.report.counters[:1])
    theirs = {k.partition("/")[2]: v for k, v in there.items() if k.startswith(OPCODES)}
    for opcode in sorted({*own, *theirs}):
        provenance = MACHINE if exact else ""
        _compare(held, Compared(opcode, provenance, own.get(opcode, 0), theirs.get(opcode, 0)))


def _results_apart(
    launch: listed.Launch, machine: Results, there: Mapping[str, Result]
) -> list[str]:
    out = []
    for name, theirs in there.items():
        own = machine.buffers[name]
        if hashlib.sha256(own.tobytes()).hexdigest() == theirs.after:
            continue
        pairs = list(zip(samples(own), theirs.values, strict=False))
        off = [abs(a - b) / max(abs(b), 1e-30) for a, b in pairs if not _same(a, b)]
        out.append(
            f"`{name}`: {len(off)} of {SAMPLES} values differ, by {max(off):.1e} at most"
            if off
            else f"`{name}`: differs, but not in the {len(pairs)} values that are kept"
        )
    return out


def _same(ours: float, theirs: float) -> bool:
    """Return whether two values are equal; any two NaNs are, because their bits are not
    modelled."""
    return ours == theirs or (np.isnan(ours) and np.isnan(theirs))


def _compare_with_ptx(held: Held, launcher: Launcher, machine: Results) -> None:
    ptx = launcher.from_ptx()
    if ptx.report.faults:
        held.from_ptx = f"the fault `{ptx.report.faults[0].kind}`"
        return
    worst = 0.0
    for name, own in machine.buffers.items():
        theirs = ptx.buffers[name]
        if own.tobytes() == theirs.tobytes():
            continue
        with np.errstate(all="ignore"):
            a, b = own.astype(np.float64), theirs.astype(np.float64)
            off = np.abs(a - b) / np.maximum(np.abs(b), 1e-30)
        worst = max(worst, float(np.nanmax(np.where(a == b, 0, off))))
        held.from_ptx = f"differs by {worst:.1e} at most"
    ours = {each.name: each.value for each in ptx.report.counters}
    held.by_both = {
        each.name: ours[each.name] == each.value
        for each in machine.report.counters
        if each.name in ours
    }


def table(all_held: Sequence[Held]) -> str:
    """Write the section in Markdown."""
    return "\n\n".join([_summary(all_held), _by_repository(all_held), _differences(all_held),
                         _front_ends(all_held)])  # fmt: skip


def _summary(all_held: Sequence[Held]) -> str:
    repositories = {held.launch.source.repository for held in all_held}
    head = f"{len(all_held)} launches of kernels from {len(repositories)} repositories."
    readings = sum(map(_readings, all_held))
    if not readings:
        return f"{head} No GPU has read them yet."
    equal = sum(held.equal for held in all_held)
    return f"{head} {equal:,} of {readings:,} `machine-exact` readings are exactly equal."


def _readings(held: Held) -> int:
    """Count the compared counters that are labelled exact."""
    return held.equal + held.noisy + len(held.apart)


def _by_repository(all_held: Sequence[Held]) -> str:
    own: dict[str, list[Held]] = defaultdict(list)
    for held in all_held:
        own[held.launch.source.repository].append(held)
    lines = [
        "| repository | launches | executed | `machine-exact` readings | equal | store sectors "
        "within 0.5 % | other readings | equal | the H200's results, bit by bit | PTX's |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for repository, group in own.items():
        ran = [held for held in group if not held.refusal]
        address = f"https://github.com/{repository}/tree/{group[0].launch.source.commit}"
        numbers = (
            len(group), len(ran), sum(map(_readings, group)), sum(h.equal for h in group),
            sum(h.noisy for h in group), sum(h.modelled for h in group),
            sum(h.modelled_equal for h in group),
            sum(h.results_held and not h.on_gpu for h in ran), sum(not h.from_ptx for h in ran),
        )  # fmt: skip
        lines.append(f"| [{repository}]({address}) | {' | '.join(f'{n:,}' for n in numbers)} |")
    return "\n".join(lines)


def _differences(all_held: Sequence[Held]) -> str:
    told = [line for line in map(_told, all_held) if line]
    return "\n".join(["What differs:", "", *told]) if told else "Nothing differs."


def _front_ends(all_held: Sequence[Held]) -> str:
    """A table: in how many launches each counter is the same for PTX and for machine code."""
    found: dict[str, list[bool]] = defaultdict(list)
    for held in all_held:
        for counter, equal in held.by_both.items():
            found[counter].append(equal)
    lines = ["| counter | launches from both | PTX as machine code |", "|---|--:|--:|"]
    lines += [f"| `{name}` | {len(each)} | {sum(each)} |" for name, each in found.items()]
    return "\n".join(lines)


def _told(held: Held) -> str:
    """A launch's differences, as a list item; empty if there are none."""
    parts = [f"`{x.metric}` {x.ours:,.10g}, H200 {x.theirs:,.10g}" for x in held.apart]
    if held.refusal:
        parts.append(f"not executed: {held.refusal.partition(chr(10))[0]}")
    if held.on_gpu:
        parts.append(f"results on the H200: {held.on_gpu}")
    if held.from_ptx:
        parts.append(f"from PTX: {held.from_ptx}")
    return f"- `{held.launch.name}` ({held.launch.kernel}): {'; '.join(parts)}" if parts else ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("compiled", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    counters = read() if COUNTERS.exists() else {}
    results = read_results() if RESULTS.exists() else {}
    every = [
        hold(each, counters.get(each.launch.name, {}), results.get(each.launch.name, {}))
        for each in launchers(options.compiled)
    ]
    command = f"python scripts/others_kernels/table.py {options.compiled}"
    return sections.keep(options.page, {"others": table(every)}, options.check, command)


if __name__ == "__main__":
    sys.exit(main())
