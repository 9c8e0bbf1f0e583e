"""The source on the page, with the costs of its lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import report
from harness.files import source_text
from harness.journal.counter_records import SourceLine
from harness.journal.records import Compiled, Outcome, Planned, Record
from harness.report import notebook
from harness.report.pages.source import listings
from harness.tables import Run

NAME = "reduce_sum/v2_no_divergence.cu"
FILE = Path(__file__).parents[3] / "kernels" / NAME
TEXT = FILE.read_text().splitlines()
ADDS = next(n for n, text in enumerate(TEXT, 1) if "s[left] +=" in text)
LOADS = next(n for n, text in enumerate(TEXT, 1) if "input[i]" in text)


def planned(n: int, block: int) -> Planned:
    case = f"reduce_sum/v2_no_divergence/float32/n={n}/block={block}"
    return Planned(
        case, "reduce_sum", "v2_no_divergence", "float32", {"n": n}, {"block": block},
        4 * n, n, False, False, ("block_sums", "sum_partials"),
    )  # fmt: skip


def run_of(*records: Record, sha: str | None = None) -> Run:
    sha = sha or source_text.sha256(FILE.read_bytes())
    info = {
        "backend": "emulator",
        "timing": {"confidence": 0.95, "same_within": 0.01},
        "sources": {NAME: sha},
    }
    return Run(FILE.parent, info, records)


def lines(p: Planned) -> list[SourceLine]:
    path = f"kernels/{NAME}"
    return [
        SourceLine(p.case, 0, path, LOADS, 8, 256, 8, 32, 8, 8),
        SourceLine(p.case, 0, path, ADDS, 10, 300, 0, 0, 33, 10),
        SourceLine(p.case, 1, "kernels/reduce_sum/sum_partials.cuh", 20, 1, 32, 0, 0, 0, 0),
    ]


def test_a_variant_is_shown_at_its_largest_counted_size_and_the_shape_it_is_shown_at() -> None:
    cases = [planned(n, block) for n in (64, 2**20) for block in (64, 128, 256)]
    records = [r for p in cases for r in (p, Outcome(p.case, "ok"), *lines(p))]
    run = run_of(*records)
    [found] = listings(run, "reduce_sum", "float32")
    assert found.title == f"{NAME}, block_sums at n = 2²⁰, block = 64"
    assert next(p for p in cases if p.sizes["n"] == 2**20).case in run.shown


def test_a_variants_own_file_stands_first_and_a_header_that_matters_after_it() -> None:
    p, header = planned(1024, 128), "reduce_sum/sum_partials.cuh"
    path = FILE.parents[1] / header
    sha = source_text.sha256(FILE.read_bytes())
    made = Compiled(p.case, 0, "block_sums", sha, "", 1, 0, 0, 0, 128, 1.0, "warps")
    own = SourceLine(p.case, 0, f"kernels/{NAME}", ADDS, 10, 300, 0, 0, 33, 10)
    far = SourceLine(p.case, 0, f"kernels/{header}", 20, 90, 32, 0, 0, 0, 0)
    run = run_of(p, made, own, far)
    sources = {NAME: sha, header: source_text.sha256(path.read_bytes())}
    info = {**run.info, "sources": sources}
    first, second = listings(Run(run.folder, info, run.records), "reduce_sum", "float32")
    assert first.title.startswith(NAME)
    assert second.title.startswith(f"v2_no_divergence: {header}")
    few = SourceLine(p.case, 0, f"kernels/{header}", 20, 1, 32, 0, 0, 0, 0)
    records = [p, made, own, few]
    assert len(listings(Run(run.folder, info, records), "reduce_sum", "float32")) == 1


def test_each_line_stands_beside_its_cost_and_the_worst_is_marked() -> None:
    p = planned(1024, 128)
    [found] = listings(run_of(p, *lines(p)), "reduce_sum", "float32")
    assert not found.missing
    assert found.marked == 1
    rows = {row.number: row for row in found.rows}
    assert min(rows) == LOADS
    assert max(rows) == ADDS
    assert rows[ADDS].text == TEXT[ADDS - 1]
    assert rows[ADDS].cells == ("10", "30.0", "", "33", "10")
    assert rows[ADDS].marks == "3.3× the ideal wavefronts"
    assert rows[LOADS].cells[2] == "4.0"
    assert rows[LOADS + 1].cells == ("",) * 5


def test_divergence_and_meeting_atomics_have_columns_where_a_line_has_them() -> None:
    p = planned(1024, 128)
    path = f"kernels/{NAME}"
    own = [
        SourceLine(p.case, 0, path, LOADS, 8, 256, 8, 32, 0, 0, 8, 3),
        SourceLine(p.case, 0, path, ADDS, 10, 320, 10, 40, 0, 0, 0, 0, 320, 20, 32),
    ]
    [found] = listings(run_of(p, *own), "reduce_sum", "float32")
    assert [name for name, _ in found.columns] == [
        "warp instructions", "lanes", "diverged", "sectors per load", "lanes per address",
    ]  # fmt: skip
    rows = {row.number: row for row in found.rows}
    assert rows[LOADS].cells == ("8", "32.0", "3 of 8", "4.0", "")
    assert rows[LOADS].marks == "diverged 3 of 8 warps"
    assert rows[ADDS].cells == ("10", "32.0", "", "4.0", "16.0")
    assert rows[ADDS].marks == "16.0 lanes per address, at most 32"


def test_a_source_that_has_changed_since_is_not_shown() -> None:
    p = planned(1024, 128)
    [found] = listings(run_of(p, *lines(p), sha="0" * 64), "reduce_sum", "float32")
    assert found.rows == []
    assert found.missing.endswith("has changed since this run")


def test_a_run_without_counted_lines_has_no_listing() -> None:
    assert listings(run_of(planned(1024, 128)), "reduce_sum", "float32") == []


def test_a_source_whose_comments_alone_changed_is_shown_and_one_whose_code_did_is_not() -> None:
    p = planned(1024, 128)
    run = run_of(p, *lines(p), sha="0" * 64)
    for content, shown in ((FILE.read_bytes(), True), (FILE.read_bytes() + b"int x;", False)):
        info = {**run.info, "code": {NAME: source_text.code_sha256(content, ".cu")}}
        [found] = listings(Run(run.folder, info, run.records), "reduce_sum", "float32")
        assert bool(found.missing) is not shown


def test_a_line_of_source_cannot_act_or_disguise_itself(tmp_path: Path) -> None:
    hostile = "__global__ void k() {}  // \x1b[2J \u202eelif\u2066"
    (tmp_path / "kernels/p").mkdir(parents=True)
    (tmp_path / "kernels/p/v0.cu").write_text(hostile)
    p = replace(planned(1, 64), case="p/v0/n=1", problem="p", variant="v0")
    cost = SourceLine(p.case, 0, "kernels/p/v0.cu", 1, 1, 32, 0, 0, 0, 0)
    timing = {"confidence": 0.95, "same_within": 0.01}
    info = {"backend": "emulator", "timing": timing, "device": {"name": "a device"},
            "sources": {"p/v0.cu": source_text.sha256(hostile.encode())}}  # fmt: skip
    run = Run(tmp_path, info, [p, Outcome(p.case, "ok"), cost])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        report.write(run)
        shown = [notebook.sources(run, tmp_path / "kernels")]
    shown += [path.read_text() for path in tmp_path.rglob("*.html")]
    assert sum(r"// \x1b[2J \u202eelif\u2066" in text for text in shown) == 2
    assert not any({*"\x1b\u202e\u2066"} & {*text} for text in shown)
