"""The command line, and the story of a run from the matrix to the report."""

from __future__ import annotations

import atexit
import gc
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from harness import __version__, children, stopping, utf8
from harness.commands import annotate, compare, doctor, listing, new, pack, redraw, trend
from harness.commands.options import Asked
from harness.commands.runs import beside, clusters, running
from harness.commands.runs.whole import WholeRun
from harness.errors import HarnessError, UsageError
from harness.matrix import model
from harness.measure.card import look
from harness.progress import console
from harness.run import devices, machine
from harness.run.gpu_lock import gpu_to_itself
from harness.run.hands import OwnCores, Place

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

NAME = "kernel-harness"
_PIPE_CLOSED = 141
_KEPT = "a run keeps what its journal has: go on with the same command and --out FOLDER"


def _version(asked: bool) -> None:
    if asked:
        console.print(f"kernel-harness {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print it and stop."),
    ] = False,
) -> None:
    """Which CUDA kernel variant is faster, by how much, and why."""


def _carry_out(asked: Asked) -> tuple[int, Path]:
    """From the matrix to the report: the exit code, and the run's folder."""
    asked.told.check()
    started = datetime.now(timezone.utc)
    bench = asked.bench or model.load(asked.config, asked.kernels)
    if asked.cluster:
        return clusters.carry_out(asked, started, bench)
    backend, device, warning = devices.choose(asked.backend, asked.arch)
    if warning:
        console.print(warning, markup=False)
    if asked.wanted and asked.wanted.sets and backend == "emulator":
        raise UsageError(
            "--metrics chooses what ncu counts on a GPU; the emulator always counts all it can\n"
            "  leave --metrics out, or run where there is a GPU"
        )
    hands = OwnCores(asked.jobs or machine.cores())
    if backend != "cuda":
        return _run(asked, started, bench, Place(backend, device, hands))
    card = look(device.bus)
    with gpu_to_itself(card.uuid or device.bus):
        return _run(asked, started, bench, Place(backend, device, hands, card))


def _run(asked: Asked, started: datetime, bench: model.Bench, place: Place) -> tuple[int, Path]:
    run = WholeRun(asked, started, bench, place)
    run.carry_out()
    return run.tell()


app.command("list")(listing.list_cases)
running.add(app, _carry_out)
beside.add(app, _carry_out)
app.command("report")(redraw.redraw)
app.command("pack")(pack.pack)
app.command("compare")(compare.compare)
app.command("trend")(trend.trend)
app.command("annotate")(annotate.annotate)
app.command("new")(new.new)
app.command("doctor")(doctor.show)


def main() -> None:
    """Run a command; a mistake of the user's is a message and exit code 2, never a traceback."""
    utf8.everywhere()
    stopping.listen()
    atexit.register(gc.freeze)  # nobody waits for garbage to be looked for at the very end
    try:
        app(prog_name=_program())
    except HarnessError as error:
        sys.exit(_end(2, f"error: {error}"))
    except BrokenPipeError:  # whoever read what is printed has ended
        stopping.silence()
        sys.exit(_end(_PIPE_CLOSED))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        sys.exit(_end(2, f"error: {place}{error.strerror or error}\n  {_KEPT}"))
    except stopping.TOLD as told:
        sys.exit(_end(stopping.code_of(told)))


def _program() -> str:
    """A name that a shell can complete: `python -m harness` is three words, and none of them."""
    started = Path(sys.argv[0]).name
    return NAME if started == "__main__.py" else started


def _end(code: int, message: str = "") -> int:
    """Leave no process behind, and say why, if anybody can still read it."""
    children.stop_all()
    with suppress(OSError):
        if message:
            console.print(message, markup=False)
    return code


if __name__ == "__main__":
    main()
