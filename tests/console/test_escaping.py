"""Untrusted text is shown readably and has no effect where it is shown."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from harness.console import escaping, progress

HONEST = [
    "reduce_sum/v12/float32/n=2\u00b2\u2078", "2.62 ms ± 0.02\u202f%", "größer", "核心",
    "wave\u00adfronts", "ab\u200dc", "x.cu:100: `a[0]`", "C:\\path",
]  # fmt: skip


@pytest.mark.parametrize("said", HONEST)
def test_honest_text_stays_as_it_is(said: str) -> None:
    assert (
        escaping.text(said)
        == escaping.line(said)
        == escaping.xml(said)
        == escaping.cell(said)
        == said
    )


def test_lines_stay_lines_in_a_reason_and_not_in_a_name() -> None:
    assert escaping.text("one\r\n\ttwo\rthree") == "one\n\ttwo\\rthree"
    assert escaping.line("v0\nok") == "v0\\nok"


def test_what_acts_stands_as_its_escape() -> None:
    assert escaping.text("\x1b[2J\x9b\u202e\ufeff\U000e0041") == (
        "\\x1b[2J\\x9b\\u202e\\ufeff\\U000e0041"
    )


def test_data_is_inert_however_deep_it_lies_and_numbers_stay_themselves() -> None:
    said = {"a\x1b": ["\x1b", {"b": ("\n", 1, None, True, (1.5, 2.5))}]}
    assert escaping.data(said) == {"a\\x1b": ["\\x1b", {"b": ("\\n", 1, None, True, (1.5, 2.5))}]}


@given(st.text())
def test_any_text_is_printable_afterwards_and_saying_it_again_changes_nothing(said: str) -> None:
    shown = escaping.text(said)
    assert escaping.text(shown) == shown
    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert "\n" not in escaping.markdown(said) + escaping.markdown_code(said) + escaping.line(said)


def test_markdown_keeps_the_words_and_none_of_the_markup() -> None:
    assert escaping.markdown("<b>|_x_ `y`\n[z](u) @all #1 2\u202fs") == (
        "&lt;b>\\|\\_x\\_ \\`y\\` \\[z\\](u) @<!-- -->all #<!-- -->1 2\u202fs"
    )
    assert escaping.markdown_code("a`b|c\nd") == "a'b\\|c d"


def test_the_terminal_obeys_nothing_that_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = io.StringIO()
    monkeypatch.setattr(progress.console, "_file", seen)
    table = Table("a\x1b[2J", box=None)
    table.add_row(Text("b\x9b31m"))
    table.add_row("c\u202ed")
    progress.console.print("e\x1b]0;t\x07", markup=False, style="bold")
    progress.console.print(Text("f\x1b[1A"))
    progress.console.print(table)
    shown = seen.getvalue()
    for said in ("a\\x1b[2J", "b\\x9b31m", "c\\u202ed", "e\\x1b]0;t\\x07", "f\\x1b[1A"):
        assert said in shown
    assert shown.isascii()
    assert "\x1b" not in shown


COMMANDS = ["::add-mask::a", "  ::add-mask::a", "\t\u3000::error::b", "fine\n::error::b",
            "x ##[add-mask]a", "##[error]b"]  # fmt: skip


@pytest.mark.parametrize("said", COMMANDS)
def test_a_github_job_obeys_no_command_in_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    seen = io.StringIO()
    monkeypatch.setattr(progress.console, "_file", seen)
    table = Table(box=None, show_header=False)
    table.add_row(said)
    progress.console.print(said, markup=False)
    progress.console.print("  ", said, sep="")
    progress.console.print(Text("in colour\n").append(said, style="red"))
    progress.console.print(table)
    progress.lines("verify", 1)(f"\n{said}")
    assert not any(line.lstrip().startswith("::") for line in seen.getvalue().splitlines())
    assert "##[" not in seen.getvalue()
    assert said.lstrip().replace("::", ": :", 1).replace("##[", "## [") in seen.getvalue()


def test_outside_a_github_job_two_colons_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    seen = io.StringIO()
    monkeypatch.setattr(progress.console, "_file", seen)
    progress.console.print("::name ##[x]", markup=False)
    assert seen.getvalue() == "::name ##[x]\n"
