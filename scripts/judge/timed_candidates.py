"""Measure how many candidates per minute `serve` judges on a GPU, and how precisely.

    python scripts/judge/timed_candidates.py [--n 16777216] [--times 3] [--alone 4] [--out FOLDER]

The problem is memory-bound: output[i] = 2 input[i]. A candidate also writes a part of its result,
from none to all of it in sixteenths, to a second array. The bytes that each candidate moves, and
which candidates are faster than the incumbent, are therefore known in advance. One candidate is a
copy of the incumbent.

All candidates come in one submission, after the incumbent, several times: the first includes their
compilation. Then some candidates come on their own, each in a submission with the incumbent.
candidates.csv has every verdict; rates.csv has a row for each submission and for each series of
single candidates. The exit code is 1 if a verdict contradicts the bytes, an interval is wider than
requested, or fewer than 10 candidates per minute were judged in one submission.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from conversation import Serve, serve

WANTED = 10.0
"""The minimum number of candidates per minute."""
PARTS = 16
INCUMBENT = 4
"""The sixteenths of its result that the incumbent writes twice."""
EXTRAS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)
"""The sixteenths of its result that each candidate writes twice."""

PROBLEM = {
    "name": "doubled",
    "reference": {"source": "def doubled(input):\n    return 2 * input\n", "name": "doubled"},
    "inputs": {"input": "n"},
    "outputs": {"output": "n"},
    "scratch": {"spare": "n"},
    "test": {"n": [1, 33, 20011]},
}
KERNEL = """\
__global__ void doubled(const float* input, float* output, float* spare, int n) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, quads = n / 4;
    if (thread < quads) {
        const float4 x = reinterpret_cast<const float4*>(input)[thread];
        const float4 y = make_float4(2 * x.x, 2 * x.y, 2 * x.z, 2 * x.w);
        reinterpret_cast<float4*>(output)[thread] = y;
        if (blockIdx.x % PARTS < EXTRA) reinterpret_cast<float4*>(spare)[thread] = y;
    }
    if (4 * quads + thread < n) output[4 * quads + thread] = 2 * input[4 * quads + thread];
}
"""


@dataclass(frozen=True)
class Judged:
    """One verdict on a candidate. `half_width`: half the width of the speed-up's interval, relative
    to the speed-up."""

    way: str
    number: int
    candidate: str
    expected: float
    verdict: str
    speedup: float | None
    low: float | None
    high: float | None
    half_width: float | None
    time_us: float | None

    @property
    def contradicts(self) -> bool:
        """Return whether the verdict contradicts the number of bytes moved, or is a failure."""
        if self.verdict not in ("faster", "same", "slower", "cannot-tell"):
            return True
        if self.speedup is None:
            return False
        # A candidate that writes more can only be slower; how much slower depends on the card.
        opposite = "slower" if self.expected > 1 else "faster"
        return self.verdict == opposite or (self.expected == 1 and self.verdict == "slower")


@dataclass(frozen=True)
class Rate:
    """The rate of one kind of submission, from its total time."""

    way: str
    number: int
    candidates: int
    seconds: float
    per_minute: float
    widest: float | None
    cannot_tell: int


def name(extra: int) -> str:
    return f"extra{extra}"


def kernel(called: str, extra: int) -> dict[str, Any]:
    return {
        "source": KERNEL, "name": called, "entry": "doubled", "grid": "ceil_div(n, 1024)",
        "block": 256, "args": ["input", "output", "spare", "n"],
        "defines": {"EXTRA": extra, "PARTS": PARTS},
    }  # fmt: skip


def request(extras: Sequence[int], n: int, interval: float, seconds: float) -> dict[str, Any]:
    """Build a request: the incumbent first, then a candidate for each of `extras`."""
    kernels = [kernel("incumbent", INCUMBENT), *(kernel(name(extra), extra) for extra in extras)]
    return {
        "id": " ".join(map(name, extras)), "kind": "time", "kernels": kernels,
        "problem": {**PROBLEM, "timed": {"n": [n]}}, "interval": interval, "seconds": seconds,
    }  # fmt: skip


def expected(extra: int) -> float:
    """The speed-up over the incumbent that follows from the bytes that the two kernels move."""
    return (2 * PARTS + INCUMBENT) / (2 * PARTS + extra)


def judged(answer: dict[str, Any], way: str, number: int) -> list[Judged]:
    """The verdicts on the candidates in one reply. Raises SystemExit if it has none."""
    if answer["error"]:
        raise SystemExit(f"{answer['error']['kind']}: {answer['error']['message']}")
    found = []
    for each in answer["verdicts"][1:]:
        ratio, took = each["speedup"], each["time_ns"]
        low, value, high = (ratio and ratio[key] for key in ("low", "value", "high"))
        extra = int(each["kernel"].removeprefix("extra"))
        found.append(
            Judged(
                way, number, each["kernel"], round(expected(extra), 4), each["verdict"],
                value, low, high, (high / low) ** 0.5 - 1 if ratio else None,
                took and took["value"] / 1e3,
            )
        )  # fmt: skip
        if each["verdict"] not in ("faster", "same", "slower"):
            print(each["text"], flush=True)
    return found


def rate(found: Sequence[Judged], seconds: float) -> Rate:
    widths = [each.half_width for each in found if each.half_width is not None]
    return Rate(
        found[0].way, found[0].number, len(found), round(seconds, 2),
        round(60 * len(found) / seconds, 1), max(widths, default=None),
        sum(each.verdict == "cannot-tell" for each in found),
    )  # fmt: skip


def asked(
    judge: Serve, requests: Sequence[dict[str, Any]], way: str, number: int
) -> tuple[list[Judged], Rate]:
    began = time.monotonic()
    found = [one for answer in judge.ask(requests) for one in judged(answer, way, number)]
    if not found:
        raise SystemExit("the judge ended without an answer")
    return found, rate(found, time.monotonic() - began)


def write(path: Path, of: type, rows: Iterable[object]) -> None:
    with path.open("w", newline="") as file:
        names = [field.name for field in fields(of)]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            cells = {key: getattr(row, key) for key in names}
            writer.writerow(
                {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in cells.items()}
            )


def tell(found: Sequence[Judged], rates: Sequence[Rate], interval: float) -> int:
    """Print the results; return the exit code."""
    for each in found:
        ratio = "" if each.speedup is None else f"{each.speedup:.4f}x"
        width = "" if each.half_width is None else f"±{100 * each.half_width:.2f} %"
        print(f"{each.way} {each.number}  {each.candidate:8} {each.verdict:12} {ratio:8} {width:9} "
              f"by bytes {each.expected:.3f}x")  # fmt: skip
    for row in rates:
        widest = "" if row.widest is None else f", at most ±{100 * row.widest:.2f} %"
        print(f"{row.way} {row.number}: {row.candidates} candidates in {row.seconds:.1f} s, "
              f"{row.per_minute:.1f} a minute{widest}, {row.cannot_tell} undecided")  # fmt: skip
    again = defaultdict(list)
    for each in found:
        if each.speedup is not None:
            again[each.candidate].append(each.speedup)
    apart = [max(values) / min(values) - 1 for values in again.values() if len(values) > 1]
    if apart:
        print(f"from submission to submission a speed-up differs by {100 * max(apart):.2f} % at "
              f"most, {100 * statistics.median(apart):.2f} % in the median")  # fmt: skip
    contradicting = [each for each in found if each.contradicts]
    wide = [each for each in found if each.half_width is None or each.half_width > interval]
    slow = [row for row in rates if row.way == "together" and row.per_minute < WANTED]
    print(f"{len(contradicting)} verdicts contradict the bytes, {len(wide)} of {len(found)} have "
          f"no interval of ±{100 * interval:g} %, {len(slow)} submissions were slower than "
          f"{WANTED:g} candidates a minute")  # fmt: skip
    return int(bool(contradicting or wide or slow))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--n", type=int, default=2**24, help="elements of the arrays")
    parser.add_argument("--interval", type=float, default=0.02)
    parser.add_argument("--times", type=int, default=3, help="submissions with all candidates")
    parser.add_argument("--alone", type=int, default=4, help="candidates that come alone")
    parser.add_argument("--seconds", type=float, default=600, help="deadline of a submission")
    parser.add_argument("--sandbox", action="store_true", help="judge inside a sandbox")
    parser.add_argument("--out", type=Path, default=Path("timed_candidates"))
    told = parser.parse_args(arguments)
    told.out.mkdir(parents=True, exist_ok=True)
    found: list[Judged] = []
    rates: list[Rate] = []
    series = [("together", number, [EXTRAS]) for number in range(told.times)]
    if told.alone:
        series.append(("alone", 0, [(extra,) for extra in EXTRAS[: told.alone]]))
    walls = "--sandbox" if told.sandbox else "--no-sandbox"
    with serve(walls, "--jobs", "1", "--seconds", str(told.seconds), folder=told.out) as judge:
        for way, number, submissions in series:
            requests = [request(e, told.n, told.interval, told.seconds) for e in submissions]
            ones, row = asked(judge, requests, way, number)
            found += ones
            rates.append(row)
            write(told.out / "candidates.csv", Judged, found)
            write(told.out / "rates.csv", Rate, rates)
    return tell(found, rates, told.interval)


if __name__ == "__main__":
    sys.exit(main())
