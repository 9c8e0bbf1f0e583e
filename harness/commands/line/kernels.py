"""`list`, `annotate`, `new` and `doctor`: kernels and this machine, without a run."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.line.groups import MatrixOptions, takes_groups
from harness.commands.line.options import Arch, Config, Jobs, Kernels

MachineCode = Annotated[
    bool, typer.Option("--machine-code", help="Also show each line's machine instructions.")
]
Smallest = Annotated[
    bool,
    typer.Option(
        "--smallest",
        help="If the case has a fault, at its own or a test size, find the smallest sizes and "
        "fewest threads that still show it.",
    ),
]


def add(app: typer.Typer) -> None:
    app.command("list")(list_cases)
    app.command("annotate")(annotate)
    app.command("new")(new)
    app.command("doctor")(doctor)


@takes_groups
def list_cases(
    matrix: MatrixOptions,
    whole: Annotated[
        bool,
        typer.Option(
            "--resolved", help="Show each variant after merging, each value with its line."
        ),
    ] = False,
) -> None:
    """Show every case of the matrix and what it would launch."""
    from harness.commands import listing

    listing.list_cases(
        matrix.config_path, matrix.kernels, matrix.backend, matrix.choice, matrix.arch, whole
    )


def annotate(
    pattern: Annotated[str, typer.Argument(help="A case, or the beginning of its name.")],
    config_path: Config = None,
    kernels: Kernels = None,
    arch: Arch = None,
    jobs: Jobs = 0,
    machine_code: MachineCode = False,
    smallest: Smallest = False,
) -> None:
    """Emulate one case and show its source, with the cost of each line."""
    from harness.commands import annotate as shown

    raise typer.Exit(
        shown.annotate(pattern, config_path, kernels, arch, jobs, machine_code, smallest)
    )


def new(
    problem: Annotated[str, typer.Argument(help="The problem's name, and that of its new folder.")],
    config_path: Config = None,
    kernels: Kernels = None,
) -> None:
    """Create a problem with two working variants to start from, and test it on the emulator."""
    from harness.commands import new as skeleton

    skeleton.new(problem, config_path, kernels)


def doctor() -> None:
    """Show what is installed and usable here, and how to fix what is not."""
    from harness.commands import doctor as examined

    examined.show()
