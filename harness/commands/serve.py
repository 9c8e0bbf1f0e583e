"""`serve`: a long-running judge for programs, over standard input, a Unix socket, HTTP or MCP."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.errors import UsageError
from harness.judge.judge import Judge
from harness.judge.serve import conversations, over_http, over_mcp
from harness.judge.serve.protocol import Ready
from harness.judge.slots import walls
from harness.judge.slots.pool import SlotLost
from harness.machine import environment


def serve(
    jobs: int, path: Path | None, sandbox: bool | None, memory: int | None, seconds: float,
    port: int | None = None, mcp: bool = False,
) -> None:  # fmt: skip
    """Answer requests until standard input ends, or until told to stop.

    `sandbox`: None uses one if available. `memory`: MiB per process. `path`: a Unix socket to
    listen on. `port`: an HTTP port to listen on. `mcp`: speak the Model Context Protocol. Raises
    UsageError if more than one of these three is given.
    """
    if (path is not None) + (port is not None) + mcp > 1:
        raise UsageError("--socket, --http and --mcp are three ways to listen: give one of them")
    jobs = jobs or environment.cores()
    why = walls.refusal() if sandbox is not False else "--no-sandbox"
    if sandbox and why:
        raise UsageError(f"--sandbox: {why}")
    if why and sandbox is None:
        print(f"BEWARE no sandbox around submissions: {why}", file=sys.stderr, flush=True)
    most = None if memory is None else memory << 20
    with Judge(jobs, not why, most, with_spare=True, secret=True) as judge:
        try:
            judge.wait()
        except SlotLost as lost:
            raise UsageError(f"a process that judges could not be started: {lost}") from None
        ready = Ready(True, jobs, not why)
        if mcp:
            over_mcp.over_stdio(judge, seconds)
        elif port is not None:
            over_http.over_http(judge, ready, seconds, port)
        elif path is None:
            conversations.over_lines(judge, ready, seconds)
        else:
            conversations.over_socket(judge, ready, seconds, path)
