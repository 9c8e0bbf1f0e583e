"""The emulator's findings on each cheat, and on honest kernels that look like one."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from endings import MATRIX, load

from harness.cases import Case
from harness.compiler.compile import Built
from harness.machine.devices import emulated
from harness.matrix import model, plan
from harness.problem import Problem, loading
from harness.run.compilation import built_again
from harness.worker import cheat_check, traffic
from harness.worker.cheat_check import Scrutiny, scrutinise

ROOT = Path(__file__).parents[2]
ENDINGS = load()
REFUSED = [name for name, ending in ENDINGS.items() if ending.refused]
SEED = 1

Look = Callable[[str], Scrutiny]


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Case]]:
    """The test cases of every variant."""
    bench = model.load(MATRIX)
    found = plan.resolve(bench, emulated(None), "emulator").tests
    return {
        name: list(group) for name, group in groupby(found, lambda c: f"{c.problem}/{c.variant}")
    }


@pytest.fixture(scope="module")
def built(
    cases: Mapping[str, list[Case]], made_once: Callable[..., dict[str, Built]]
) -> dict[str, Built]:
    every = [case for group in cases.values() for case in group]
    return made_once("cheats", lambda: built_again(every, MATRIX.parent / "kernels", "sm_90"))


@pytest.fixture(scope="module")
def look(
    cases: Mapping[str, list[Case]], built: Mapping[str, Built], made_once: Callable[..., Scrutiny]
) -> Look:
    """The findings on a variant, which is checked only once."""

    def looked(name: str) -> Scrutiny:
        problem = loading.load(MATRIX.parent / "kernels" / name.partition("/")[0])
        return scrutinise(problem, cases[name], built, SEED, "sm_90", seconds=60)

    return lambda name: made_once(f"scrutiny of {name}", lambda: looked(name))


def test_every_variant_has_an_ending(cases: Mapping[str, list[Case]]) -> None:
    assert set(cases) == set(ENDINGS)


@pytest.mark.parametrize("name", REFUSED)
def test_a_cheat_that_the_emulator_sees_is_refused_by_name(look: Look, name: str) -> None:
    assert look(name).failures
    for failure in look(name).failures:
        assert ENDINGS[name].refused in failure.reason


@pytest.mark.parametrize("name", [name for name in ENDINGS if name not in REFUSED])
def test_a_kernel_that_does_all_of_its_work_at_every_test_size_is_not_refused(
    look: Look, cases: Mapping[str, list[Case]], name: str
) -> None:
    assert not look(name).failures
    assert not look(name).unseen
    assert set(look(name).seen) == {case.id for case in cases[name]}


@pytest.mark.parametrize("name", [name for name in ENDINGS if name not in REFUSED])
def test_what_a_reader_should_know_is_told_and_nothing_else(look: Look, name: str) -> None:
    texts = [remark.text for remark in look(name).remarks]
    for words in ENDINGS[name].told:
        assert any(words in text for text in texts), texts
    assert [t for t in texts if not any(words in t for words in ENDINGS[name].told)] == []


@pytest.mark.parametrize("name", [n for n in REFUSED if ENDINGS[n].told])
def test_a_cheat_that_is_refused_is_told_of_as_well(look: Look, name: str) -> None:
    texts = [remark.text for remark in look(name).remarks]
    for words in ENDINGS[name].told:
        assert any(words in text for text in texts), texts


@pytest.mark.parametrize(
    "name",
    [
        "sum/replays", "sum/by_first_element", "sum/by_address", "sum/left_in_shared",
        "twice/stale_output", "twice/notices_guards", "twice/writes_past",
    ],
)  # fmt: skip
def test_a_reason_names_the_line(look: Look, name: str) -> None:
    for failure in look(name).failures:
        assert f"tests/cheats/kernels/{name}.cu:" in failure.reason


def test_a_remark_belongs_to_its_variant_and_says_how_far_to_trust_it(look: Look) -> None:
    (remark,) = look("twice/honest_timer").remarks
    assert (remark.problem, remark.variant, remark.dtype) == ("twice", "honest_timer", "float32")
    assert remark.provenance == "ptx-level"  # found by reading the PTX
    (remark,) = look("sum/honest_running_ticket").remarks
    assert remark.provenance == "emulator-exact"  # observed in execution


def test_a_table_of_answers_is_seen_where_the_seed_is_the_one_it_was_made_for(
    cases: Mapping[str, list[Case]],
) -> None:
    problem = loading.load(MATRIX.parent / "kernels" / "sum")
    case = next(c for c in cases["sum/known_seed"] if c.sizes == {"n": 1021})
    rng = np.random.default_rng([SEED, zlib.crc32(case.group.encode()), 0])
    x = problem.inputs(case.sizes, case.dtype, rng, 0)["x"]
    key, answer = (int(np.float32(value).view(np.uint32)) for value in (x[0], x.sum()))
    case = replace(case, defines={"KEY": key, "ANSWER": answer})
    built = built_again([case], MATRIX.parent / "kernels", "sm_90")
    (failure,) = scrutinise(problem, [case], built, SEED, "sm_90").failures
    assert "reads only 4 of 4,084 bytes of `x`" in failure.reason
    assert "is wrong" not in failure.reason  # the answer is correct
    assert "partly_read" in failure.reason  # the remedy if that is intended
    assert not scrutinise(problem, [case], built, SEED + 1, "sm_90").failures


# --- other influences on the findings --------------------------------------------------------


@pytest.fixture
def one(
    folder: Path, cache: Path, double: Callable[..., Case]
) -> Callable[[str], tuple[Problem, Case, dict[str, Built]]]:
    """The tiny problem's case with another kernel, compiled."""

    def make(kernel: str) -> tuple[Problem, Case, dict[str, Built]]:
        (folder / "kernels" / "double" / "v0.cu").write_text(kernel)
        case = double()
        return (
            loading.load(folder / "kernels" / "double"),
            case,
            built_again([case], folder / "kernels", "sm_90"),
        )

    return make


One = Callable[[str], tuple[Problem, Case, dict[str, Built]]]
TWICE = 'extern "C" __global__ void twice(const float* input, float* output, int n) {\n'


def test_state_that_is_initialised_in_the_same_launch_is_nobodys_concern(one: One) -> None:
    problem, case, built = one(
        "__device__ float room[1024];\n__device__ const float factor[2] = {1, 2};\n" + TWICE + """
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        room[i] = input[i] * factor[input[i] > 0];
        __threadfence();
        output[i] = ((volatile float*)room)[i];
        }"""
    )  # fmt: skip
    found = scrutinise(problem, [case], built, SEED, "sm_90")
    assert (found.failures, found.remarks) == ((), ())


def test_state_that_is_first_written_by_another_step_of_the_case_is_not_carried(one: One) -> None:
    problem, case, built = one(
        "__device__ float room[1024];\n"
        'extern "C" __global__ void first(const float* input, int n) {\n'
        "const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) room[i] = input[i]; }\n"
        'extern "C" __global__ void second(float* output, int n) {\n'
        "const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) output[i] = 2 * room[i]; }"
    )
    (step,) = case.steps
    steps = (
        replace(step, kernel="first", args=("input", 33)),
        replace(step, kernel="second", args=("output", 33)),
    )
    found = scrutinise(problem, [replace(case, steps=steps)], built, SEED, "sm_90")
    assert (found.failures, found.remarks) == ((), ())
    swapped = scrutinise(problem, [replace(case, steps=steps[::-1])], built, SEED, "sm_90")
    assert swapped.failures  # the opposite order is a failure


def test_what_the_emulator_cannot_execute_is_told_with_the_reason(one: One) -> None:
    problem, case, built = one(
        TWICE + """
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        asm volatile("brkpt;");
        if (i < n) output[i] = 2 * input[i] + 0 * (clock64() & 1);
        }"""
    )  # fmt: skip
    found = scrutinise(problem, [case], built, SEED, "sm_90")
    assert not found.failures
    assert not found.seen
    assert "brkpt" in found.unseen
    texts = [remark.text for remark in found.remarks]
    assert any("the emulator looked no further" in text for text in texts)
    assert any("reads a clock" in text for text in texts)


def test_a_race_is_told_of_and_refuses_nothing(one: One) -> None:
    problem, case, built = one(
        TWICE + """
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) output[i] = 2 * input[i];
        if (i == 0) output[32] = 0;
        }"""
    )  # fmt: skip
    found = scrutinise(problem, [case], built, SEED, "sm_90")
    assert not found.failures
    assert "v0.cu:5: race: " in found.unseen


def test_a_size_that_takes_too_long_is_not_looked_at(
    cases: Mapping[str, list[Case]], built: Mapping[str, Built]
) -> None:
    problem = loading.load(MATRIX.parent / "kernels" / "twice")
    own = cases["twice/honest"]
    found = scrutinise(problem, own, built, SEED, "sm_90", instructions=100_000)
    assert found.seen == tuple(case.id for case in own[:3])  # n = 1, 33, 1021
    assert "budget" in found.unseen
    assert (found.failures, found.remarks) == ((), ())
    found = scrutinise(problem, own[-1:], built, SEED, "sm_90", instructions=100_000)
    assert not found.seen
    (remark,) = found.remarks
    assert remark.text == f"the emulator looked no further: {found.unseen}"


def test_no_further_case_is_begun_when_the_time_is_up(
    cases: Mapping[str, list[Case]], built: Mapping[str, Built]
) -> None:
    problem = loading.load(MATRIX.parent / "kernels" / "sum")
    own = cases["sum/honest"]
    found = scrutinise(problem, own, built, SEED, "sm_90", seconds=0)
    assert found.seen == (own[0].id,)
    assert own[0].sizes == {"n": 1}  # the smallest first
    assert not found.unseen


def test_without_a_case_that_was_compiled_there_is_nothing_to_say(
    cases: Mapping[str, list[Case]],
) -> None:
    problem = loading.load(MATRIX.parent / "kernels" / "sum")
    assert scrutinise(problem, cases["sum/honest"], {}, SEED, "sm_90") == Scrutiny()


def test_the_page_has_the_table_of_these_endings() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "scripts" / "pages" / "cheats_table.py", "--check"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(("variant", "runs"), [("honest", 2), ("honest_running_ticket", 4)])
def test_only_a_variant_that_leaves_something_behind_is_executed_again(
    cases: Mapping[str, list[Case]], built: Mapping[str, Built], monkeypatch: pytest.MonkeyPatch,
    variant: str, runs: int,
) -> None:  # fmt: skip
    problem = loading.load(MATRIX.parent / "kernels" / "sum")
    executed = []
    monkeypatch.setattr(
        cheat_check, "execute", lambda *given: executed.append(given) or traffic.execute(*given)
    )
    scrutinise(problem, cases[f"sum/{variant}"][:1], built, SEED, "sm_90")
    assert len(executed) == runs
