"""The options that several commands take, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", help="The matrix; bench.yaml where you stand, if it is there."),
]
Kernels = Annotated[
    Path | None,
    typer.Option("--kernels", help="The folder of problems; kernels/ beside the matrix."),
]
Backend = Annotated[
    Literal["auto", "cuda", "emulator"],
    typer.Option(help="auto: the GPU where there is one, else the emulator."),
]
Only = Annotated[
    list[str],
    typer.Option(
        "--only", help="A case as `list` prints it, or its beginning up to a /; * and ? match "
        "within a part. Repeatable.",
    ),
]  # fmt: skip
Arch = Annotated[
    str | None, typer.Option(help="Compile for, and emulate, this architecture, such as sm_80.")
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", min=0, help="Cores for the blocks of an emulated launch; 0: all."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="The run's folder, by default a new one in reports/ where you stand; one "
                 "that exists is resumed."),
]  # fmt: skip
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no table of results at the end.")]
AsJson = Annotated[
    Path | None, typer.Option("--json", help="Write the results to this file as JSON.")
]
AsMarkdown = Annotated[
    Path | None, typer.Option("--markdown", help="Write the table of results to this file.")
]
