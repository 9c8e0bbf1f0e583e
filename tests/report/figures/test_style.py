"""Figures look the same, whatever the settings of the machine that draws them."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure as Canvas

from harness.report.figures import style


@pytest.mark.fault(
    "a `matplotlibrc` in the current folder, which could start LaTeX with its own preamble",
    outcome="It has no effect on figures.",
)
def test_settings_of_the_current_folder_have_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "text.usetex", True)
    monkeypatch.setitem(matplotlib.rcParams, "lines.linewidth", 77.0)
    seen = []

    def draw(layout: style.Layout) -> Canvas:
        seen.append((matplotlib.rcParams["text.usetex"], matplotlib.rcParams["lines.linewidth"]))
        return style.canvas(layout, 2.0, 0.5, 0.5, 0.5, 0.5)[0]

    subject = style.Subject("copy", "a card")
    style.render(tmp_path, "drawn", "A title", subject, "A caption", draw)
    assert seen == [(False, 1.5), (False, 1.5)]
    assert matplotlib.rcParams["text.usetex"] is True
