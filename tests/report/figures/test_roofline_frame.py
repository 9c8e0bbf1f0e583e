from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_runs import SIZES, Bench

from harness.analysis.ladder import ladders
from harness.analysis.roofline import roofline
from harness.report.figures.roofline import frame_of
from harness.report.pages.problem import Maker


@pytest.mark.parametrize("with_rates", [True, False])
def test_the_roof_above_every_point_is_within_the_frame(
    bench: Callable[..., Bench], tmp_path: Path, with_rates: bool
) -> None:
    run = bench(gbps={"v0": 3.0, "v1": 5.0}, rounds=8, sizes=SIZES[:1]).timed(tmp_path)
    maker = Maker.of(run, ladders(run))
    [planned, *_] = maker.run.timings.shown(next(iter(run.timings.groups)))

    chart = roofline(maker.readings, "title", "key", [planned], {planned.case: "v0"})
    if not with_rates:  # as for integers, whose arithmetic has no ceiling
        chart = replace(chart, roofs=[roof for roof in chart.roofs if roof.level])
    frame = frame_of(chart)
    memory = [roof.value.value for roof in chart.roofs if roof.level]
    assert memory
    for kernel in chart.kernels:
        for spot in kernel.spots:
            assert frame.bottom < kernel.rate.value < frame.top
            assert frame.left < spot.intensity < frame.right
            assert min(memory) * spot.intensity < frame.top
