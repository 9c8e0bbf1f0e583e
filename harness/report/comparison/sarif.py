"""A comparison as SARIF 2.1.0: each gate failure is a result at its source line.

GitHub's code scanning, editors and other systems read this format. A result needs a location: if
its reason names no line, the location is the variant's source or, failing that, the matrix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
from harness.analysis.budgets import broken, checks
from harness.comparison.judgement import Judgement
from harness.console.escaping import data
from harness.files import in_repository
from harness.files.in_repository import Line
from harness.report.comparison import words

_SCHEMA = ("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
           "sarif-schema-2.1.0.json")  # fmt: skip
_BUDGET = "broken budget"
_UNTOLD = "cannot tell"
_MEANINGS: Mapping[str, str] = {
    "newly faulty": words.MEANINGS["newly faulty"],
    "slower": words.MEANINGS["slower"],
    "worse": words.MEANINGS["worse"],
    _BUDGET: "a figure is beyond what `expect:` of bench.yaml allows",
    _UNTOLD: "something changed, and was not compared or not counted exactly",
}
"""Rule → the meaning of its results: the kinds of change that close a gate."""


def text(judgement: Judgement, kernels: Path) -> str:
    """The SARIF log. `kernels`: the folder of problems, in which named files are looked up."""
    results = [
        _result(
            reason.kind,
            f"{words.and_more(reason.cases)}: {reason.text}",
            in_repository.line_named(reason.text, kernels) or _home(reason.cases[0], kernels),
        )
        for reason in words.reasons(judgement)
    ]
    if judgement.in_rounds:  # `beside --gate` checks budgets as well
        results += [
            _result(_BUDGET, f"{words.and_more(cases)}: {said}",
                    in_repository.line_named(said, kernels) or _home(cases[0], kernels))
            for cases, said in broken(checks(judgement.new))
        ]  # fmt: skip
    return _log([*results, *_cannot_tell(judgement.untold, kernels)])


def of_nothing(untold: Sequence[str], kernels: Path) -> str:
    """The log of a comparison in which no differing variant remains; it closes older alerts."""
    return _log(_cannot_tell(untold, kernels))


def _cannot_tell(untold: Iterable[str], kernels: Path) -> list[dict[str, Any]]:
    return [
        _result(_UNTOLD, text, in_repository.line_named(text, kernels) or _home("", kernels))
        for text in untold
    ]


def _home(case: str, kernels: Path) -> Line:
    """The nearest available location of a case: its source, its problem's matrix, the matrix."""
    problem, _, rest = case.partition("/")
    variant = rest.partition("/")[0]
    for name in (f"{problem}/{variant}.cu", f"{problem}/bench.yaml") if case else ():
        if (kernels / name).is_file() and (file := in_repository.path(name, kernels)):
            return Line(file, 1)
    return Line(in_repository.path(str(kernels.parent / "bench.yaml"), kernels) or "bench.yaml", 1)


def _result(kind: str, said: str, at: Line) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": at.file, "uriBaseId": "%SRCROOT%"},
             "region": {"startLine": at.line}}  # fmt: skip
    return {
        "ruleId": _id(kind),
        "level": "warning" if kind == _UNTOLD else "error",
        "message": {"text": said},
        "locations": [{"physicalLocation": place}],
    }


def _log(results: Sequence[Mapping[str, Any]]) -> str:
    rules = [{"id": _id(kind), "shortDescription": {"text": meaning}}
             for kind, meaning in _MEANINGS.items()]  # fmt: skip
    tool = {"name": "kernel-harness", "version": harness.__version__, "rules": rules}
    run = {"tool": {"driver": tool}, "results": results}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(data(log), indent=1, ensure_ascii=False) + "\n"


def _id(kind: str) -> str:
    return kind.replace(" ", "-")
