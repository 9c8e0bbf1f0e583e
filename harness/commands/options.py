"""The options that several commands take, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Config = Annotated[Path, typer.Option("--config", help="The matrix.")]
Backend = Annotated[
    Literal["auto", "cuda", "emulator"],
    typer.Option(help="auto: the GPU where there is one, else the emulator."),
]
Only = Annotated[
    list[str],
    typer.Option("--only", help="problem or problem/variant; * and ? match. Repeatable."),
]
Arch = Annotated[
    str | None, typer.Option(help="Compile for, and emulate, this architecture, such as sm_80.")
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", min=0, help="Cores for the blocks of an emulated launch; 0: all."),
]
Out = Annotated[Path | None, typer.Option(help="The run's folder; one that exists is resumed.")]

MATRIX = Path("bench.yaml")
