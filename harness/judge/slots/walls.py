"""A sandbox around a slot: bubblewrap, with only the slot's own folder writable."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError
from harness.processes import children
from harness.sandbox import no_sockets, walls

PACKAGE = Path(__file__).resolve().parents[3]


TRIAL_S = 20.0


def refusal() -> str:
    """The reason why no sandbox can be made here, determined by trying to make one; empty if that
    works."""
    program = walls.program()
    if program is None:
        return (
            "bubblewrap is not installed, there is no bwrap on PATH\n"
            "  install it (Debian, Ubuntu: apt-get install bubblewrap), or judge without one what "
            "you trust: --no-sandbox"
        )
    tried = children.output([program, *walls.around([]), "--", "true"], TRIAL_S)
    said = (tried.err.strip().splitlines() or ["it ended"])[-1]
    return "" if tried.code == 0 else f"bubblewrap cannot make one on this machine: {said}"


class Walls:
    """Makes the sandboxes of a judge's slots. Raises UsageError if none can be made."""

    def __init__(self) -> None:
        if why := refusal():
            raise UsageError(f"there is no sandbox: {why}")
        self._program = str(walls.program())
        self._rules = no_sockets.rules()
        walls.prepare()

    limit = staticmethod(walls.limit)
    """A function called in the child before bwrap starts."""

    @contextmanager
    def opened(self, home: Path, matrices: Path) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the prefix of the slot's command, and the file descriptors to pass on."""
        for name in ("home", "tmp"):
            (home / name).mkdir(exist_ok=True)
        shown = [PACKAGE, Path(sys.prefix), Path(sys.base_prefix)]
        with tempfile.TemporaryFile() as rules:
            rules.write(self._rules)
            rules.seek(0)
            number = os.dup(rules.fileno())
            try:
                options = [*walls.around(shown), "--bind", str(home), str(home),
                           "--ro-bind", str(matrices), str(matrices),
                           *walls.home(home / "home"), "--chdir", str(home),
                           # Code that removes old scratch folders must not find this one.
                           "--setenv", "TMPDIR", str(home / "tmp")]  # fmt: skip
                yield [self._program, "--seccomp", str(number), *options, "--"], [number]
            finally:
                os.close(number)
