"""The options that several commands share, each declared once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from harness.commands.line import completion

Config = Annotated[
    Path | None,
    typer.Option("--config", help="The matrix; by default bench.yaml in the current folder."),
]
Kernels = Annotated[
    Path | None,
    typer.Option(
        "--kernels", help="The folder of problems; by default kernels/ beside the matrix."
    ),
]
Backend = Annotated[
    Literal["auto", "cuda", "emulator"],
    typer.Option(help="auto: the GPU if there is one, else the emulator."),
]
Only = Annotated[
    list[str],
    typer.Option(
        "--only", help="Only this case, as printed by `list`, or all that begin like this up to a "
        "/. * and ? match within a part. Repeatable.", autocompletion=completion.cases,
    ),
]  # fmt: skip
Size = Annotated[
    list[str],
    typer.Option(
        "--size", help="Only sizes with this value: n=2**24, or n=2**20,2**24. With a value for "
        "every name, as in m=256,n=256,k=64, any size. Repeatable.",
    ),
]  # fmt: skip
Dtype = Annotated[
    list[str],
    typer.Option(
        "--dtype", help="Only this element type. Repeatable.", autocompletion=completion.dtypes,
    ),
]  # fmt: skip
Launch = Annotated[
    list[str],
    typer.Option(
        "--launch", help="Only launch shapes with this value: block=256. Repeatable.",
    ),
]  # fmt: skip
Quick = Annotated[
    bool,
    typer.Option("--quick", help="Get a rough answer in seconds: one size, few rounds."),
]
Arch = Annotated[
    str | None,
    typer.Option(
        help="Compile for and emulate this architecture, such as sm_80. `run` takes several, "
        "sm_80,sm_90,sm_120, and shows them side by side.",
    ),
]  # fmt: skip
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", min=0, help="How many cores workers and emulated launches share; 0: all.",
    ),
]  # fmt: skip


def _folder(text: str) -> Path:
    """Reject an empty path, which a script passes if its variable is not set."""
    if not text.strip():
        raise typer.BadParameter("it is empty; name a folder, or omit the option")
    return Path(text)


Out = Annotated[
    Path | None,
    typer.Option(
        parser=_folder, metavar="PATH", help="The run's folder; by default a new one in reports/ "
        "in the current folder. If it has results, only what is out of date is repeated.",
    ),
]  # fmt: skip
SaveBaseline = Annotated[
    str | None,
    typer.Option(
        "--save-baseline", metavar="NAME", help="Afterwards keep the run in reports/baselines "
        "under this name, for `compare`.",
    ),
]  # fmt: skip
Anew = Annotated[
    bool,
    typer.Option(
        "--anew", help="Emulate everything again, also what an earlier run did with the same code, "
        "inputs and emulator.",
    ),
]  # fmt: skip
Sandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox", help="Run inside bubblewrap, without network and with only the run's folder "
        "writable; for kernels that you do not trust.",
    ),
]  # fmt: skip
CacheControl = Literal["all", "none"]
ClockControl = Literal["none", "base"]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="WHERE", help="Run on Dask workers: local (one per GPU of this "
        "host, or per group of cores), local:4, or a scheduler such as tcp://host:8786.",
    ),
]  # fmt: skip
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Do not print the table of results at the end.")
]
AsJson = Annotated[
    Path | None, typer.Option("--json", help="Write the results to this file as JSON.")
]
AsMarkdown = Annotated[
    Path | None, typer.Option("--markdown", help="Write the table of results to this file.")
]
ComparisonJson = Annotated[
    Path | None, typer.Option("--json", help="Write the comparison to this file as JSON.")
]
ComparisonMarkdown = Annotated[
    Path | None, typer.Option("--markdown", help="Write a comment for a pull request.")
]
ComparisonJunit = Annotated[
    Path | None, typer.Option("--junit", help="Write JUnit XML, with a test case per pair.")
]
ComparisonSarif = Annotated[
    Path | None, typer.Option("--sarif", help="Write SARIF: what closes the gate, at its lines.")
]
Gate = Annotated[
    bool,
    typer.Option(
        "--gate", help="Exit with 1 if anything is slower, worse or newly faulty, and with 3 if "
        "nobody can tell.",
    ),
]  # fmt: skip


def _share(given: str | float) -> float:
    """Parse a share such as `2%` or `0.02`."""
    text = str(given)
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = math.nan
    if not 0 < found < 1:
        raise typer.BadParameter(f"{text} is not a share between 0 and 1; write 2% or 0.02")
    return found


MinEffect = Annotated[
    float | None,
    typer.Option(
        "--min-effect", parser=_share, metavar="SHARE",
        help="The slowdown to be found or excluded, by default 2%. If it can be neither, nobody "
        "can tell.",
    ),
]  # fmt: skip
