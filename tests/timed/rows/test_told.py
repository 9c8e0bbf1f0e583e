"""Values that kernels measure themselves, on the simulated device."""

from __future__ import annotations

from station import Station

from harness.analysis.ladder import ladders
from harness.journal.records import Remark
from harness.report.tables.ladder import remarks_on
from harness.tables import Run


def test_an_output_listed_as_a_reading_is_told_of_the_timed_draw_with_its_unit(
    station: Station,
) -> None:
    path = station.folder / "kernels" / "double" / "problem.py"
    title = '    title = "output[i] = 2 input[i]"\n'
    path.write_text(
        path.read_text()
        .replace(title, f'{title}    readings = {{"output": "cycles per load"}}\n')
        .replace('rng.random(sizes["n"], dtype=dtype) + 1', 'rng.random(sizes["n"], dtype) + draw')
    )
    run = station.run("honest1")
    [told] = [each for outputs in run.told.values() for each in outputs.values()]
    assert (told.output, told.unit) == ("output", "cycles per load")
    assert 0 <= told.low == told.value == told.high < 2  # twice a number of draw 0, below 1
    [ladder] = ladders(run)
    assert remarks_on(run, ladder.rungs[0])[0].endswith(" cycles per load")


def test_a_problem_without_readings_tells_none(station: Station) -> None:
    assert station.run("honest1").told == {}


def test_what_a_library_runs_at_one_size_stands_beside_that_size_alone(station: Station) -> None:
    run = station.run("honest1", sizes="[1024, 512]")
    noted = [
        Remark("double", "honest1", "float32", f"at n = {n} runs kernel_{n}", "measured")
        for n in (1024, 512)
    ]
    run = Run(run.folder, run.info, [*run.records, *noted])
    told = [remarks_on(run, ladder.rungs[0]) for ladder in ladders(run)]
    assert told == [["runs kernel_1024"], ["runs kernel_512"]]
