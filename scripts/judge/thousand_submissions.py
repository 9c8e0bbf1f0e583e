"""Send 1,000 submissions to `serve`, half of them broken in eleven ways, and measure the judge's
memory and processes.

    python scripts/judge/thousand_submissions.py [--count 1000] [--jobs N] [--out FILE]

Half are correct. Of the others, some have kernels that do not compile, give wrong results, write
out of bounds, never end, trap or cheat; some have references that hang, crash, leave processes
behind or use up all memory. None may affect the next submission. After 100, 500 and 1,000 replies
the script waits until the judge is idle, measures its memory and counts its processes; after the
judge has ended, it counts the remaining processes.

Texts repeat, so that the script measures the judge and not nvcc. The exit code is 1 if a submission
gets no reply or an unexpected verdict, if the judge's memory has grown by more than a tenth from
the first measurement to the last, or if a process remains.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversation import Serve, serve

from harness.machine import environment

MARK = "KERNEL_HARNESS_THOUSAND"
"""The environment variable that marks all processes of this judge, wherever they end up."""
COUNTED_AFTER = (0.1, 0.5, 1.0)
"""The judge's memory is measured after these fractions of the submissions."""
GROWTH = 1.1
REST_S = 1.0
"""Seconds to wait for ended processes to disappear."""
SECONDS = 8
"""The deadline, in seconds, of a submission whose reference hangs; three quarters of it are for the
reference itself."""
MEMORY_MIB = 1024

REFERENCE = "def tripled(x, n):\n    return 3 * x + n\n"
KERNEL = """\
__global__ void tripled(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    BODY
}
// %d
"""
STORE = "if (i < n) y[i] = 3 * x[i] + n;"
KEEPS = """\
static __device__ float kept[512], asked[512];
static __device__ int known[512];
__global__ void tripled(const float* x, float* y, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    if (known[i] != n || asked[i] != x[0]) kept[i] = 3 * x[i] + n;
    y[i] = kept[i];
    known[i] = n;
    asked[i] = x[0];
}
// %d
"""


def kernel(body: str) -> str:
    return KERNEL.replace("BODY", body)


@dataclass(frozen=True)
class Way:
    """A kind of submission, broken or correct. `before`: lines that the reference executes before
    it returns."""

    expected: str
    text: str = kernel(STORE)
    before: str = ""
    seconds: float = 60


WAYS = {
    "right": Way("right"),
    "does not compile": Way("compile-error", kernel("y[i] = 3 * z[i];")),
    "includes itself": Way("compile-error", "#include __FILE__\n" + kernel(STORE)),
    "wrong": Way("wrong", kernel("if (i < n) y[i] = 3 * x[i] + n + (i == 7);")),
    "out of bounds": Way("fault: out of bounds", kernel("y[i] = 3 * x[i] + n;")),
    "never ends": Way("fault: endless", kernel("while (x[0] != 1e30f) __nanosleep(1);")),
    "traps": Way("fault: trap", kernel(f"{STORE} if (i == 20) __trap();")),
    "cheats": Way("cheat: keeps state between launches", KEEPS),
    "its reference hangs": Way("cannot-tell", before="import time; time.sleep(600)",
                               seconds=SECONDS),
    "its reference crashes": Way("cannot-tell", before="import os; os.kill(os.getpid(), 11)"),
    "its reference leaves processes": Way("right", before=(
        "import subprocess\n"
        "    for _ in range(3):\n"
        "        subprocess.Popen(['sleep', '3600'], start_new_session=True)")),
    "its reference takes all memory": Way("cannot-tell", before=(
        "import numpy\n"
        "    kept = [numpy.ones(1 << 26) for _ in range(1 << 10)]")),
}  # fmt: skip
"""Kind of submission → the verdict it must get, with its cause where that is certain."""


def ways(count: int, chance: random.Random) -> list[str]:
    """Choose how each submission is broken, if at all: half are correct, and the others are broken
    in each way equally often, in random order."""
    broken = [name for name in WAYS if name != "right"]
    found = ["right"] * (count - count // 2)
    found += [broken[number % len(broken)] for number in range(count // 2)]
    chance.shuffle(found)
    return found


def request(number: int, way: Way, texts: int) -> dict[str, Any]:
    before = f"    {way.before}\n" if way.before else ""
    source = REFERENCE.replace("    return", f"{before}    return")
    return {
        "id": number,
        "seconds": way.seconds,
        "problem": {
            "name": "tripled", "reference": {"source": source, "name": "tripled"},
            "inputs": {"x": "n"}, "outputs": {"y": "n"}, "test": {"n": [1, 33, 300]},
        },
        "kernels": [{
            "source": way.text % (number % texts), "name": "candidate", "entry": "tripled",
            "grid": "ceil_div(n, 128)", "block": 128, "args": ["x", "y", "n"],
        }],
    }  # fmt: skip


def kind(answer: dict[str, Any]) -> str:
    """The verdict in a reply, with the reason for it."""
    if answer["error"]:
        return f"{answer['error']['kind']}: {answer['error']['message']}"
    [verdict] = answer["verdicts"]
    return ": ".join(filter(None, [verdict["verdict"], verdict["cause"]]))


def marked(mark: str) -> Iterator[Path]:
    """Find the processes with this mark in their environment; yield their folders in /proc."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                yield process
        except OSError:  # it has ended, or belongs to another user
            continue


def command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{process.name}, which has ended meanwhile"


def mebibytes(process: Path) -> float:
    """Return the memory that only this process uses, plus its share of shared memory (PSS)."""
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@dataclass(frozen=True)
class Count:
    """The judge's memory when idle, in MiB. `server`: its main process. `all`: all its
    processes."""

    answered: int
    server: float
    all: float
    processes: int


def counted(answered: int, judge: Serve, mark: str) -> Count:
    time.sleep(REST_S)
    every = [each for each in marked(mark) if each.name != str(os.getpid())]
    server = Path("/proc") / str(judge.process.pid)
    return Count(answered, mebibytes(server), sum(map(mebibytes, every)), len(every))


def judged(
    judge: Serve, requests: Sequence[dict[str, Any]], count: Callable[[int], Count]
) -> tuple[dict[int, str], list[Count]]:
    """Send all requests; return each submission's verdict, and the judge's memory and processes
    each time it was idle."""
    found: dict[int, str] = {}
    counts, before = [count(0)], 0
    for part in COUNTED_AFTER:
        until = round(part * len(requests))
        for answer in judge.ask(requests[before:until]):
            found[answer["id"]] = kind(answer)
        counts.append(count(len(found)))
        before = until
        print(f"{len(found)} of {len(requests)} answered", file=sys.stderr, flush=True)
    return found, counts


def told(
    names: Sequence[str], found: dict[int, str], counts: Sequence[Count], left: int, seconds: float
) -> tuple[list[str], bool]:
    """The lines to print, and whether all requirements are met."""
    given: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for number, name in enumerate(names):
        given[name][found.get(number, "no answer")] += 1
    strange = 0
    lines = [f"{len(found)} of {len(names)} submissions answered in {seconds:,.0f} s", ""]
    for name, way in WAYS.items():
        lines.append(f"{name}: {given[name].total()}, expected {way.expected}")
        for verdict, count in given[name].most_common():
            is_right = verdict == way.expected or verdict.partition(":")[0] == way.expected
            strange += 0 if is_right else count
            lines.append(f"  {count:4}  {verdict.splitlines()[0]}")
    lines.append("")
    lines += [
        f"after {each.answered:4} answers, at rest: the server {each.server:.0f} MiB, all "
        f"{each.processes} processes together {each.all:.0f} MiB"
        for each in counts
    ]
    first, last = counts[1], counts[-1]
    is_flat = last.all <= GROWTH * first.all and last.processes <= first.processes
    lines.append(f"after its end: {left} processes left")
    lines.append(f"{strange} verdicts were not those expected")
    return lines, len(found) == len(names) and not strange and is_flat and not left


def made_on() -> str:
    """The commit of these sources, with a + if there are uncommitted changes, and the machine."""
    commit = environment.commit() or {"id": "unknown", "dirty": False}
    return f"{commit['id'][:10]}{'+' * bool(commit['dirty'])}, {environment.describe()['cpu']}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--texts", type=int, default=8, help="different texts of each way")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    place = made_on()  # before the mark is set, so that processes started here do not get it
    mark = os.environ[MARK] = f"{os.getpid()}-{time.time_ns()}"
    names = ways(options.count, random.Random(20260101))
    requests = [request(n, WAYS[name], options.texts) for n, name in enumerate(names)]
    began = time.monotonic()
    with serve("--jobs", str(options.jobs), "--memory", str(MEMORY_MIB)) as judge:
        found, counts = judged(judge, requests, lambda n: counted(n, judge, mark))
        seconds = time.monotonic() - began
        first = f"{place}, {judge.ready['jobs']} jobs, sandbox: {judge.ready['sandbox']}"
    time.sleep(REST_S)
    left = [command(each) for each in marked(mark) if each.name != str(os.getpid())]
    lines, is_well = told(names, found, counts, len(left), seconds)
    lines += [f"  left: {each}" for each in left]
    text = "\n".join([first, *lines, ""])
    print(text)
    if options.out:
        options.out.write_text(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
