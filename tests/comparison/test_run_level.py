"""A run's own effects neither make a kernel look slower nor hide a change."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from two_runs import Kernel, name_of, run

from harness.comparison import Judgement, judge
from harness.comparison.run_level import beside_others, qn
from harness.comparison.times import TimeChange

MANY = {f"v{i}": Kernel(1e5 - 1e3 * i, sass="1") for i in range(20)}
CHANGED = {name: replace(kernel, sass="2") for name, kernel in MANY.items()}


def longer(kernels: dict[str, Kernel], part: float) -> dict[str, Kernel]:
    return {name: replace(k, ns=(1 + part) * (k.ns or 0)) for name, k in kernels.items()}


def with_luck(kernels: dict[str, Kernel], seed: int, luck: float) -> dict[str, Kernel]:
    """Times of the kernels in one run, each with a random offset that belongs to the run."""
    rng = np.random.default_rng(seed)
    return {
        name: replace(k, ns=(k.ns or 0) * math.exp(luck * rng.standard_normal()))
        for name, k in kernels.items()
    }


def of(judgement: Judgement, variant: str) -> TimeChange:
    [change] = [c for c in judgement.changes if c.name == name_of(variant)]
    [time] = change.times
    return time


def verdicts(judgement: Judgement) -> set[str]:
    return {t.verdict for c in judgement.changes for t in c.times}


def test_a_run_that_is_slower_as_a_whole_blames_no_kernel_and_is_not_told() -> None:
    judgement = judge(run(MANY, 1), run(longer(CHANGED, 0.03), 2))
    assert not verdicts(judgement) & {"slower", "faster"}
    assert judgement.code == 3
    assert "3.0% longer" in judgement.untold[0]
    assert "unchanged code" in judgement.untold[0]


def test_unchanged_code_that_is_slower_too_shows_that_it_was_the_run() -> None:
    unchanged = {name: MANY[name] for name in ("v3", "v4")}
    judgement = judge(run(MANY, 1), run(longer(CHANGED | unchanged, 0.03), 2))
    assert judgement.code == 0


def test_unchanged_code_that_is_not_slower_shows_that_it_was_the_kernels() -> None:
    unchanged = {name: MANY[name] for name in ("v3", "v4", "v5")}
    judgement = judge(run(MANY, 1), run(longer(CHANGED, 0.03) | unchanged, 2))
    assert judgement.code == 1
    assert judgement.counts["slower"] == 17


def test_one_kernel_that_is_slower_is_found_in_a_run_that_is_slower_as_a_whole() -> None:
    new = longer(CHANGED, 0.03)
    new["v7"] = replace(new["v7"], ns=1.02 * (new["v7"].ns or 0))
    judgement = judge(run(MANY, 1, placements=24), run(new, 2, placements=24))
    time = of(judgement, "v7")
    assert time.verdict == "slower"
    assert time.ratio is not None
    assert time.ratio.low < 1.02 < time.ratio.high, "less what the run itself moved by"
    assert judgement.counts["slower"] == 1


def test_the_luck_that_each_kernel_has_in_a_run_is_no_change() -> None:
    """The offset is 0.4 % in either run, far more than the scatter of placements."""
    false = 0
    for seed in range(10):
        base = run(with_luck(MANY, 2 * seed, 0.004), 3 * seed, placements=24)
        new = run(with_luck(CHANGED, 2 * seed + 1, 0.004), 3 * seed + 1, placements=24)
        judgement = judge(base, new)
        [level] = judgement.looked.levels.values()
        assert level.luck is not None
        assert 0.002 < level.luck < 0.012
        false += bool(verdicts(judgement) & {"slower", "faster"})
    assert false <= 1


def test_a_gate_stays_shut_where_what_is_to_be_found_is_not_excluded() -> None:
    base, new = run(with_luck(MANY, 1, 0.01), 1), run(with_luck(CHANGED, 2, 0.01), 2)
    judgement = judge(base, new)
    assert judgement.code == 3
    assert "2.0% longer is not excluded" in judgement.untold[0]
    assert judge(base, new, min_effect=0.1).code == 0


def test_few_variants_are_compared_as_they_stand_and_must_exceed_what_is_to_be_found() -> None:
    few = {name: MANY[name] for name in ("v0", "v1", "v2")}
    changed = {name: CHANGED[name] for name in few}
    small = changed | {"v1": replace(changed["v1"], ns=1.012 * 99e3)}
    large = changed | {"v1": replace(changed["v1"], ns=1.04 * 99e3)}
    assert of(judge(run(few, 1, placements=24), run(small, 2, placements=24)), "v1").verdict in {
        "unclear", "same",
    }  # fmt: skip
    assert of(judge(run(few, 1), run(large, 2)), "v1").verdict == "slower"


def test_a_case_is_set_against_the_others_of_its_round() -> None:
    """A case's time deviates from its usual value by the effect of the round and by an effect of
    its own."""
    times = {
        "a": {(0, 0): 100.0, (0, 1): 110.0},
        "b": {(0, 0): 200.0, (0, 1): 220.0},
        "c": {(0, 0): 50.0, (0, 1): 55.0},
        "alone": {(1, 0): 7.0},
    }
    found = beside_others(times)
    a = found["a"]
    assert a[0, 0] == pytest.approx(a[0, 1]), "the round took 10 % longer, and the case with it"
    assert found["alone"] == {}


def test_qn_is_a_standard_deviation_that_outliers_do_not_move() -> None:
    rng = np.random.default_rng(1)
    found = [qn(list(rng.standard_normal(20))) for _ in range(400)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.05)
    assert qn([*rng.standard_normal(16), 50.0, 60.0, -70.0, 80.0]) < 2.5
