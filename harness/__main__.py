"""The command line's entry point: parses arguments and prints errors.

The steps of a run are in harness/commands/runs/here.py.
"""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

try:
    import typer
except ModuleNotFoundError:  # run by the system's Python in a clone whose packages are in .venv
    sys.exit(
        f"error: {sys.executable} has no package `typer`, which this program is made with\n"
        f"  make setup    # once; then: .venv/bin/python -m harness {' '.join(sys.argv[1:])}"
    )

from harness import __version__
from harness.commands.line import judging, kept, kernels, runs
from harness.console import utf8
from harness.console.suggestions import NAME
from harness.errors import HarnessError
from harness.processes import children, stopping

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_PIPE_CLOSED = 141
_KEPT = "a run keeps what its journal has: go on with the same command and --out FOLDER"


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernel-harness {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Which CUDA kernel variant is faster, by how much, and why."""


runs.add(app)
kernels.add(app)
kept.add(app)
judging.add(app)


def main() -> None:
    """Run a command; report a user error as a message with exit code 2, never a traceback."""
    utf8.everywhere()
    stopping.listen()
    atexit.register(gc.freeze)  # skip the last garbage collection
    try:
        app(prog_name=_program())
    except HarnessError as error:
        sys.exit(_end(2, f"error: {error}"))
    except BrokenPipeError:  # the process that read the output has ended
        stopping.silence()
        sys.exit(_end(_PIPE_CLOSED))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.exit(_end(2, f"error: {place}{error.strerror or error}\n  {_KEPT}"))
    except stopping.TOLD as told:
        sys.exit(_end(stopping.code_of(told)))


def _program() -> str:
    """The command name for shell completion, which does not work for the three words `python -m
    harness`.
    """
    started = Path(sys.argv[0]).name
    return NAME if started == "__main__.py" else started


def _end(code: int, message: str = "") -> int:
    """Stop all child processes, and say why the program ended if its output can still be read."""
    children.stop_all()
    with suppress(OSError):
        if message:
            from harness.console.progress import console

            console.print(message, markup=False)
    return code


if __name__ == "__main__":
    main()
