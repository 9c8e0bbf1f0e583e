"""Write docs/generated/claims.md: the claims of tutorials, and the committed runs' results on them.

    python scripts/pages/claims_page.py            write the page
    python scripts/pages/claims_page.py --check    exit 1 if it is out of date

Reads harness/analysis/claims.yaml and the runs committed in reports/h200/.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import load
from harness.analysis import claims
from harness.analysis.claims import Checked, Claim, Figure
from harness.analysis.readings import Readings
from harness.report import format as fmt
from harness.report.pages.claims import value_of, wanted

ROOT = Path(__file__).resolve().parents[2]
PAGE, RUNS = ROOT / "docs" / "generated" / "claims.md", ROOT / "reports" / "h200"
HEAD = """\
# What others claim

<!-- written by scripts/pages/claims_page.py; do not edit: make claims-page -->

Claims that tutorials make about such kernels, each tested in the committed runs on H200s. A claim
holds if the whole confidence interval supports it, and does not hold if the whole interval
contradicts it. The claims were made on other GPUs, mostly of unknown type: a claim that does not
hold here may have held there. A share of the peak refers to the read ceiling of the same run, which
is the milder measure. `harness/analysis/claims.yaml` gives the source of each claim; the pages of a
new run test the claims again.
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    text = page(claims.read(), RUNS)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is out of date: make claims-page", file=sys.stderr)
        return 1
    return 0


def page(found: Sequence[Claim], runs: Path) -> str:
    results = [each for own in by_problem(found) for each in checked(own, runs)]
    untested = [each for each in results if each.result == "cannot be tested"]
    decided = [each for each in results if each not in untested]
    return "\n".join([HEAD, *table(decided), "", *waiting(found, untested)]) + "\n"


def by_problem(found: Sequence[Claim]) -> list[list[Claim]]:
    """The claims that have tests, grouped by problem."""
    own: dict[str, list[Claim]] = {}
    for claim in found:
        if claim.tests:
            own.setdefault(claim.tests[0].problem, []).append(claim)
    return list(own.values())


def checked(own: Sequence[Claim], runs: Path) -> list[Checked]:
    """The claims about one problem, checked in its committed run; without a run, no claim can be
    tested."""
    folder = runs / own[0].tests[0].problem
    if not folder.is_dir():
        return [Checked(claim, "cannot be tested", ()) for claim in own]
    return claims.check(Readings(load(folder)), own)


def table(decided: Sequence[Checked]) -> Iterator[str]:
    yield "| claim | tested | here | verdict |"
    yield "|---|---|---|---|"
    for each in decided:
        yield _row(each)


def _row(found: Checked) -> str:
    claim, figures = found.claim, found.figures
    text = f"{claim.text} {claim.note}".strip()
    tested = "<br>".join(
        f"`{each.test.problem}`: {wanted(each.test, in_full=True)}" for each in figures
    )
    here = "<br>".join(map(_here, figures))
    verdict = found.result + (f": {found.reason}" if found.reason else "")
    return f"| {' | '.join((text, tested, here, verdict))} |"


def _here(figure: Figure) -> str:
    if figure.value is None:
        return "–"
    return f"{value_of(figure.test, figure.value)} at {fmt.assignments(figure.sizes)}"


def waiting(found: Sequence[Claim], untested: Sequence[Checked]) -> Iterator[str]:
    """List the claims that no committed run decides yet, each with the missing kernel or run."""
    if untested:
        yield "The kernels for these claims exist, but no committed run tests them yet:"
        yield ""
        for each in untested:
            tests = "; ".join(f"`{t.problem}`: {wanted(t, in_full=True)}" for t in each.claim.tests)
            yield f"- {f'{each.claim.text} {each.claim.note}'.strip()} To be tested: {tests}."
    without = [claim for claim in found if claim.waits_for]
    if without:
        yield "No kernel here can decide these yet:"
        yield ""
        for claim in without:
            yield f"- {claim.text} It needs {claim.waits_for}."


if __name__ == "__main__":
    sys.exit(main())
