"""A run's folder from a stranger is data: it is shown, or refused with a sentence; nothing runs."""

from __future__ import annotations

import ast
import csv
import json
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness import __main__ as program
from harness import tables
from harness.errors import JournalError
from harness.records import Outcome, Planned, Round, to_json

HARNESS = Path(__file__).parents[1] / "harness"
INFO: dict[str, Any] = {
    "backend": "emulator",
    "timing": {"confidence": 0.95, "same_within": 0.01},
    "device": {"name": "a device", "arch": "sm_90", "sm_count": 132},
}
PLANNED = Planned("p/v0/float32/n=1", "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True,
                  False)  # fmt: skip
Make = Callable[..., Path]


def line(body: str) -> str:
    """A line whose checksum holds: a stranger can work it out as well as anybody."""
    return f'{{"crc32":"{zlib.crc32(body.encode()):08x}","record":{body}}}\n'


def planned(**changes: Any) -> str:
    return line(json.dumps({**json.loads(to_json(PLANNED)), **changes}))


@pytest.fixture
def made(tmp_path: Path) -> Make:
    """A run's folder: made(journal, run.json's changes or its whole text)."""

    def make(journal: str, info: dict[str, Any] | str | None = None) -> Path:
        text = info if isinstance(info, str) else json.dumps({**INFO, **(info or {})})
        (tmp_path / "run.json").write_text(text)
        (tmp_path / "journal.jsonl").write_text(journal)
        return tmp_path

    return make


def report(folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """The exit code of `report`, as the command line gives it; a traceback passes through."""
    monkeypatch.setattr(sys, "argv", ["harness", "report", str(folder), *more])
    with pytest.raises(SystemExit) as ended:
        program.main()
    return int(ended.value.code or 0)


@pytest.mark.fault(
    "an empty journal, or one without any plan", outcome="its report says that nothing is there"
)
@pytest.mark.parametrize(
    "journal", ["", line(to_json(Outcome("p/v0", "ok"))),
                line(to_json(Round("p/v0", "cold", 0, False, (1.0, 2.0)))) * 3]
)  # fmt: skip
def test_a_journal_without_a_plan_is_reported_without_a_traceback(
    made: Make, monkeypatch: pytest.MonkeyPatch, journal: str
) -> None:
    folder = made(journal)
    assert report(folder, monkeypatch) == 0
    rows = list(csv.reader((folder / "results.csv").open()))
    assert rows[0][:3] == ["problem", "variant", "dtype"]
    assert len(rows) == 1
    assert "This run has no cases." in (folder / "report.html").read_text()


@pytest.mark.fault(
    "integers over 2^63, negative sizes, NaN, wrong types in a journal",
    outcome="refused with the file, the line and the key, exit code 2",
)
@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"sizes": {"n": 2**64}}, "sizes.n"), ({"launch": {"block": 2**80}}, "launch.block"),
        ({"bytes": 2**63}, "bytes"), ({"bytes": -1}, "bytes"), ({"flops": "many"}, "flops"),
        ({"flops": "7"}, "flops"), ({"sizes": [1]}, "sizes"), ({"problem": 5}, "problem"),
        ({"is_baseline": 1}, "is_baseline"), ({"case": None}, "case"),
    ],
)  # fmt: skip
def test_a_value_that_no_run_writes_is_refused_with_its_key(
    made: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any], key: str,
) -> None:  # fmt: skip
    folder = made(planned() + planned(**changes))
    assert report(folder, monkeypatch) == 2
    said = capsys.readouterr().out
    assert f"{folder / 'journal.jsonl'}:2: this line is not what was written: {key}: " in said
    assert "delete the line" in said


@pytest.mark.fault(
    "lines in a journal that are huge, nested without end, or no text",
    outcome="refused with the file and the line, without reading on",
)
@pytest.mark.parametrize(
    "body",
    [
        "x" * (1 << 23), "[" * 100_000, '{"kind":"planned","case":1' + "0" * 5000 + "}",
        '{"kind":"outcome","case":"a","status":"ok","reason":"\\ud800"}',
        '{"kind":"ceiling","name":"a","value":NaN}', '{"kind":"none"}', "null", "[]", "",
        '{"kind":"outcome","case":"' + "x" * (1 << 23) + '","status":"ok"}',
    ],
)  # fmt: skip
def test_a_line_that_no_run_writes_is_refused_with_its_number(made: Make, body: str) -> None:
    folder = made(planned() + line(body) + planned())
    with pytest.raises(JournalError) as caught:
        tables.load(folder)
    assert str(caught.value).startswith(f"{folder / 'journal.jsonl'}:2: this line is not what was")
    assert len(str(caught.value)) < 400 + len(str(folder))


@pytest.mark.fault(
    "a run.json that is no JSON, is huge, or has keys of wrong types",
    outcome="refused with the file and the key, exit code 2",
)
@pytest.mark.parametrize(
    ("info", "words"),
    [
        ("", "EOF"), ("[]", "an object"), ("5", "an object"), ("{}", "backend: "),
        ("[" * 100_000, "recursion limit"), ('{"backend": "\\ud800"}', "hex escape"),
        (" " * (1 << 25), "it has over 16777216 bytes"), ({"backend": 5}, "backend: "),
        ({"timing": {}}, "timing.confidence: "), ({"device": "mine"}, "device: "),
        ({"timing": {"confidence": 2, "same_within": 0}}, "timing.confidence: "),
        ({"device": {"sm_count": 2**70}}, "device.sm_count: "), ({"sources": ["a"]}, "sources: "),
        ({"problems": {"p": 5}}, "problems.p: "), ({"versions": "new"}, "versions: "),
    ],
)  # fmt: skip
def test_a_run_json_that_no_run_writes_is_refused_with_its_key(
    made: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    info: dict[str, Any] | str, words: str,
) -> None:  # fmt: skip
    folder = made(planned(), info)
    assert report(folder, monkeypatch) == 2
    said = capsys.readouterr().out
    assert f"{folder / 'run.json'} cannot be read: " in said
    assert words in said


@pytest.mark.fault("a journal or run.json that is a pipe or a device", outcome="refused at once")
@pytest.mark.parametrize("name", ["journal.jsonl", "run.json"])
def test_what_is_no_file_is_not_waited_for(made: Make, name: str) -> None:
    folder = made(planned())
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(JournalError, match="it is no file"):
        tables.load(folder)


@pytest.mark.fault(
    "a cell or a heading of a CSV that a spreadsheet would take for a formula",
    outcome="an apostrophe before it makes it text",
)
def test_a_formula_is_inert_in_the_csv(made: Make) -> None:
    evil = ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", " =1", "\n=1", "＝1")
    lines = [planned(case=f"{e}{i}", variant=e, problem=e, launch={e: 1}, builds_on=e)
             for i, e in enumerate(evil)]  # fmt: skip
    failed = [line(to_json(Outcome(f"{e}{i}", "failed", e))) for i, e in enumerate(evil)]
    run = tables.load(made("".join(lines + failed)))
    tables.write(run)
    cells = 0
    with (run.folder / "results.csv").open(newline="") as file:
        for row in csv.reader(file):
            for cell in row:
                cells += cell.startswith("'")
                assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝")), row
    assert cells == 6 * len(evil)  # five cells of each case, and its launch key's heading


@pytest.mark.fault(
    "a run.json that names /etc/passwd or ../.. among its sources",
    outcome="not read: only files below the kernels' folder are",
)
@pytest.mark.parametrize("name", ["/dev/zero", "../secret", "/etc/passwd", "pipe", "out"])
def test_a_source_outside_the_kernels_folder_is_not_read(made: Make, name: str) -> None:
    from harness.analysis.sources import as_it_was

    folder = made(planned(), {"sources": {name: "0" * 64}})
    kernels = folder / "kernels"
    kernels.mkdir()
    (folder / "secret").write_text("a secret")
    os.mkfifo(kernels / "pipe")
    (kernels / "out").symlink_to(folder / "secret")
    found = as_it_was(tables.load(folder), name, kernels)
    assert found.content == ""
    assert found.missing == f"{name} is not here"


@pytest.mark.fault(
    "a journal, run.json, cubin or .ncu-rep from a stranger",
    outcome="data: nothing in the package unpickles, evaluates or executes what it reads",
)
def test_nothing_in_the_package_can_execute_what_it_reads() -> None:
    modules = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal",
               "jsonpickle", "copyreg"}  # fmt: skip
    calls = {"eval", "exec", "compile", "__import__", "execfile", "read_pickle", "unsafe_load",
             "full_load", "UnsafeLoader", "FullLoader"}  # fmt: skip
    files = sorted(HARNESS.rglob("*.py"))
    assert len(files) > 100
    executes = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").partition(".")[0], *(a.name for a in node.names)]
            assert not modules.intersection(names), f"{path}:{node}"
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if name in calls and _is_builtin(node):
                    executes.add(path.relative_to(HARNESS).as_posix())
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant)
                assert node.value.value is False, path
    # The emulator writes Python for a kernel's PTX, which nvcc made here from the user's own code.
    assert executes == {"emulator/generate.py"}


def _is_builtin(node: ast.Name | ast.Attribute) -> bool:
    """`eval`, and not `re.compile`."""
    return isinstance(node, ast.Name) or node.attr.endswith(("load", "Loader", "pickle"))
