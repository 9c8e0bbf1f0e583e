"""A run's folder from a stranger is data: it is displayed, or rejected with a message; nothing is
executed."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness import __main__ as program
from harness import report as pages
from harness import tables
from harness.analysis.lines import source_lines
from harness.commands.printed import results
from harness.errors import JournalError
from harness.journal.counter_records import Counted, SourceLine, Uncounted
from harness.journal.records import (
    Compiled,
    Outcome,
    Planned,
    Record,
    Remark,
    Round,
    Verified,
    to_json,
)

HARNESS = Path(__file__).parents[2] / "harness"
INFO: dict[str, Any] = {
    "backend": "emulator",
    "timing": {"confidence": 0.95, "same_within": 0.01},
    "device": {"name": "a device", "arch": "sm_90", "sm_count": 132},
}
PLANNED = Planned("p/v0/float32/n=1", "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True,
                  False)  # fmt: skip
Make = Callable[..., Path]


def line(body: str) -> str:
    """A line with a correct checksum, which a stranger can compute as well."""
    return f'{{"crc32":"{zlib.crc32(body.encode()):08x}","record":{body}}}\n'


def planned(**changes: Any) -> str:
    return line(json.dumps({**json.loads(to_json(PLANNED)), **changes}))


@pytest.fixture
def made(tmp_path: Path) -> Make:
    """Make a run's folder: made(journal, run.json's changes or its whole text)."""

    def make(journal: str, info: dict[str, Any] | str | None = None) -> Path:
        text = info if isinstance(info, str) else json.dumps({**INFO, **(info or {})})
        (tmp_path / "run.json").write_text(text)
        (tmp_path / "journal.jsonl").write_text(journal)
        return tmp_path

    return make


def report(folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """Run `report`; return its exit code. Exceptions propagate."""
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
        ({"commit": {"id": 5}}, "commit.id: "), ({"warnings": "none"}, "warnings: "),
        ({"card": [1]}, "card: "), ({"driver": 580}, "driver: "), ({"started": 2026}, "started: "),
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
    with pytest.raises(JournalError, match="it is not a file"):
        tables.load(folder)


@pytest.mark.fault(
    "a cell or a heading of a CSV that a spreadsheet would take for a formula",
    outcome="an apostrophe before it makes it text",
)
def test_a_formula_is_inert_in_the_csv(made: Make) -> None:
    evil = ("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", " =1", "\u3000=1", "＝1", "﹢1")
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
    assert cells == 6 * len(evil)  # five cells per case, and the heading of its launch key


ACTS = {
    "clears the screen": "\x1b[2J", "sets the window's title": "\x1b]0;x\x07",
    "a link": "\x1b]8;;file:///etc/passwd\x1b\\", "writes over the line": "\rok",
    "CSI of 8 bits": "\x9b31m", "turns the direction": "\u202eko", "isolates": "\u2067x",
    "takes back": "x\b\b", "ends the line": "\u2028ok", "has no shape": "v\u200b0\ufeff",
    "forges a line": "x\nok",
}  # fmt: skip
MARKUP = "<b>|`*_[x](http://x)@all#1</b>"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\u2067\ufeff]")


def hostile(folder: Path, act: str, failed: bool) -> Path:
    """A run in which every name and every text contains the attack."""
    folder.mkdir()
    name = f"{act}{MARKUP}"
    sizes, launch, kernel = {name: 1}, {name: 64}, f"k{name}"
    case = f"{name}/{name}/{name}/{name}=1/{name}=64"
    ended = Outcome(case, "failed", f"{name}\nand {name}") if failed else Outcome(case, "ok")
    records: list[Record] = [
        Planned(case, name, name, name, sizes, launch, 8, 1, True, False, (kernel,), name,
                {name: name}, {"spills": "none"}),
        Compiled(case, 0, kernel, "a" * 64, "b", 9, 0, 16, 0, 64, 0.5, name, "c", 1.0),
        Verified(name, name, name, sizes, launch, "test", 0, not failed, name, 0.5),
        Counted(case, 0, kernel, name, 5.0, name, "emulator-exact"),
        SourceLine(case, 0, name, 3, 1, 32, 1, 4, 0, 0),
        Uncounted(case, 0, f"{name}2", f"not collected: {name}"),
        Remark(name, name, name, name, "emulator-exact"),
        ended,
    ]  # fmt: skip
    said = {
        "id": name, "device": {"name": f"{name}{failed}", "arch": name}, "driver": name,
        "commit": {"id": name}, "warnings": [name], "versions": {"nvcc": name, name: name},
        "problems": {name: {"title": name, "baseline": name}}, "sources": {name: "a" * 64},
        "machine": {"cpu": name}, "command": name, "started": "2026-01-01",
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps({**INFO, **said}))
    (folder / "journal.jsonl").write_text("".join(line(to_json(record)) for record in records))
    return folder


@pytest.mark.fault(
    "names, reasons, remarks and devices with a terminal's commands, carriage returns, or marks "
    "that turn the direction of writing",
    outcome="they stand as their escapes on the terminal, in Markdown, CSV, JUnit and the pages",
)
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_what_would_act_where_it_is_shown_is_shown_as_its_escape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], act: str
) -> None:
    base, new = (hostile(tmp_path / name, act, name == "new") for name in ("base", "new"))
    made = {kind: tmp_path / f"compared.{kind}" for kind in ("md", "xml", "json", "sarif")}
    commands = [
        ["report", str(new)],
        ["compare", str(base), str(new), "--markdown", str(made["md"]), "--junit",
         str(made["xml"]), "--json", str(made["json"]), "--sarif", str(made["sarif"])],
        ["trend", str(base), str(new), "--out", str(tmp_path / "trend")],
    ]  # fmt: skip
    for command in commands:
        monkeypatch.setattr(sys, "argv", ["harness", *command])
        with pytest.raises(SystemExit) as ended:
            program.main()
        assert not ended.value.code, command
    said = capsys.readouterr()
    wanted = results.OutputOptions(markdown=tmp_path / "results.md")
    results.tell(tables.load(new), wanted)
    texts = {
        path: path.read_text()
        for path in sorted(tmp_path.rglob("*"))
        if path.suffix in {".html", ".csv", ".md", ".xml", ".json", ".sarif"}
        and path.name != "run.json"
    }
    assert {path.name for path in texts} >= {
        "report.html", "comparison.html", "trend.html", "results.csv", "counters.csv",
        "budgets.csv", "trend.csv", "results.md", "compared.md", "compared.xml", "compared.json",
    }  # fmt: skip
    texts[Path("terminal")] = said.out + said.err + capsys.readouterr().out
    for path, text in texts.items():
        assert not FORBIDDEN.search(text), path
    escape = act.encode("unicode_escape").decode().replace("\\\\", "\\")
    for name in ("terminal", "results.csv", "compared.xml"):
        [text] = (text for path, text in texts.items() if path.name == name)
        assert escape in text, name
    ElementTree.parse(made["xml"])
    comment = re.sub(r"(?<!\\)`[^`]*`", "", made["md"].read_text())  # backticks disable markup
    assert "<b>" not in comment
    assert not re.search(r"[@#]\w", comment)
    assert not re.search(r"(?<!\\)\]\(", comment)


@pytest.mark.fault(
    "a run.json that names /etc/passwd or ../.. among its sources",
    outcome="not read: only files below the kernels' folder are",
)
@pytest.mark.parametrize("name", ["/dev/zero", "../secret", "/etc/passwd", "pipe", "out"])
def test_a_source_outside_the_kernels_folder_is_not_read(made: Make, name: str) -> None:
    from harness.analysis.lines.sources import as_it_was

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
    "a name of over 255 letters, of a folder, a file, a problem or a case",
    outcome="a sentence and exit code 2; in a page its anchors and files are shortened",
)
@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "{}"), ("run", "--out", "{}"), ("list", "--config", "{}"),
        ("list", "--kernels", "{}"), ("run", "--only", "{}/a"), ("run", "--json", "{}/a.json"),
        ("run", "--config", "{}/bench.yaml"), ("list", "--only", "{}"), ("annotate", "{}"),
    ],
)  # fmt: skip
def test_a_name_that_is_too_long_is_told_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    filled = [each.format("x" * 300) for each in arguments]
    backend = ["--backend", "emulator"] if "run" in arguments else []
    monkeypatch.setattr(sys, "argv", ["harness", *filled, *backend])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert "x" * 200 in capsys.readouterr().out


def test_a_journal_with_endless_names_is_drawn(made: Make) -> None:
    long = ["p" * 300 + end for end in "ab"]
    run = tables.load(made("".join(planned(case=n, problem=n, variant=n) for n in long)))
    pages.write(run)
    drawn = list((run.folder / "problems").glob("*.html"))
    assert len(drawn) == 2
    assert all(len(path.name) < 255 for path in drawn)


@pytest.mark.fault(
    "a kernel's source in Latin-1, for `annotate` and the pages",
    outcome="it is shown; each letter that is not UTF-8 as a replacement character",
)
def test_a_source_that_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    (tmp_path / "v0.cu").write_bytes("// größer\nint i;\n".encode("latin-1"))
    assert source_lines.read(str(tmp_path / "v0.cu")) == "// gr\ufffd\ufffder\nint i;\n"


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
    assert not executes


def _is_builtin(node: ast.Name | ast.Attribute) -> bool:
    """Return whether the name is the builtin or a loader; `re.compile`, for example, is neither."""
    return isinstance(node, ast.Name) or node.attr.endswith(("load", "Loader", "pickle"))
