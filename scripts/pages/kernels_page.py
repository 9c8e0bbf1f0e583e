"""Write docs/generated/kernels.md: every kernel, with its idea and measurements.

    python scripts/pages/kernels_page.py            write the page
    python scripts/pages/kernels_page.py --check    exit 1 if it is out of date

Reads the matrix, the head comments of the kernels' files and the runs committed in reports/h200/.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from results_table import ROOT, origin
from yardsticks import WHAT_THEY_ARE, is_older

from harness import load
from harness.analysis.ladder import Ladder, Rung, inverse, ladders, short_names
from harness.commands.printed.resolved import rows
from harness.errors import HarnessError
from harness.matrix import model
from harness.matrix.variants import Problem, Variant
from harness.problem import Problem as Computation
from harness.problem.loading import load as load_problem
from harness.report import format as fmt
from harness.report.choice import choices, which_when

DOCS, KERNELS, RUNS = ROOT / "docs" / "generated", ROOT / "kernels", ROOT / "reports" / "h200"
PAGE = DOCS / "kernels.md"
TWO_LINES = 200
"""The maximum length of an idea in characters, which fills two lines."""
HEAD = """\
# The kernels

<!-- written by scripts/pages/kernels_page.py; do not edit: make kernels-page -->

This page lists the kernels in `kernels/`: one section per problem, one row per variant. Each
variant adds one idea to the variant that it builds on. If several variants build on the same one,
the ladder forks, and its branches are indented. A variant's name links to its file, whose head
comment explains the idea in full.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    try:
        problems = model.load(ROOT / "bench.yaml", KERNELS).problems
        wanted = page(list(problems.values()))
    except HarnessError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        PAGE.write_text(wanted, encoding="utf-8")
        print(f"wrote {len(problems)} problems into {PAGE}")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
        print(f"{PAGE} is out of date: make kernels-page", file=sys.stderr)
        return 1
    return 0


def page(problems: Sequence[Problem]) -> str:
    loaded = {p.name: load_problem(KERNELS / p.name) for p in problems}
    listed = [f"- [{escaped(n)}](#{n}): {_prose(each.title)}" for n, each in loaded.items()]
    sections = ["\n\n".join(section(p, loaded[p.name])) for p in problems]
    return "\n\n".join([HEAD + "\n" + "\n".join(listed), *sections]) + "\n"


def section(problem: Problem, loaded: Computation) -> Iterator[str]:
    """The operation, its yardstick, the source of the figures, and the ladder."""
    yield f"## {escaped(problem.name)}"
    yield _prose(loaded.title)
    if loaded.timed_inputs:
        yield f"Timed and counted on {_prose(loaded.timed_inputs)}"
    libraries = [_link(problem, library) for library in problem.libraries.values()]
    libraries += [f"`{name}`" for name in problem.library]
    compared = f"Baseline: {_code(problem.baseline)}. Libraries: {', '.join(libraries) or 'none'}."
    yield f"{compared} Types: {', '.join(problem.dtypes)}."
    folder, origins = RUNS / problem.name, ""
    found, own = list[Ladder](), list[Ladder]()
    if (folder / "results.csv").exists():
        run = load(folder)
        own = [ladder for ladder in ladders(run) if ladder.problem == problem.name]
        largest = {ladder.dtype: ladder for ladder in reversed(own)}
        found, origins = list(largest.values())[::-1], origin(dict(run.info), folder, DOCS)
        if is_older(run, problem.name):
            origins += (
                " The files that define its inputs and libraries have changed since "
                f"([what they are](../{WHAT_THEY_ARE})); it has not been measured again yet."
            )
    yield origins if found else "This problem has not been measured yet."
    if said := [text for ladder in found if (text := against(ladder, len(found) > 1))]:
        yield f"Against the fastest library: {'; '.join(said)}."
    if found:
        yield _advice(own, problem.dtypes)
    yield "\n".join(table(problem, found))


def _advice(own: Sequence[Ladder], dtypes: Sequence[str]) -> str:
    """The fastest variant at each size, and the meaning of the percentages in the table."""
    types_of: dict[str, list[str]] = {}
    for dtype in dtypes:
        mine = [x for x in own if x.dtype == dtype and x.winner]
        if mine and mine[0].winner:
            when = which_when(mine) or f"{choices(mine)[0].rung.short} at every measured size"
            types_of.setdefault(when, []).append(dtype)
    told = [
        f"Fastest in {', '.join(types)}: {when}." if len(dtypes) > 1 else f"Fastest: {when}."
        for when, types in types_of.items()
    ]
    first = own[0].measure
    notes = [f"No roof: {first.no_roof}."] if first.no_roof else []
    if first.roof and first.roof.note:
        notes = [f"The ceiling is that of {first.roof.named}."]
    return " ".join([*told, *notes])


def table(problem: Problem, found: Sequence[Ladder]) -> Iterator[str]:
    """Yield one row per variant, after its parent, with the figures of each type's ladder."""
    heads = ["variant", "builds on", "idea"]
    for ladder in found:
        of = f"{ladder.dtype}, " if len(found) > 1 else ""
        heads.append(f"{of}time at {fmt.assignments(ladder.sizes)}")
        roof = ladder.measure.roof
        heads += ["× what it builds on", f"of {roof.name}" if roof else "of ceiling"]
    yield _row(heads)
    yield _row(["---"] * 3 + ["---:"] * (len(heads) - 3))
    shorts = short_names(list(problem.variants))
    for depth, variant in tree(problem):
        yield _row([
            "&nbsp;" * 4 * depth + _link(problem, variant),
            _code(shorts[variant.builds_on]) if variant.builds_on else "",
            " ".join([*purpose(variant), idea(problem, variant)]),
            *_figures_of_all(found, variant),
        ])  # fmt: skip
    for library in problem.everything():
        if library.as_library and any(ladder.rung(library.name) for ladder in found):
            is_own = library.name in problem.libraries
            yield _row([
                _link(problem, library) if is_own else _code(library.name), "", "A library.",
                *_figures_of_all(found, library),
            ])  # fmt: skip


def against(ladder: Ladder, typed: bool) -> str:
    """A clause such as "`v12` is 1.01× as fast as `cub`"; empty without a comparison."""
    if not ladder.libraries or ladder.winner is None:
        return ""
    best = ladder.libraries[0]
    versus = inverse(best.versus_winner)
    if versus is None or versus.ratio is None:
        return ""
    of = f" in {ladder.dtype}" if typed else ""
    ours, theirs = _code(ladder.winner.planned.variant), _code(best.planned.variant)
    if versus.verdict == "same":
        return f"{ours} is as fast as {theirs}{of} ({fmt.times(versus.ratio)})"
    return f"{ours} is {fmt.times(versus.ratio)} as fast as {theirs}{of}"


def tree(problem: Problem, name: str = "", depth: int = 0) -> Iterator[tuple[int, Variant]]:
    """Yield each variant after its parent, with the number of forks before it."""
    children = [v for v in problem.variants.values() if v.builds_on == name]
    inner = depth + (len(children) > 1 and name != "")
    for variant in children:
        yield inner, variant
        yield from tree(problem, variant.name, inner)


def _figures_of_all(found: Sequence[Ladder], variant: Variant) -> list[str]:
    """Three cells per type; "not yet" if the run is older than the variant."""
    cells = [cell for ladder in found for cell in _figures(ladder, variant)]
    return cells if any(cells) else ["not yet" if i % 3 == 0 else "" for i in range(len(cells))]


def _figures(ladder: Ladder, variant: Variant) -> list[str]:
    """The cells: time, speed-up over the parent, % of the ceiling; or the reason why there is no
    time."""
    for row in ladder.unranked:
        if row.variant == variant.name:
            return ["failed" if row.failed else "skipped", "", ""]
    rung = ladder.rung(variant.name)
    if rung is None:
        return ["", "", ""]
    named, usual = (roof.name if roof else "" for roof in (rung.roof, ladder.measure.roof))
    percent = (
        "" if rung.percent is None else fmt.share(rung.percent, named if named != usual else "")
    )
    return [fmt.time_interval(rung.time), over_parent(rung, variant), percent]


def over_parent(rung: Rung, variant: Variant) -> str:
    """The speed-up of a variant over its parent; empty if that was not measured."""
    versus = rung.versus_parent
    if not (rung.parent and rung.parent.variant == variant.builds_on and versus and versus.ratio):
        return ""
    return fmt.speedup(versus.ratio, versus.verdict)


def purpose(variant: Variant) -> Iterator[str]:
    """bench.yaml's word for the quantity that the variant improves or, if it is a trap,
    degrades."""
    if variant.idea not in ("", "none"):
        yield f"*{'spoils ' if variant.is_trap else ''}{variant.idea}.*"


def idea(problem: Problem, variant: Variant) -> str:
    """A variant's idea from the file's head, or its difference from the first variant in the same
    file."""
    first = next(v for v in problem.variants.values() if _file(v) == _file(variant))
    if first is variant:
        return _prose(shortened(of_head(KERNELS / problem.name / _file(variant))))
    theirs = {path: value for _, value, path in rows(problem, first)}
    own = {path: (key, value) for key, value, path in rows(problem, variant)
           if path[:1] not in {(), ("builds_on",), ("expect",), ("idea",), ("trap",)}
           and theirs.get(path) != value}  # fmt: skip
    plain = {"flags", "dtypes", "kernel"}
    told = [_code(v if plain & {path[0], path[-1]} else f"{key.split('.')[-1].strip()} = {v}")
            for path, (key, v) in own.items()]  # fmt: skip
    how = "compiled" if {path[0] for path in own} <= {"flags", "defines"} else "launched"
    return f"Like {_code(first.name)}, but {how} differently: {', '.join(told)}."


def of_head(path: Path) -> str:
    """Return the paragraph with the idea from a file's head comment; "A trap: …" marks a trap."""
    text = re.sub(r"^// ?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for paragraph in text.split("\n\n"):
        if told := re.match(r"(?:Idea:|(?=A trap:))\s*(.*)", " ".join(paragraph.split())):
            return told[1].rstrip('" ')
    return "(The head of its file does not say.)"


def shortened(text: str) -> str:
    """Shorten the idea to the sentences that fit into two lines, or to clauses if these sentences
    are too short or too long.

    The result is capitalised, unless it begins with a name such as v1 or __expf().
    """
    for ends, enough in ((".", TWO_LINES * 0.3), (".;:", 0)):
        kept = ""
        for part in re.split(rf"(?<=[^\s.][{ends}])\s+", text):
            if kept and len(kept) + 1 + len(part) > TWO_LINES:
                break
            kept = f"{kept} {part}".strip()
        if kept == text or enough <= len(kept) <= TWO_LINES:
            break
    kept = re.sub(r"[;:]$", " …", kept)
    return kept[:1].upper() + kept[1:] if re.match(r"[a-z'-]+[,;:.]?\s", kept) else kept


def _prose(text: str) -> str:
    """Escape text for Markdown, leaving code in it unchanged."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(_code(p[1:-1]) if i % 2 else escaped(p) for i, p in enumerate(parts))


def escaped(text: str) -> str:
    """Escape the characters in the page's own prose that Markdown would interpret."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("_", "\\_")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _file(variant: Variant) -> str:
    return variant.source or variant.function.partition(":")[0]


def _link(problem: Problem, variant: Variant) -> str:
    path = Path(os.path.relpath(KERNELS / problem.name / _file(variant), DOCS)).as_posix()
    return f"[{_code(variant.name)}]({path})"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
