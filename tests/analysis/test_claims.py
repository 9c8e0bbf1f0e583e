"""claims.yaml is read strictly, and a claim holds only if its whole interval satisfies it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Variant, run_of

from harness.analysis import claims
from harness.analysis.claims import Claim, Relation, Test, check, decide
from harness.analysis.readings import Readings
from harness.errors import ConfigError
from harness.journal.records import Told
from harness.statistics.intervals import Interval
from harness.tables import Run

SPEEDUP = {"measure": "speedup", "problem": "reduce_sum", "variant": "v1", "against": "v0"}


def claim(*tests: dict[str, object]) -> Claim:
    return Claim.model_validate(
        {"id": "x", "text": "t", "source": "s", "gpu": "g", "tests": list(tests)}
    )


def result(run: Run, *tests: dict[str, object]) -> tuple[str, str]:
    checked = check(Readings(run), [claim(*tests)])[0]
    return checked.result, checked.reason


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    return path


HEAD = "claims:\n  - id: a\n    text: b\n    source: c\n    gpu: d\n"


@pytest.mark.parametrize(
    ("relation", "value", "tolerance", "interval", "expected"),
    [
        ("about", 2.0, 0.1, (1.81, 2.19), True),
        ("about", 2.0, 0.1, (1.79, 1.9), None),
        ("about", 2.0, 0.1, (1.5, 1.79), False),
        ("at least", 1.0, 0.0, (1.0, 1.2), True),
        ("above", 1.0, 0.0, (1.0, 1.2), None),
        ("above", 1.0, 0.0, (0.9, 1.0), False),
        ("below", 1.0, 0.0, (0.8, 0.99), True),
        ("at most", 1.0, 0.0, (1.01, 1.2), False),
    ],
)
def test_a_test_is_decided_by_its_whole_interval(
    relation: Relation,
    value: float,
    tolerance: float,
    interval: tuple[float, float],
    expected: bool | None,
) -> None:
    test = Test.model_validate(
        {**SPEEDUP, "relation": relation, "value": value, "tolerance": tolerance}
    )
    assert decide(test, Interval(sum(interval) / 2, *interval)) is expected


def test_a_claim_holds_where_every_test_does() -> None:
    run = run_of({"v0": Variant(times={256: 2e6}), "v1": Variant(times={256: 1e6})})
    faster = {**SPEEDUP, "relation": "about", "value": 2, "tolerance": 0.1}
    assert result(run, faster) == ("holds", "")
    assert result(run, faster, {**SPEEDUP, "relation": "below", "value": 1})[0] == "does not hold"


def test_what_is_not_in_the_run_cannot_be_tested_and_says_what_is_missing() -> None:
    run = run_of({"v0": Variant()})
    speed = {**SPEEDUP, "relation": "above", "value": 1}
    assert result(run, speed) == ("cannot be tested", "this run has no variant v1")
    other = {**speed, "problem": "softmax"}
    assert result(run, other) == ("cannot be tested", "this run has no problem softmax")
    untimed = run_of({"v0": Variant(times={256: None}), "v1": Variant(times={256: None})})
    assert result(untimed, speed) == ("cannot be tested", "nothing was timed in this run")


def test_a_counter_is_tested_without_times_and_says_why_where_it_is_missing() -> None:
    waves = {"memory_l1_wavefronts_shared": 10.0, "memory_l1_wavefronts_shared_ideal": 10.0}
    test = {"measure": "counter", "quantity": "wavefronts-over-ideal", "problem": "reduce_sum",
            "variant": "v0", "relation": "about", "value": 1, "tolerance": 0.01}  # fmt: skip
    counted = run_of(
        {"v0": Variant(times={256: None}, counters=[waves], provenance="emulator-exact")}
    )
    assert result(counted, test) == ("holds", "")
    refused = run_of({"v0": Variant(missing=dict.fromkeys(waves, "not permitted: ask"))})
    assert result(refused, test) == (
        "cannot be tested", "shared-memory wavefronts over ideal: not permitted: ask",
    )  # fmt: skip


def test_a_share_of_the_peak_is_of_the_read_ceiling() -> None:
    test = {"measure": "percent_of_peak", "problem": "reduce_sum", "variant": "v0",
            "relation": "about", "value": 50, "tolerance": 0.02}  # fmt: skip
    run = run_of({"v0": Variant(times={256: 2e3})}, ceilings={"read_bandwidth": 4e12})
    assert result(run, test) == ("holds", "")
    assert result(run_of({"v0": Variant()}), test)[1] == "the read bandwidth was not measured"


def test_two_launch_shapes_of_one_variant_are_compared() -> None:
    run = run_of({"v0": Variant(times={128: 2e6, 256: 1e6})})
    six = {**SPEEDUP, "variant": "v0", "launch": {"block": 256}, "against_launch": {"block": 128},
           "relation": "about", "value": 2, "tolerance": 0.1}  # fmt: skip
    assert result(run, six) == ("holds", "")
    assert result(run, {**six, "launch": {"block": 128}, "against_launch": {"block": 256}})[0] == (
        "does not hold"
    )


def test_a_rate_is_over_that_at_other_sizes() -> None:
    small, large = (
        run_of({"v0": Variant(times={256: ns}, flops=flops)}, n=n)
        for n, ns, flops in ((1000, 1e6, 10**6), (4000, 2e6, 8 * 10**6))
    )
    run = Run(Path("nowhere"), small.info, [*small.records, *large.records])
    test = {"measure": "rate", "problem": "reduce_sum", "variant": "v0", "sizes": {"n": 4000},
            "against_sizes": {"n": 1000}, "relation": "about", "value": 4,
            "tolerance": 0.1}  # fmt: skip
    assert result(run, test) == ("holds", "")
    assert result(run, {**test, "against_sizes": {"n": 7}}) == (
        "cannot be tested", "this run has no reduce_sum at the sizes to compare with",
    )  # fmt: skip


def test_what_a_kernel_measured_itself_is_tested_with_all_that_its_launches_told() -> None:
    run = run_of({"v0": Variant()})
    [case] = run.planned
    test = {"measure": "told", "problem": "reduce_sum", "variant": "v0", "output": "cycles",
            "relation": "about", "value": 200, "tolerance": 0.1}  # fmt: skip
    assert result(run, test) == ("cannot be tested", "this run does not tell its cycles")
    for (low, high), expected in (
        ((195.0, 205.0), "holds"), ((170.0, 205.0), "cannot be tested"),
        ((250.0, 260.0), "does not hold"),
    ):  # fmt: skip
        told = Told(case, "cycles", (low + high) / 2, low, high, "cycles per load")
        assert result(Run(run.folder, run.info, [*run.records, told]), test)[0] == expected


def test_the_committed_claims_are_read_and_every_one_has_tests() -> None:
    found = claims.read()
    assert [c.id for c in found if not c.tests] == []
    assert len(found) == 26


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "    tests: []\n    waits: for\n", "waits"),
        (HEAD, "tests"),
        (HEAD + "    waits_for: x\n" + (HEAD + "    waits_for: x\n")[8:], "twice"),
        (HEAD + "    tests:\n      - {measure: speedup, problem: p, variant: v, relation: above,"
         " value: 1}\n", "against"),
        (HEAD + "    tests:\n      - {measure: rate, problem: p, variant: v, relation: above,"
         " value: 1}\n", "against_sizes"),
        (HEAD + "    tests:\n      - {measure: told, problem: p, variant: v, relation: above,"
         " value: 1}\n", "output"),
        (HEAD + "    tests:\n      - {measure: counter, quantity: nonsense, problem: p, variant: v,"
         " relation: above, value: 1}\n", "nonsense"),
        (HEAD + "    tests:\n      - {measure: speedup, problem: p, variant: v, against: w,"
         " relation: above, value: 1, tolerance: 0.1}\n", "tolerance"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_file_the_line_and_the_matter(
    tmp_path: Path, text: str, words: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=words) as refused:
        claims.read(path)
    assert f"{path}:" in str(refused.value)
