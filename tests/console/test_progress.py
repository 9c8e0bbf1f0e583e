"""Printed messages equal the given ones, character by character."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from harness.console import progress

SAID = "error: kernels/sum/x.cu:100: `a[0]` is wrong [bold] :smile: \\[x]"


@pytest.mark.fault(
    "a message that looks like an emoji or like markup",
    outcome="It is printed as it is: `x.cu:100:` stays a place in a file.",
)
def test_places_and_brackets_are_printed_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = io.StringIO()
    # Not `file`: restoring it would bind the console to the current standard output instead of each
    # test's own.
    monkeypatch.setattr(progress.console, "_file", seen)
    progress.console.print(SAID)
    assert seen.getvalue() == f"{SAID}\n"


def test_a_stage_on_a_terminal_prints_what_was_done_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = io.StringIO()
    terminal = Console(file=seen, force_terminal=True, width=200, color_system=None)
    monkeypatch.setattr(progress, "console", terminal)
    with progress.stage("verify", 1) as advance:
        advance(SAID)
        time.sleep(0.5)  # it is drawn ten times per second
    assert SAID in seen.getvalue()
