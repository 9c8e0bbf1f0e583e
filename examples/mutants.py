"""200 variants of one kernel, written by mutation and judged by `python -m harness serve`.

    python examples/mutants.py [--count 200] [--times 1] [--jobs N]

It stands for a program that writes kernels. Three in ten of its variants are right, and differ in
what they cost; half have a mistake, one in ten cheats, and one in ten never ends. The judge is not
told. The script fails if a variant that is not right passes, or a right one does not, and ends with
the best: the right one that executes the fewest instructions for the fewest sectors. No GPU is
needed, and nothing is timed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

PROBLEM = {
    "name": "row_sum",
    "reference": {"source": "def row_sum(x):\n    return x.sum(axis=1)\n", "name": "row_sum"},
    "inputs": {"x": "rows, cols"},
    "outputs": {"y": "rows"},
    "test": {"rows, cols": [[1, 1], [3, 33], [5, 300], [2, 1025]]},
    "counted": {"rows, cols": [[8, 1024]]},
    "tolerance": [1e-5, 1e-4],
    "flops": "rows * cols",
}

KERNEL = """\
__global__ void row_sum(const float* x, float* y, int rows, int cols) {
    __shared__ float s[BLOCK];
    const int row = blockIdx.x, lane = threadIdx.x;
    float sum = 0.0f;
LOADS
    s[lane] = sum;
    __syncthreads();
TREE
    if (lane == 0) y[row] = s[0];
}
"""

LOADS = {
    "coalesced": """\
    for (int col = lane; col < cols; col += BLOCK) sum += x[row * cols + col];""",
    "by two": """\
    for (int col = lane; col < cols; col += 2 * BLOCK) {
        sum += x[row * cols + col];
        if (col + BLOCK < cols) sum += x[row * cols + col + BLOCK];
    }""",
    "a stretch for each thread": """\
    const int each = (cols + BLOCK - 1) / BLOCK;
    for (int col = lane * each; col < cols && col < (lane + 1) * each; col += 1)
        sum += x[row * cols + col];""",
}

TREES = {
    "neighbours halve": """\
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (lane < step) s[lane] += s[lane + step];
        __syncthreads();
    }""",
    "steps double": """\
    for (int step = 1; step < BLOCK; step *= 2) {
        const int at = 2 * step * lane;
        if (at < BLOCK) s[at] += s[at + step];
        __syncthreads();
    }""",
    "lanes drop out": """\
    for (int step = 1; step < BLOCK; step *= 2) {
        if (lane % (2 * step) == 0) s[lane] += s[lane + step];
        __syncthreads();
    }""",
    "one warp shuffles": """\
    if (lane < 32) {
        for (int other = lane + 32; other < BLOCK; other += 32) sum += s[other];
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
        if (lane == 0) s[0] = sum;
    }""",
}

MISTAKES = [
    ("reads a column too many", "col < cols", "col <= cols"),
    ("leaves the last column out", "col < cols", "col < cols - 1"),
    ("begins with the second column", "sum = 0.0f;", "sum = -x[row * cols];"),
    ("subtracts", "sum += x", "sum -= x"),
    ("takes the wrong row", "x[row * cols + col]", "x[row * rows + col]"),
    ("writes every row into the first", "y[row] =", "y[0] ="),
    ("writes past the end", "y[row] =", "y[row + 1] ="),
    ("misspells a name", "row * cols", "row * colls"),
    ("forgets a semicolon", "s[lane] = sum;", "s[lane] = sum"),
    ("has no barrier before the tree", "s[lane] = sum;\n    __syncthreads();", "s[lane] = sum;"),
    ("has half the shared memory", "s[BLOCK];", "s[BLOCK / 2];"),
    ("cuts off fractions", "sum += x", "sum += (int)x"),
    ("is off by a ten-thousandth", "= s[0];", "= 1.0001f * s[0];"),
    ("skips long rows", "    float sum = 0", "    if (cols > 1000) return;\n    float sum = 0"),
    ("changes its input", "y[row] = s[0];", "y[row] = s[0], ((float*)x)[row * cols] = 0;"),
    ("adds the row's number", "= s[0];", "= s[0] + 1e-2f * row;"),
]  # fmt: skip

ENDLESS = [
    ("never counts on", "s[lane] = sum;", "for (int i = 0; i < cols;) if (x[i] == 1e30f) i++;\n"
     "    s[lane] = sum;"),
    ("waits for its input to change", "s[lane] = sum;",
     "while (((volatile const float*)x)[0] != 1e30f);\n    s[lane] = sum;"),
    ("waits for a flag that nobody sets", "s[lane] = sum;",
     "__shared__ volatile int go;\n    if (lane == 0) go = 0;\n    __syncthreads();\n"
     "    while (!go);\n    s[lane] = sum;"),
    ("waits at a barrier for threads that have left", "s[lane] = sum;",
     "if (lane >= BLOCK / 2) for (;;) __nanosleep(1);\n    s[lane] = sum;"),
]  # fmt: skip

CHEATS = [
    ("keeps its answer for the same first number", "    float sum = 0.0f;", """\
    if (known[row] == cols && asked[row] == x[row * cols]) {
        if (lane == 0) y[row] = kept[row];
        return;
    }
    float sum = 0.0f;""", "y[row] = s[0];",
     "{ y[row] = kept[row] = s[0]; known[row] = cols; asked[row] = x[row * cols]; }"),
    ("keeps its answer for the same last number", "    float sum = 0.0f;", """\
    if (known[row] == cols && asked[row] == x[row * cols + cols - 1]) {
        if (lane == 0) y[row] = kept[row];
        return;
    }
    float sum = 0.0f;""", "y[row] = s[0];",
     "{ y[row] = kept[row] = s[0]; known[row] = cols; asked[row] = x[row * cols + cols - 1]; }"),
    ("leaves an output alone that has a number", "    float sum = 0.0f;",
     "    if (y[row] == y[row]) return;\n    float sum = 0.0f;", "", ""),
]  # fmt: skip
KEPT = "__device__ float kept[64], asked[64];\n__device__ int known[64];\n"

EXPECTED = {
    "right": {"right"},
    "wrong": {"wrong", "fault", "compile-error"},
    "cheats": {"cheat", "fault", "wrong"},
    "endless": {"fault"},
}
"""Family → the verdicts that are no mistake of the judge's."""


@dataclass(frozen=True)
class Mutant:
    """One variant: how it is written, and what only its writer knows of it."""

    family: str
    about: str
    source: str
    block: int

    def changed(self, family: str, about: str, old: str, new: str) -> Mutant | None:
        """The same with one passage replaced; None where it has no such passage."""
        if not old or old not in self.source:
            return None
        source = self.source.replace(old, new, 1)
        return replace(self, family=family, about=f"{about}; {self.about}", source=source)


def right() -> Iterator[Mutant]:
    for (loads, load), (tree, code), block in itertools.product(
        LOADS.items(), TREES.items(), (32, 64, 128, 256, 512)
    ):
        source = KERNEL.replace("LOADS", load).replace("TREE", code)
        yield Mutant("right", f"{loads}, {tree}, {block} threads", source, block)


def wrong(of: list[Mutant]) -> Iterator[Mutant | None]:
    for (about, old, new), one in itertools.product(MISTAKES, of):
        if not ("barrier" in about and one.block == 32):  # a warp alone may do without
            yield one.changed("wrong", about, old, new)


def endless(of: list[Mutant]) -> Iterator[Mutant | None]:
    for (about, old, new), one in itertools.product(ENDLESS, of):
        yield one.changed("endless", about, old, new)


def cheats(of: list[Mutant]) -> Iterator[Mutant | None]:
    for (about, old, new, store, keep), one in itertools.product(CHEATS, of):
        found = one.changed("cheats", about, old, new)
        if found and store:
            found = found.changed("cheats", "", store, keep)
            found = found and replace(found, about=f"{about}; {one.about}")
            found = found and replace(found, source=KEPT + found.source)
        yield found


def mutants(count: int) -> list[Mutant]:
    """So many, of all families, in an order that tells nothing."""
    chance = random.Random(20260101)
    every = list(right())
    families = [(every, 0.3), (wrong(every), 0.5), (cheats(every), 0.1), (endless(every), 0.1)]
    found: list[Mutant] = []
    for family, share in families:
        own = [each for each in family if each]
        found += chance.sample(own, min(len(own), round(share * count)))
    chance.shuffle(found)
    return found


def request(number: int, one: Mutant) -> dict[str, Any]:
    kernel = {
        "source": one.source, "name": f"k{number}", "entry": "row_sum", "grid": "rows",
        "block": one.block, "args": ["x", "y", "rows", "cols"], "defines": {"BLOCK": one.block},
    }  # fmt: skip
    return {"id": number, "kernels": [kernel], "problem": PROBLEM, "seconds": 120}


def megabytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def judged(
    every: list[Mutant], jobs: int, times: int
) -> tuple[dict[int, dict[str, Any]], list[int]]:
    """Each mutant's verdict, and the memory of the judge after every tenth of them, MiB.

    times: how often each is submitted; its last verdict counts, and all must be of one kind.
    """
    command = [sys.executable, "-m", "harness", "serve", "--jobs", str(jobs)]
    judge = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert judge.stdin
    assert judge.stdout
    ready = json.loads(judge.stdout.readline())
    print(f"the judge is ready: {ready['jobs']} jobs, sandbox: {ready['sandbox']}", flush=True)

    def ask() -> None:
        assert judge.stdin
        for _, (number, one) in itertools.product(range(times), enumerate(every)):
            judge.stdin.write(json.dumps(request(number, one)).encode() + b"\n")
        judge.stdin.close()

    threading.Thread(target=ask, daemon=True).start()
    found: dict[int, dict[str, Any]] = {}
    memory, total = [], times * len(every)
    for count, line in enumerate(judge.stdout, 1):
        answer = json.loads(line)
        assert answer["error"] is None, answer["error"]
        [verdict] = answer["verdicts"]
        before = found.setdefault(answer["id"], verdict)
        assert before["verdict"] == verdict["verdict"], (before["text"], verdict["text"])
        found[answer["id"]] = verdict
        if count % max(1, total // 10) == 0:
            memory.append(megabytes(judge.pid))
            print(f"{count} of {total} judged", file=sys.stderr, flush=True)
    assert judge.wait() == 0
    assert count == total, f"{count} answers to {total} requests"
    return found, memory


def cost(verdict: dict[str, Any]) -> tuple[float, float]:
    """What is minimised: sectors of global memory, and warp instructions."""
    counters = verdict["counters"]
    return counters["sectors"]["value"], counters["instructions"]["value"]


def tell(every: list[Mutant], found: dict[int, dict[str, Any]]) -> int:
    """Print what came of it; return how often the judge was wrong."""
    wrongly = [
        (one, found[number]) for number, one in enumerate(every)
        if found[number]["verdict"] not in EXPECTED[one.family]
    ]  # fmt: skip
    for family in EXPECTED:
        kinds = Counter(
            f"{v['verdict']}{': ' if v['cause'] else ''}{v['cause']}"
            for number, v in found.items() if every[number].family == family
        )  # fmt: skip
        print(f"\n{family}: {kinds.total()}")
        for kind, count in kinds.most_common():
            print(f"  {count:4}  {kind}")
    sound = [n for n, one in enumerate(every) if found[n]["verdict"] == "right"]
    print("\nthe best of those that are right:")
    for number in sorted(sound, key=lambda n: cost(found[n]))[:3]:
        sectors, instructions = cost(found[number])
        conflicts = found[number]["bank_conflicts"]
        print(f"  {instructions:8,.0f} instructions, {sectors:6,.0f} sectors, "
              f"{conflicts:4,.0f} bank conflicts: {every[number].about}")  # fmt: skip
    example = next((n for n, one in enumerate(every) if one.family == "wrong"), None)
    if example is not None:
        print(f"\nwhat a program learns from, of one that {every[example].about}:")
        print(f"  {found[example]['text']}")
    for one, verdict in wrongly:
        print(f"\nFOOLED: a variant that is {one.family} ({one.about}) was judged so:")
        print(f"{verdict['text']}\n{one.source}")
    return len(wrongly)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    every = mutants(options.count)
    began = time.monotonic()
    found, memory = judged(every, options.jobs, options.times)
    seconds = time.monotonic() - began
    fooled = tell(every, found)
    print(f"\n{len(found)} of {len(every)} answered in {seconds:,.0f} s, compilation included; "
          f"the judge was wrong about {fooled}")  # fmt: skip
    print(f"memory of the judge, MiB, over time: {', '.join(map(str, memory))}")
    return min(fooled, 1)


if __name__ == "__main__":
    sys.exit(main())
