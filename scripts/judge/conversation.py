"""A conversation with `python -m harness serve`, for the scripts that measure `serve`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Serve:
    """A running judge. `ready`: its first line of output."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]

    def ask(self, requests: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Send all requests at once; yield the answers in order of arrival.

        The answers end early if the judge ends.
        """
        told, heard = self.process.stdin, self.process.stdout
        assert told
        assert heard

        def tell() -> None:
            for each in requests:
                told.write(json.dumps(each).encode() + b"\n")
            told.flush()

        threading.Thread(target=tell, daemon=True).start()
        for _ in requests:
            line = heard.readline()
            if not line:
                return
            yield json.loads(line)


@contextmanager
def serve(*options: str, folder: Path | None = None) -> Iterator[Serve]:
    """Start a judge; end it by closing its input, as a client does. `folder`: its working
    folder."""
    command = [sys.executable, "-m", "harness", "serve", *options]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    try:
        first = process.stdout.readline()
        if not first:
            raise SystemExit("the judge did not start")
        yield Serve(process, json.loads(first))
        process.stdin.close()
        if code := process.wait():
            raise SystemExit(f"the judge ended with exit code {code}")
    finally:
        process.kill()
        process.wait()
