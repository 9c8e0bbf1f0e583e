"""A notebook shows a timed run's ladder and roofline as pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness import tables
from harness.report import notebook
from harness.report.figures import drawn
from harness.report.figures.style import NOTHING, Figure

RUN = Path(__file__).parents[2] / "reports" / "h200" / "transpose"


def test_of_a_timed_run_it_is_the_ladder_and_the_roofline_of_the_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render(folder: Path, anchor: str, title: str, *rest: Any, **more: Any) -> Figure:
        (tmp_path / anchor).write_bytes(b"a picture")
        return Figure(anchor, title, "its <caption>", NOTHING, NOTHING, anchor, (), ())

    monkeypatch.setattr(drawn, "render", render)  # whose images have their own tests
    run = tables.load(RUN)
    monkeypatch.setattr(run, "folder", tmp_path)
    html = notebook.figures(run)
    titles = re.findall(r"<img alt='(.*?)'", html)
    assert [title.split()[0] for title in titles] == ["Bandwidth", "Roofline"]
    assert html.count("base64,YSBwaWN0dXJl'") == 2
    assert "its &lt;caption&gt;" in html
