"""The options of `serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.line.options import Jobs


def add(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    jobs: Jobs = 0,
    path: Annotated[
        Path | None,
        typer.Option("--socket", help="Listen at this Unix socket, not on standard input."),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            min=0,
            max=65_535,
            metavar="PORT",
            help="Listen at this port of 127.0.0.1; 0 for any. KERNEL_HARNESS_TOKEN is the token.",
        ),
    ] = None,
    mcp: Annotated[
        bool,
        typer.Option("--mcp", help="Speak the Model Context Protocol over standard input."),
    ] = False,
    sandbox: Annotated[
        bool | None,
        typer.Option(
            "--sandbox/--no-sandbox",
            help="Judge inside bubblewrap; by default where that is possible.",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option("--memory", min=256, help="MiB that each process of a submission may take."),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="The longest deadline that may be asked for.")
    ] = 600.0,
) -> None:
    """Judge kernels sent by another program, one JSON request and verdict per line.

    docs/judge.md describes the requests; harness/schemas/judge.schema.json is their schema. Exit
    with code 0 when standard input has ended and all requests are answered.
    """
    from harness.commands import serve as served

    served.serve(jobs, path, sandbox, memory, seconds, http, mcp)
