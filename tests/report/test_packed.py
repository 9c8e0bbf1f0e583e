"""A packed run has the same content as before, in a tenth of the space."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from synthetic_runs import GBPS, SIZES, Bench
from typer.testing import CliRunner

from harness import report, tables
from harness.__main__ import app
from harness.errors import JournalError
from harness.journal.file import Journal
from harness.tables import packed

Make = Callable[..., Bench]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with all files that a report writes."""
    folder = tmp_path_factory.mktemp("reports") / "whole"
    folder.mkdir()
    few = {name: GBPS[name] for name in ("v0_global_memory", "v9_vectorized", "torch")}
    made = Bench(gbps=few, rounds=8, sizes=SIZES[1:2]).timed(folder)
    with Journal(folder / "journal.jsonl") as journal:
        for record in made.records:
            journal.append(record)
    (folder / "run.json").write_text(json.dumps(made.info))
    (folder / "profile").mkdir()
    (folder / "profile" / "all.ncu-rep").write_bytes(b"large")
    report.write(tables.load(folder))
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> tables.Run:
    """A copy of that folder for one test."""
    return tables.load(shutil.copytree(made, tmp_path / "reports" / "whole"))


def pack(run: tables.Run, name: str) -> Path:
    target = run.folder.parent / "kept" / name
    ended = CliRunner().invoke(app, ["pack", str(run.folder), str(target)])
    assert ended.exit_code == 0, ended.output
    return target


@pytest.mark.usefixtures("without_pages")
def test_a_packed_run_has_the_same_tables(run: tables.Run) -> None:
    kept = tables.load(pack(run, "one"))
    pd.testing.assert_frame_equal(kept.results, run.results)
    pd.testing.assert_frame_equal(kept.counters, run.counters)
    written = pd.read_csv(kept.folder / "counters.csv.gz")
    assert len(written) == len(run.counters)


@pytest.mark.usefixtures("without_pages")
def test_the_run_itself_stays_and_raw_reports_are_left_out(run: tables.Run) -> None:
    target = pack(run, "one")
    assert (run.folder / "journal.jsonl").exists()
    assert (run.folder / "profile" / "all.ncu-rep").exists()
    names = {path.name for path in target.rglob("*") if path.is_file()}
    assert not any(name.endswith(".ncu-rep") for name in names)
    assert {"run.json", "journal.jsonl.gz", "counters.csv.gz", "results.csv"} <= names
    assert not {"journal.jsonl", "counters.csv", "page.css"} & names


def test_packed_runs_share_what_their_pages_need(run: tables.Run) -> None:
    one, other = pack(run, "one"), pack(run, "other")
    assert (one.parent / "assets" / "plotly.min.js").exists()
    for folder in (one, other):
        for page in (folder / "report.html", *(folder / "problems").glob("*.html")):
            text = page.read_text()
            links = re.findall(r'(?:href|src)="([^"#:]+)', text)
            assert len(links) > 3
            for link in links:
                assert (page.parent / link).resolve().exists(), (page, link)


@pytest.mark.usefixtures("without_pages")
def test_folders_of_the_machine_stay_behind(run: tables.Run) -> None:
    about = run.folder / "run.json"
    command = "python -m harness run --out /home/me/runs/one --config bench.yaml --json=/tmp/a.json"
    about.write_text(json.dumps({**run.info, "command": command}))
    kept = json.loads((pack(run, "one") / "run.json").read_text())
    assert kept["command"] == "python -m harness run --out one --config bench.yaml --json=a.json"


@pytest.mark.usefixtures("without_pages")
def test_a_command_that_no_shell_could_read_is_kept_all_the_same(run: tables.Run) -> None:
    about = run.folder / "run.json"
    about.write_text(json.dumps({**run.info, "command": "run --only 'a"}))
    assert json.loads((pack(run, "one") / "run.json").read_text())["command"] == "run --only 'a"


def test_packing_twice_gives_the_same_bytes(
    run: tables.Run, request: pytest.FixtureRequest
) -> None:
    one, other = pack(run, "one"), pack(run, "other")
    for name in ("journal.jsonl.gz", "counters.csv.gz", "report.html"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    request.getfixturevalue("without_pages")
    pack(tables.load(one), "one")
    assert (one / "journal.jsonl.gz").read_bytes() == (other / "journal.jsonl.gz").read_bytes()


@pytest.mark.usefixtures("without_pages")
def test_an_unpacked_run_takes_records_again(run: tables.Run) -> None:
    folder = pack(run, "one")
    packed.unpack(folder)
    assert (folder / "journal.jsonl").read_bytes() == (run.folder / "journal.jsonl").read_bytes()
    assert not list(folder.glob("*.gz"))
    packed.unpack(folder)
    assert not packed.is_packed(folder)


@pytest.mark.usefixtures("without_pages")
@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: b"no gzip", lambda b: b[:40] + b[60:]]
)
def test_a_damaged_packed_journal_is_named(
    run: tables.Run, damage: Callable[[bytes], bytes]
) -> None:
    folder = pack(run, "one")
    path = folder / "journal.jsonl.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(JournalError, match=r"cannot read .*journal\.jsonl\.gz"):
        tables.load(folder)


@pytest.mark.usefixtures("without_pages")
def test_a_line_damaged_before_packing_has_its_number(run: tables.Run) -> None:
    folder = pack(run, "one")
    path = folder / "journal.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).split(b"\n")
    lines[4] = lines[4][:-5]
    path.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(JournalError, match=r"journal\.jsonl\.gz:5"):
        tables.load(folder)


@pytest.mark.fault(
    "`pack` into the folder of another run",
    outcome="Refused before anything is written, unless --force says to replace it.",
)
@pytest.mark.usefixtures("without_pages")
def test_packing_replaces_no_other_run_unless_told_to(run: tables.Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(run.folder, other)
    before = {path.name: path.read_bytes() for path in other.iterdir() if path.is_file()}
    assert "journal.jsonl" in before
    command = ["pack", str(run.folder), str(other)]
    refused = CliRunner().invoke(app, command)
    assert f"{other} has a run already (run.json)" in str(refused.exception)
    assert "--force" in str(refused.exception)
    assert {p.name: p.read_bytes() for p in other.iterdir() if p.is_file()} == before
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    assert packed.is_packed(other)
    assert CliRunner().invoke(app, ["pack", str(other), str(other)]).exit_code == 0  # where it is


@pytest.mark.usefixtures("without_pages")
def test_what_cannot_be_written_is_a_sentence(run: tables.Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = CliRunner().invoke(app, ["pack", str(run.folder), str(tmp_path / "file" / "x")])
    assert ended.exit_code != 0
    assert "Not a directory" in str(ended.exception)


@pytest.mark.usefixtures("without_pages")
def test_of_several_problems_one_can_be_kept_alone(bench: Make, tmp_path: Path) -> None:
    both = [bench(problem=name, gbps={"v0": 100.0, "v1": 200.0}, rounds=8).timed(tmp_path)
            for name in ("one", "two")]  # fmt: skip
    folder = tmp_path / "both"
    folder.mkdir()
    with Journal(folder / "journal.jsonl") as journal:
        for made in both:
            for record in made.records:
                journal.append(record)
    info = both[0].info | {
        "problems": {
            name: {"title": name, "baseline": "v0", "library": ""} for name in ("one", "two")
        },
        "sources": {"one/v0.cu": "1", "two/v0.cu": "2", "common/block.cuh": "3"},
        "choice": {"only": []},
    }
    (folder / "run.json").write_text(json.dumps(info))
    target = tmp_path / "kept" / "two"
    ended = CliRunner().invoke(app, ["pack", str(folder), str(target), "--only", "two"])
    assert ended.exit_code == 0, ended.output
    kept, whole = tables.load(target), tables.load(folder)
    assert {p.problem for p in kept.planned.values()} == {"two"}
    assert {p.problem for p in whole.planned.values()} == {"one", "two"}
    own = whole.results[whole.results.problem == "two"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept.results, own)
    assert kept.info["sources"] == {"two/v0.cu": "2", "common/block.cuh": "3"}
    refused = CliRunner().invoke(app, ["pack", str(folder), str(target), "--only", "three"])
    assert "the run has one, two" in str(refused.exception)


@pytest.mark.usefixtures("without_pages")
def test_a_packed_journal_that_unpacks_to_no_end_is_refused(run: tables.Run) -> None:
    folder = pack(run, "one")
    (folder / "journal.jsonl.gz").write_bytes(gzip.compress(b"\n" * 5_000_000))
    with pytest.raises(JournalError, match="more than any journal"):
        tables.load(folder)
