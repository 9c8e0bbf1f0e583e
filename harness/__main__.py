"""The command line, and the story of a run from the matrix to the report.

python -m harness list | run | profile | report | doctor
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import tempfile
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from filelock import FileLock, Timeout
from rich.table import Table

from harness import annotate, config, devices, doctor, machine, plan, report, tables
from harness.errors import HarnessError, UsageError
from harness.profile import stage as profiling
from harness.profile.failures import Failure
from harness.profile.metrics import choose
from harness.profile.ncu import CacheControl, ClockControl, Settings
from harness.progress import console
from harness.records import Counted, Journal, Outcome
from harness.runner import Runner, buffer_names, emulate, load_problems

REPORTS = Path("reports")
LATEST = REPORTS / "latest"

app = typer.Typer(
    help="Which CUDA kernel variant is faster, by how much, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

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


@app.command("list")
def list_cases(
    config_path: Config = Path("bench.yaml"),
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
) -> None:
    """Show every case of the matrix and what it would launch."""
    bench = config.load(config_path)
    _, device, _ = devices.choose(backend, arch)
    names = buffer_names(bench, load_problems(bench, only))
    cases = plan.plan(bench, device, only, "bench", names)
    table = Table("case", "grid × block of each step", "", title=f"on {device.name}")
    for case in cases:
        shapes = "; ".join(f"{_extents(s.grid)} × {_extents(s.block)}" for s in case.steps)
        table.add_row(case.id, shapes, case.refusal or case.skip)
    console.print(table)
    console.print(_count(cases))


@app.command()
def run(
    config_path: Config = Path("bench.yaml"),
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
) -> None:
    """Compile, verify and time (or emulate) the matrix, and write the report.

    Exit code 0: every case is ok. 1: some failed. 2: the command or the matrix is wrong.
    130: interrupted, with everything so far kept.
    """
    _carry_out(config_path, backend, only, arch, out, jobs, None)


@app.command()
def profile(
    config_path: Config = Path("bench.yaml"),
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
    metrics: Annotated[
        list[str], typer.Option("--metrics", help="A set of metrics; repeatable. All by default.")
    ] = [],  # noqa: B006
    ncu: Annotated[str | None, typer.Option(help="Nsight Compute's ncu, if not on PATH.")] = None,
    cache_control: Annotated[
        CacheControl, typer.Option(help="all: empty the caches before every pass.")
    ] = "all",
    clock_control: Annotated[
        ClockControl, typer.Option(help="base: lock the clocks while profiling.")
    ] = "none",
) -> None:
    """Run the matrix, then every sound case under Nsight Compute once; or emulate and count.

    With --out of an earlier run only what ncu has not told yet is collected. Exit codes as `run`;
    1 also where counters are missing.
    """
    choose(metrics, None)  # a set that does not exist is refused before anything runs
    wanted = profiling.Wanted(tuple(metrics), ncu, Settings(cache_control, clock_control))
    _carry_out(config_path, backend, only, arch, out, jobs, wanted)


def _carry_out(
    config_path: Path,
    backend: str,
    only: list[str],
    arch: str | None,
    out: Path | None,
    jobs: int,
    wanted: profiling.Wanted | None,
) -> None:
    started = datetime.now(timezone.utc)
    bench = config.load(config_path)
    chosen, device, warning = devices.choose(backend, arch)
    if warning:
        console.print(warning, markup=False)
    folder = out or REPORTS / started.strftime("%Y%m%d-%H%M%S")
    runner = Runner(bench, device, chosen, only, folder, wanted, jobs or machine.cores())
    info = _begin(runner, folder, only, started)
    console.print(f"{_count(runner.cases)} on {device.name}, into {folder}", markup=False)
    interrupted = False
    try:
        with _the_gpu_to_itself() if chosen == "cuda" else nullcontext():
            runner.run()
    except Timeout:
        raise UsageError("another run is using the GPU; wait for it to end") from None
    except KeyboardInterrupt:
        interrupted = True
    code = 130 if interrupted else int(runner.failed)
    info |= {"finished": datetime.now(timezone.utc).isoformat(), "exit_code": code}
    _write(folder / "run.json", info)
    finished = tables.load(folder)
    page = report.write(finished)
    _point_latest(folder)
    _summarise(finished, interrupted)
    if runner.without_ceilings:
        console.print(f"CEILINGS not measured: {runner.without_ceilings}", markup=False)
    for failure in runner.unprofiled:
        console.print(f"COUNTERS {failure.reason}", markup=False)
    console.print(str(page), markup=False)
    raise typer.Exit(code)


@app.command("report")
def redraw(
    folder: Annotated[Path, typer.Argument(help="A run's folder.")] = LATEST,
    ncu: Annotated[
        list[Path],
        typer.Option("--ncu", help="A .ncu-rep whose figures go into the journal. Repeatable."),
    ] = [],  # noqa: B006
) -> None:
    """Redraw a run's tables, figures and page from its journal; needs no GPU."""
    for path in ncu:
        _take_in(folder, path)
    console.print(str(report.write(tables.load(folder))), markup=False)


@app.command("annotate")
def annotate_case(
    pattern: Annotated[str, typer.Argument(help="A case, or the start of its name.")],
    config_path: Config = Path("bench.yaml"),
    arch: Arch = None,
    jobs: Jobs = 0,
) -> None:
    """Emulate one case and show its source, with what each line cost."""
    bench = config.load(config_path)
    device = devices.emulated(arch)
    names = buffer_names(bench, load_problems(bench, ()))
    cases = [c for c in plan.plan(bench, device, (), "bench", names) if not c.skip + c.refusal]
    wanted = [c for c in cases if c.id == pattern] or [c for c in cases if c.id.startswith(pattern)]
    if not wanted:
        raise UsageError(f"no case begins with {pattern!r}; python -m harness list shows them")
    execution = emulate(bench, wanted[0], device.arch, jobs or machine.cores())
    console.print(f"{wanted[0].id} on {device.name}", markup=False)
    for index, step in enumerate(wanted[0].steps):
        for file, costs in annotate.by_file(execution.lines, index).items():
            shown = annotate.annotated(annotate.read(file), costs)
            console.print(annotate.table(f"{step.kernel}: {file}", shown))
    for fault in execution.faults:
        console.print(f"FAULT {fault}", markup=False)
    raise typer.Exit(int(bool(execution.faults)))


@app.command("doctor")
def examine() -> None:
    """Say what is installed and usable here, and what to do about what is not."""
    table = Table("", "what", "found", "what to do")
    for finding in doctor.examine():
        table.add_row("ok" if finding.ok else "–", finding.what, finding.found, finding.remedy)
    console.print(table)


def _take_in(folder: Path, path: Path) -> None:
    """The figures of a report collected elsewhere, of the cases of this run, into its journal."""
    found = profiling.from_file(path)
    if isinstance(found, Failure):
        raise UsageError(f"--ncu {path}: {found.text}")
    run = tables.load(folder)
    ours = [record for record in found if getattr(record, "case", "") in run.planned]
    if not ours:
        raise UsageError(f"--ncu {path}: it has no case of the run {folder}")
    there = set(run.of(Counted))
    with Journal(folder / "journal.jsonl") as journal:
        for record in ours:
            if record not in there:
                journal.append(record)


def _the_gpu_to_itself() -> FileLock:
    """Two runs on one GPU would time each other."""
    return FileLock(Path(tempfile.gettempdir()) / "kernel-harness-gpu.lock", timeout=0)


def _begin(runner: Runner, folder: Path, only: list[str], started: datetime) -> dict[str, Any]:
    """run.json as it stands before anything runs. Raises UsageError where another run is there."""
    bench, device, backend = runner.bench, runner.device, runner.backend
    names = sorted({problem for problem, _ in plan.matching(bench, only)})
    sources = machine.sources(bench, names)
    matrix = bench.model_dump_json(exclude={"document", "kernels"})
    what = [matrix, backend, vars(device), sources, sorted(only)]
    info: dict[str, Any] = {
        "id": folder.name,
        "fingerprint": hashlib.sha256(json.dumps(what).encode()).hexdigest(),
        "started": started.isoformat(),
        "command": shlex.join(["python", "-m", "harness", *sys.argv[1:]]),
        "seed": bench.timing.seed,
        "backend": backend,
        "device": vars(device),
        "timing": bench.timing.model_dump(),
        "machine": machine.describe(),
        "driver": machine.driver(),
        "versions": machine.versions(),
        "commit": machine.commit(),
        "problems": {
            name: {
                "title": problem.title,
                "baseline": bench.problems[name].baseline,
                "library": bench.problems[name].library,
            }
            for name, problem in runner.problems.items()
        },
        "sources": sources,
    }
    existing = folder / "run.json"
    if existing.exists():
        before = tables.load(folder).info
        if before["fingerprint"] != info["fingerprint"]:
            raise UsageError(
                f"{folder} holds another run (its matrix, sources, machine, --only or --arch "
                "differ)\n"
                "  name another folder with --out, or delete it"
            )
        console.print(f"resuming {folder}", markup=False)
        info["started"] = before["started"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(existing, info)
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    return info


def _write(path: Path, info: dict[str, Any]) -> None:
    path.write_text(json.dumps(info, indent=1) + "\n")


def _point_latest(folder: Path) -> None:
    """reports/latest → the run, when it lies in reports/."""
    if folder.resolve().parent == REPORTS.resolve():
        LATEST.unlink(missing_ok=True)
        LATEST.symlink_to(folder.name)


def _summarise(run: tables.Run, interrupted: bool) -> None:
    ended = [(case, run.outcomes[case]) for case in run.planned]
    for reason, cases in _by_reason(ended).items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        console.print(f"FAILED {cases[0]}{more}\n  {reason}", markup=False)
    counts = {s: sum(o.status == s for _, o in ended) for s in ("ok", "failed", "skipped")}
    console.print(", ".join(f"{n} {status}" for status, n in counts.items() if n))
    if interrupted:
        console.print(
            f"interrupted; to go on: the same command with --out {run.folder}", markup=False
        )


def _by_reason(ended: list[tuple[str, Outcome]]) -> dict[str, list[str]]:
    """Why cases failed → those that failed so."""
    found: dict[str, list[str]] = {}
    for case, outcome in ended:
        if outcome.status == "failed":
            found.setdefault(outcome.reason, []).append(case)
    return found


def _count(cases: list[plan.Case]) -> str:
    variants = len({(case.problem, case.variant) for case in cases})
    return f"{len(cases)} cases of {variants} variants"


def _extents(extents: tuple[int, int, int]) -> str:
    used = [e for i, e in enumerate(extents) if i == 0 or any(x > 1 for x in extents[i:])]
    return "·".join(map(str, used))


def main() -> None:
    """Run a command; a mistake of the user's is a message and exit code 2, never a traceback."""
    try:
        app()
    except HarnessError as error:
        console.print(f"error: {error}", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
