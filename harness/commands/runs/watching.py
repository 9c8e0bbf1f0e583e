"""`--watch`: repeat the run in its folder whenever a file is saved, redoing only what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.commands.request import RunRequest
from harness.console.progress import console
from harness.errors import HarnessError
from harness.matrix import model
from harness.processes.stopping import STOPPED, TOLD, code_of

POLL_S = 0.3
_SETTLED_S = 0.2
"""A file is considered complete once this much time has passed since it was saved."""

Seen = Mapping[Path, int]
"""File → the time of its last change, in ns."""


def go_on(
    request: RunRequest,
    folder: Path,
    carry_out: Callable[[RunRequest], tuple[int, Path]],
    code: int,
    seen: Seen,
) -> int:
    """Rerun after every change until Ctrl-C; return the last run's exit code.

    `seen`: the files as they were when the previous run began.
    """
    again = replace(request, out=folder)
    while code not in STOPPED:
        console.print(f"\nwatching {_kernels(again)}/; Ctrl-C ends it", markup=False)
        try:
            seen = changed(again, seen)
        except TOLD as told:
            return code if code_of(told) == 130 else code_of(told)
        try:
            code, _ = carry_out(again)
        except HarnessError as error:  # perhaps half written: the next save may fix it
            console.print(f"error: {error}", markup=False)
            code = 2
    return code


def files(request: RunRequest) -> Seen:
    """The matrix and every file in the folder of problems."""
    found: dict[Path, int] = {}
    for path in [request.config or model.MATRIX, *_kernels(request).rglob("*")]:
        try:
            if path.is_file() and "__pycache__" not in path.parts:
                found[path] = path.stat().st_mtime_ns
        except OSError:  # deleted meanwhile
            continue
    return found


def changed(request: RunRequest, seen: Seen) -> Seen:
    """Wait until a file differs and nothing has changed for a moment; return the new state."""
    while (now := files(request)) == seen:
        time.sleep(POLL_S)
    while True:
        time.sleep(_SETTLED_S)
        later = files(request)
        if later == now:
            break
        now = later
    for path in sorted(path for path in {*seen, *now} if seen.get(path) != now.get(path)):
        console.print(f"changed: {path}", markup=False)
    return now


def _kernels(request: RunRequest) -> Path:
    return request.kernels or (request.config or model.MATRIX).parent / "kernels"
