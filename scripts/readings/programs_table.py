"""Write the table of other people's programs that check themselves, in docs/fidelity.md.

    python scripts/readings/programs_table.py            rewrite the table
    python scripts/readings/programs_table.py --check    exit 1 if it is out of date

The verdicts are those of reports/emulated/self_checking.csv, which
scripts/others_kernels/self_checking.py writes. The lists of programs say whether a reported fault
is real, which was decided by reading the program.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "others_kernels"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

import sections
from self_checking import ENDS, Program, Row, read, rows

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
KINDS: Final = (
    "right", "rightly accused", "wrongly accused", "its own check is wrong", "wrong", "refused",
    "not finished", "not run",
)  # fmt: skip
GOOD: Final = ("right", "rightly accused")
_WORDS: Final = {
    "right": "right", "refused": "refused", "unfinished": "not finished", "not run": "not run",
    "not compiled": "not run",
}  # fmt: skip


def kind(program: Program, verdict: str) -> str:
    """Return the column in which a verdict is counted. A reported fault and a failed check count
    against the emulator unless the list says that the program is at fault.
    """
    word = verdict.partition(":")[0].partition("(")[0].strip()
    at_fault = program.judgement == "program"
    if word == "accused":
        return "rightly accused" if at_fault else "wrongly accused"
    return _WORDS.get(word, "its own check is wrong" if at_fault else "wrong")


def table(programs: Sequence[Program], found: Mapping[tuple[str, str], Row]) -> str:
    """The numbers for each repository, and a list of programs that are not correct with both front
    ends.
    """
    head = " | ".join(f"{each}" for each in KINDS)
    out = [f"| repository | programs | from | {head} | right or rightly accused from both |",
           "|---|--:|---|" + "--:|" * (len(KINDS) + 1)]  # fmt: skip
    for repository in dict.fromkeys(each.repository for each in programs):
        own = [each for each in programs if each.repository == repository]
        of = {each: [kind(each, found[repository, each.name][end]) for end in ENDS] for each in own}
        both = sum(all(each in GOOD for each in kinds) for kinds in of.values())
        address = f"https://github.com/{repository}/tree/{own[0].commit}"
        for n, end in enumerate(ENDS.values()):
            counts = Counter(kinds[n] for kinds in of.values())
            numbers = " | ".join(str(counts[each]) for each in KINDS)
            first = f"[{repository}]({address}) | {len(own)}" if n == 0 else " | "
            out.append(f"| {first} | {end} | {numbers} | {both if n == 0 else ''} |")
    return "\n".join([*out, "", *_others(programs, found)])


def _others(programs: Sequence[Program], found: Mapping[tuple[str, str], Row]) -> list[str]:
    """A line for each program that is not correct with both front ends, with the reason, except
    those that are not finished or not run.
    """
    out = ["| program | PTX | machine code | what it is |", "|---|---|---|---|"]
    for each in programs:
        verdicts = [found[each.repository, each.name][end] for end in ENDS]
        kinds = [kind(each, verdict) for verdict in verdicts]
        if {"right", "not finished", "not run"}.issuperset(kinds):
            continue
        said = next(v.partition(": ")[2] for v, k in zip(verdicts, kinds, strict=True)
                    if k not in ("right", "not finished", "not run"))  # fmt: skip
        out.append(f"| `{each.name}` | {' | '.join(kinds)} | {each.reason or said} |")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    command = "python scripts/readings/programs_table.py"
    return sections.keep(options.page, {"programs": table(read(), rows())}, options.check, command)


if __name__ == "__main__":
    sys.exit(main())
