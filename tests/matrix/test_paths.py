"""No path in a matrix, and no link, leads out of the folders from which it is read."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from refusals import V0, Edited, line_of, refusal

from harness.errors import ConfigError
from harness.matrix import model


def test_a_source_that_is_a_link_out_of_the_folder_is_refused(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: out.cu")
    (path.parent / "elsewhere.cu").write_text("")
    (path.parent / "kernels" / "double" / "out.cu").symlink_to(path.parent / "elsewhere.cu")
    message = refusal(path)
    assert message.startswith(f"{path}:{line_of(path, '        source')}: {V0}.source: ")
    assert "leads out of" in message


PATHS = ["../../etc/passwd", "/etc/passwd", "below/../../other.cu", "../v0", "/", "C:\\\\v0.cu"]


@pytest.mark.fault(
    "a path such as ../../etc/passwd, /etc/passwd, or a link out of the kernels' folder",
    outcome="refused with the file, the line and the key, before anything is read or compiled",
)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('source: "{}"', "source"), ('source: "{}.cu"', "source"),
        ('source: v0.cu\n        sources: ["{}.cu"]', "sources.0"),
        ('source: v0.cu\n        include: ["{}"]', "include.0"),
    ],
)  # fmt: skip
def test_a_path_out_of_the_problems_folder_is_refused(
    edited: Edited, text: str, key: str, path: str
) -> None:
    matrix = edited("source: v0.cu", text.format(path))
    message = refusal(matrix)
    line = line_of(matrix, f"        {key.partition('.')[0]}:")
    assert message.startswith(f"{matrix}:{line}: {V0}.{key}: ")
    assert "a path lies in its problem's folder: no absolute path, no .." in message


@pytest.mark.fault(
    "a problem's folder, problem.py or bench.yaml that is a link out of the kernels' folder",
    outcome="refused with the place, before any of it is read",
)
@pytest.mark.parametrize("linked", [".", "problem.py", "bench.yaml", "include"])
def test_a_link_out_of_the_kernels_folder_is_refused(folder: Path, linked: str) -> None:
    double, other = folder / "kernels" / "double", folder / "other"
    body = (folder / "bench.yaml").read_text().split("  double:\n")[1].split("timing:")[0]
    (double / "bench.yaml").write_text(textwrap.dedent(body))
    if linked == ".":
        double.rename(other)
        double.symlink_to(other)
    elif linked == "include":
        other.mkdir()
        (double / "headers").symlink_to(other)
        own = double / "bench.yaml"
        own.write_text(own.read_text().replace("source:", "include: [headers]\n    source:"))
    else:
        other.mkdir()
        (double / linked).rename(other / linked)
        (double / linked).symlink_to(other / linked)
    with pytest.raises(ConfigError) as caught:
        model.load(None, folder / "kernels")
    words = "there is no folder" if linked == "include" else "leads out of"
    assert words in str(caught.value)
    assert str(double) in str(caught.value)


def test_a_link_that_leads_in_a_circle_is_refused(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: loop.cu")
    (path.parent / "kernels" / "double" / "loop.cu").symlink_to("loop.cu")
    assert f"{V0}.source: " in refusal(path)


def test_a_source_in_a_folder_below_is_accepted(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: below/v0.cu")
    below = path.parent / "kernels" / "double" / "below"
    below.mkdir()
    (below / "v0.cu").write_text("")
    assert model.load(path).problems["double"].variants["v0"].source == "below/v0.cu"


def test_a_source_that_is_a_folder_is_refused(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: dir.cu")
    (path.parent / "kernels" / "double" / "dir.cu").mkdir()
    assert f"{V0}.source" in refusal(path)
