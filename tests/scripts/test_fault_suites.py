"""Litmus tests as kernels: whether they race according to the manual, and the judge's findings.

The tests are written here, in Dat3M's format.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import emulator

SCRIPTS = Path(__file__).parents[2] / "scripts" / "others_kernels"

MESSAGE = """PTX message
{{
x=0; y=0;
P1:r0=0; P1:r1=0;
}}
 P0@cta 0,gpu 0      | P1@cta {cta},gpu 0 ;
 st.weak x, 1        | LC00:              ;
 {store} y, 1        | {load} r0, y       ;
                     | bne r0, 1, {to}    ;
                     | ld.weak r1, x      ;
                     | LC01:              ;
exists (P1:r0 == 1)
"""
RELEASE, ACQUIRE = "st.release.gpu", "ld.acquire.gpu"

BARRIER = """PTX barrier
{
x=0;
}
 P0@cta 0,gpu 0   | P1@cta 0,gpu 0   ;
 st.weak x, 1     | bar.cta.sync 0   ;
 bar.cta.sync 0   | ld.weak r0, x    ;
exists (P1:r0 == 1)
"""

AFTER_ALL = MESSAGE.replace("bne r0, 1, {to}    ;", "ld.weak r2, x      ;")
"""The thread reads the data whether or not the flag was set."""

CASES = {
    "waits": (MESSAGE.format(cta=1, store=RELEASE, load=ACQUIRE, to="LC00"), "never"),
    "looks once": (MESSAGE.format(cta=1, store=RELEASE, load=ACQUIRE, to="LC01"), "never"),
    "looks away": (AFTER_ALL.format(cta=1, store=RELEASE, load=ACQUIRE), "sometimes"),
    "relaxed": (AFTER_ALL.format(cta=1, store="st.relaxed.gpu", load=ACQUIRE), "always"),
    "of the block": (AFTER_ALL.format(cta=1, store="st.release.cta", load=ACQUIRE), "always"),
    "in the block": (
        MESSAGE.format(cta=0, store="st.release.cta", load="ld.acquire.cta", to="LC00"), "never"
    ),
    "barrier": (BARRIER, "never"),
    "no barrier": (BARRIER.replace("bar.cta.sync 0", "              "), "always"),
}  # fmt: skip


@pytest.fixture(scope="module")
def suites() -> Iterator[SimpleNamespace]:
    names = ("litmus", "litmus_races", "indigo3")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield SimpleNamespace(
            **{name: importlib.import_module(f"fault_suites.{name}") for name in names}
        )
        for name in [each for each in sys.modules if each.startswith("fault_suites")]:
            sys.modules.pop(name)


@pytest.mark.parametrize(("text", "racy"), CASES.values(), ids=CASES)
def test_a_litmus_test_races_in_all_executions_in_some_or_in_none(
    suites: SimpleNamespace, text: str, racy: str
) -> None:
    assert suites.litmus_races.answer(suites.litmus.parse("own", text)) == racy


@pytest.mark.parametrize(("text", "racy"), CASES.values(), ids=CASES)
def test_the_judge_accuses_those_that_race(suites: SimpleNamespace, text: str, racy: str) -> None:
    kernel = suites.litmus._kernel(suites.litmus.parse("own", text), racy != "never")
    module = emulator.parse(kernel.source)
    report = emulator.launch(module, "test", kernel.grid, kernel.block, kernel.arguments())
    assert [fault.kind for fault in report.faults] == ["race"] * (racy != "never")


@pytest.mark.parametrize("change", [("gpu 0 ;", "gpu 1 ;"), ("y, 1", "y, 2")])
def test_one_of_two_cards_or_one_that_waits_for_ever_is_no_launch(
    suites: SimpleNamespace, change: tuple[str, str]
) -> None:
    text = MESSAGE.format(cta=1, store=RELEASE, load=ACQUIRE, to="LC00").replace(*change)
    with pytest.raises(suites.litmus.NotALaunch):
        suites.litmus_races.answer(suites.litmus.parse("own", text))


def test_the_row_of_indigo3_is_that_of_the_kept_verdicts(suites: SimpleNamespace) -> None:
    of, kept = suites.indigo3, suites.indigo3.rows().values()
    assert Counter(row["bug"] for row in kept) == {
        "": of.CLEAN, **dict.fromkeys(of.BUGS, of.FAULTY_OF_EACH)
    }  # fmt: skip
    counted = [row for row in kept if of.is_counted(row["program"], row["bug"])]
    cells = []
    for end in ("ptx", "code"):
        told = [(of.faults(row["program"], row["bug"]), of.kinds(row[end])) for row in counted]
        found = [bool(kinds & faults) for faults, kinds in told if faults]
        accused = [bool(kinds) for faults, kinds in told if not faults]
        cells += [f"{sum(each)} of {len(each)}" for each in (found, accused)]
    page = (SCRIPTS.parents[1] / "docs" / "fidelity.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| programs of Indigo3 |"))
    assert row.endswith(f" | {' | '.join(cells)} |")
