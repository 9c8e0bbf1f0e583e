"""A worker's actions in this process: verifying, counting, and its lines to the parent."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.backends.emulated import EmulatorBackend
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.compiler.compile import Built
from harness.emulator.engine.compiled_library import COMPILING_S
from harness.job import DEVICE, JOB, Job
from harness.journal.counter_records import Counted
from harness.journal.records import Record, Remark, Verified, from_json, to_json
from harness.worker import __main__ as worker
from harness.worker.inputs import by_group, generator
from harness.worker.pipe import Pipe
from harness.worker.qualify import qualify


@pytest.fixture
def piped() -> tuple[Pipe, Callable[[], list[str]]]:
    """The writing end of a pipe, and a function that reads the output at the other end once."""
    reading, writing = os.pipe()
    pipe = Pipe(os.dup(writing))

    def lines() -> list[str]:
        os.close(writing)
        pipe._file.close()
        with os.fdopen(reading, encoding="utf-8") as file:
            return file.read().splitlines()

    return pipe, lines


@pytest.fixture
def built(folder: Path, cache: Path, double: Callable[..., Case]) -> Built:
    assert not cache.exists()
    return compiler.build(compiler.unit(double(), folder / "kernels", "sm_90"))


def job(folder: Path, built: Built, tests: list[Case], cases: list[Case]) -> Job:
    return Job(
        "qualify", "emulator", "sm_90", folder / "kernels", 7, tuple(tests), tuple(cases),
        {case.id: built for case in (*tests, *cases)},
    )  # fmt: skip


def run(
    folder: Path, built: Built, piped: tuple[Pipe, Callable[[], list[str]]],
    tests: list[Case], cases: list[Case],
) -> tuple[list[Record], list[str]]:  # fmt: skip
    pipe, lines = piped
    qualify(job(folder, built, tests, cases), EmulatorBackend("sm_90"), pipe)
    found = lines()
    records = [from_json(line[7:]) for line in found if line.startswith("record ")]
    return records, found


Piped = tuple[Pipe, Callable[[], list[str]]]


def test_a_right_variant_is_verified_on_both_draws_and_counted(
    folder: Path, built: Built, piped: Piped, double: Callable[..., Case]
) -> None:
    small = [double(n=1), double(n=33), double(n=33, block=128)]
    records, _ = run(folder, built, piped, small, [double(n=256)])
    verified = [r for r in records if isinstance(r, Verified)]
    assert [(v.sizes["n"], v.launch["block"], v.phase, v.draw) for v in verified] == [
        (1, 64, "test", 0), (1, 64, "test", 1),
        (33, 64, "test", 0), (33, 128, "test", 0), (33, 64, "test", 1), (33, 128, "test", 1),
        (256, 64, "before", 0),
    ]  # fmt: skip
    assert all(v.ok and v.reason == "" and v.error == 0 for v in verified)
    counts = [r for r in records if isinstance(r, Counted)]
    assert {(c.case, c.step, c.kernel) for c in counts} == {(double(n=256).id, 0, "twice")}


def test_compiling_the_emulator_takes_nothing_off_the_deadline_of_a_case(
    folder: Path, built: Built, piped: Piped, double: Callable[..., Case]
) -> None:
    small, large = double(n=1), double(n=256)
    _, lines = run(folder, built, piped, [small], [large])
    told = [line for line in lines if line.startswith("now ")]
    own = f"now  {COMPILING_S:.3f}"
    assert told[:3] == [own, "now ", f"now {small.id}"]  # the program that executes PTX
    assert told[-2:] == [own, f"now {large.id}"]  # and the one that executes machine code


def test_a_wrong_launch_shape_is_given_up_at_its_first_failure_and_the_others_go_on(
    folder: Path, cache: Path, piped: Piped, double: Callable[..., Case]
) -> None:
    source = folder / "kernels" / "double" / "v0.cu"
    text = source.read_text().replace("if (i < n)", "if (i < n - (blockDim.x == 64))")
    source.write_text(text)
    built = compiler.build(compiler.unit(double(), folder / "kernels", "sm_90"))
    assert built.ptx.is_relative_to(cache)
    tests = [double(n=33), double(n=33, block=128), double(n=64)]
    records, _ = run(folder, built, piped, tests, [double(n=256)])
    seen = [r for r in records if isinstance(r, Verified)]
    tested = [(r.sizes["n"], r.launch["block"], r.reason) for r in seen if r.phase == "test"]
    assert tested == [
        (33, 64, "`output[32]` was never written (1 of 33 elements)"),
        (33, 128, ""),
        (33, 128, ""),
    ]
    # A wrong result does not show its cause, so the emulator examines it, too.
    [scrutinised] = [r for r in seen if r.phase == "scrutiny"]
    assert scrutinised.launch == {"block": 64}
    assert scrutinised.reason.startswith("reads only 128 of 132 bytes of `input`")
    assert not any(isinstance(r, Counted) for r in records)


def test_a_launch_that_cannot_be_made_is_a_reason_and_not_an_end(
    folder: Path, built: Built, piped: Piped, double: Callable[..., Case]
) -> None:
    good = double(n=5)
    [step] = good.steps
    wrong = replace(double(n=5, block=32), steps=(replace(step, args=("input", "output")),))
    records, _ = run(folder, built, piped, [wrong, good], [])
    first, second = [r for r in records if isinstance(r, Verified)][:2]
    assert not first.ok
    assert "twice takes 3 arguments" in first.reason
    assert first.error is None
    assert second.ok


def test_an_access_out_of_bounds_is_a_fault(
    folder: Path, cache: Path, piped: Piped, double: Callable[..., Case]
) -> None:
    source = folder / "kernels" / "double" / "v0.cu"
    source.write_text(source.read_text().replace("if (i < n)", "if (i <= n)"))
    built = compiler.build(compiler.unit(double(), folder / "kernels", "sm_90"))
    assert cache.is_dir()
    records, _ = run(folder, built, piped, [double(n=33)], [])
    [found] = [r for r in records if isinstance(r, Verified)]
    assert not found.ok
    assert "v0.cu" in found.reason


def test_what_kernels_print_is_told_once_a_variant_and_in_few_lines(
    folder: Path, cache: Path, piped: Piped, double: Callable[..., Case]
) -> None:
    source = folder / "kernels" / "double" / "v0.cu"
    prints = 'if (i < n) printf("i is %d\\n", i);\n'
    text = source.read_text().replace("if (i < n)", f"{prints}if (i < n)")
    source.write_text("#include <cstdio>\n" + text)
    built = compiler.build(compiler.unit(double(), folder / "kernels", "sm_90"))
    assert cache.is_dir()
    records, _ = run(folder, built, piped, [double(n=6), double(n=33)], [])
    [remark] = [r for r in records if isinstance(r, Remark)]
    assert remark.text == "prints at n = 6: i is 0 | i is 1 | i is 2 | i is 3 | … 2 lines more"


def test_random_numbers_depend_on_the_seed_and_on_what_they_are_for() -> None:
    first = generator(1, "group", 0).random(4)
    assert np.array_equal(first, generator(1, "group", 0).random(4))
    for other in (generator(2, "group", 0), generator(1, "group", 1), generator(1, "other", 0)):
        assert not np.array_equal(first, other.random(4))


def test_cases_are_grouped_by_what_shares_inputs(double: Callable[..., Case]) -> None:
    cases = [double(n=2), double(n=1), double(n=2, block=128), double(n=1, block=32)]
    groups = list(by_group(cases))
    assert [[case.id for case in group] for group in groups] == [
        [cases[0].id, cases[2].id], [cases[1].id, cases[3].id]
    ]  # fmt: skip


def test_a_job_survives_its_way_to_the_worker(
    folder: Path, built: Built, double: Callable[..., Case]
) -> None:
    whole = job(folder, built, [double(n=1)], [replace(double(), defines={"A": 1})])
    assert JOB.validate_json(JOB.dump_json(whole)) == whole


def test_an_error_of_several_lines_is_one_line_of_the_pipe(piped: Piped) -> None:
    pipe, lines = piped
    pipe.error("first\n  second")
    pipe.record(Counted("c", 0, "k", "m", 1.0, "", "measured"))
    assert lines() == [
        "error first\\n  second",
        f"record {to_json(Counted('c', 0, 'k', 'm', 1.0, '', 'measured'))}",
    ]


def test_describing_tells_the_device(folder: Path) -> None:
    path = folder / "job.json"
    path.write_bytes(JOB.dump_json(Job("describe", "emulator", "sm_80", folder, 1)))
    reading, writing = os.pipe()
    assert worker.main(["worker", str(path), str(writing)]) == 0
    with os.fdopen(reading, "rb") as file:
        word, _, rest = os.read(file.fileno(), 1 << 16).decode().partition(" ")
    assert word == "device"
    assert DEVICE.validate_json(rest).arch == "sm_80"


def test_a_refusal_is_an_error_line_and_an_exit_code(
    folder: Path, double: Callable[..., Case]
) -> None:
    (folder / "kernels" / "double" / "problem.py").write_text("1 // 0\n")
    path = folder / "job.json"
    job = Job("qualify", "emulator", "sm_90", folder / "kernels", 1, (double(),))
    path.write_bytes(JOB.dump_json(job))
    reading, writing = os.pipe()
    assert worker.main(["worker", str(path), str(writing)]) == 1
    with os.fdopen(reading, "rb") as file:
        said = os.read(file.fileno(), 1 << 16).decode()
    *_, error = said.splitlines()
    assert error.startswith("error ")
    assert "problem.py:1: ZeroDivisionError" in error
