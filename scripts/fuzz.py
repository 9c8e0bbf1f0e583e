"""Feed broken inputs to every reader of foreign files: each input must be read or refused.

    python scripts/fuzz.py --inputs 100000            # every target
    python scripts/fuzz.py --inputs 1000 yaml journal

Good inputs are cut and spliced, and their bytes, tokens, numbers and whole lines are changed,
according to a seed. A failure is an error without a message of the harness's own (such as a
traceback), a run past the deadline, or the end of the process. Its input is kept in --out, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from fuzzing.mutations import in_json, mutated

from harness import emulator, tables
from harness.comparison import judge
from harness.emulator.errors import PtxSyntaxError
from harness.errors import ConfigError, ExpressionError, HarnessError, JournalError
from harness.matrix import model
from harness.matrix.expressions import Expression, Number
from harness.ncu import container, reader
from harness.ncu.failures import Failure
from harness.report.comparison import files

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = 10.0
"""The deadline in seconds for one input, on a busy machine."""
BATCH = 100
LONGEST_MESSAGE = 4000
Try = Callable[[bytes, Path], None]


@dataclass(frozen=True)
class Target:
    """One reader. `seeds`: good inputs. `attempt`: reads an input; any exception is a failure."""

    seeds: Callable[[], list[bytes]]
    attempt: Try
    mutate: Callable[[random.Random, list[bytes]], bytes] | None = None


# --- the targets ------------------------------------------------------------------------------


def _told(error: HarnessError) -> None:
    """Check a refusal: it must be a few printable lines."""
    str(error).encode()
    told_shortly(str(error))


def told_shortly(message: str) -> None:
    assert 0 < len(message) < LONGEST_MESSAGE, f"a message of {len(message)} characters"


def _yaml(content: bytes, folder: Path) -> None:
    kernels = folder / "kernels"
    if not kernels.exists():
        for path in _small():
            shutil.copytree(path.parent, kernels / path.parent.name)
            if len(list(kernels.iterdir())) > 1:  # one keeps its matrix
                (kernels / path.parent.name / path.name).unlink()
    path = folder / "bench.yaml"
    path.write_bytes(content)
    try:
        model.load(path, kernels)
    except ConfigError as error:
        _told(error)


def _expression(content: bytes, folder: Path) -> None:
    text = content.decode(errors="surrogateescape")
    for kind in (Expression, Number):
        try:
            kind(text).evaluate({"n": 1_000_003, "block": 256, "warp_size": 32, "half": 0})
        except ExpressionError as error:
            told_shortly(str(error))


def _ptx(content: bytes, folder: Path) -> None:
    try:
        emulator.parse(content.decode(errors="replace"))
    except PtxSyntaxError as error:
        told_shortly(str(error))


def _journal(content: bytes, folder: Path) -> None:
    (folder / "run.json").write_text(_RUN_JSON)
    (folder / "journal.jsonl").write_bytes(content)
    try:
        run = tables.load(folder)
    except JournalError as error:
        _told(error)
        return
    tables.write(run)
    _compared(run)


_RUN_JSON = json.dumps({"backend": "cuda", "timing": {"confidence": 0.95, "same_within": 0.01}})


def _run_json(content: bytes, folder: Path) -> None:
    (folder / "run.json").write_bytes(content)
    (folder / "journal.jsonl").write_bytes(b"")
    try:
        run = tables.load(folder)
    except JournalError as error:
        _told(error)
        return
    repr(run)
    _compared(run)


def _compared(run: tables.Run) -> None:
    """Compare the run with another, as either side, and render the result."""
    plain = tables.Run(run.folder, json.loads(_RUN_JSON), run.records)
    for sides in ((plain, run), (run, plain)):
        judgement = judge(*sides)
        files.markdown(judgement)
        files.junit(judgement)
        json.dumps(files.as_data(judgement))


def _ncu(content: bytes, folder: Path) -> None:
    path = folder / "some.ncu-rep"
    path.write_bytes(content)
    found = container.inspect(path)
    told_shortly(found.text if isinstance(found, Failure) else found.version or "none")


def _ncu_whole(content: bytes, folder: Path) -> None:
    path = folder / "some.ncu-rep"
    path.write_bytes(content)
    found = reader.read(path)
    told_shortly(found.text if isinstance(found, Failure) else found.version or "none")


def _files(*patterns: str) -> list[bytes]:
    return [p.read_bytes() for pattern in patterns for p in sorted(ROOT.glob(pattern))]


def _small() -> list[Path]:
    """The shortest of the problems' own matrices, so that many inputs are read per second."""
    return sorted(ROOT.glob("kernels/*/bench.yaml"), key=lambda path: path.stat().st_size)[:8]


def _matrices() -> list[bytes]:
    """Complete single-file matrices, made from the problems' own."""
    whole = []
    for path in _small():
        body = "".join(f"    {line}" for line in path.read_text().splitlines(keepends=True))
        whole.append(f"problems:\n  {path.parent.name}:\n{body}\n".encode())
    return [*whole, b"timing: {rounds: 6, confidence: 0.9}\nlimits:\n  emulate_bytes: 2**20\n"]


def _expressions() -> list[bytes]:
    """Function calls from the matrices' expressions, and some expressions that use all features."""
    found = {b"ceil_div(n, 2 * block) % 7 // 3 - -n", b"not (n >= 64 and block <= 512) or n ** 2",
             b"min(n, block, 3) + max(1, next_power_of_2(n))", b"1.0 / n + 0.5e-3"}  # fmt: skip
    for text in _files("kernels/*/bench.yaml"):
        found |= set(re.findall(rb"[\w.]+\([\w ,*+/()-]+\)", text))
    return sorted(found)


def _ptx_files() -> list[bytes]:
    found = _files("tests/emulator/**/*.ptx", "tests/**/*.ptx")
    return [text for text in found if len(text) < 60_000] + [_PTX]


_PTX = b"""\
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry twice(.param .u64 input, .param .u32 n)
.maxntid 256, 1, 1
{
	.reg .pred %p<3>;
	.reg .f32 %f<4>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<5>;
	.shared .align 4 .b8 tile[128];
	.loc 1 7 3
	ld.param.u64 %rd1, [input];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mad.lo.s32 %r3, %r2, 4, %r1;
	setp.ge.s32 %p1, %r3, %r1;
	@%p1 bra $L_end;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.s32 %rd3, %r3, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.v2.f32 {%f1, %f2}, [%rd4+8];
	fma.rn.f32 %f3, %f1, 0f40000000, %f2;
	{
	.reg .b32 %temp;
	mov.b32 %temp, %f3;
	}
	st.shared.f32 [tile+-4], %f3;
	bar.sync 0;
	atom.global.add.u32 %r4, [table], 1;
	shfl.sync.down.b32 %r5|%p2, %r4, 16, 31, -1;
	@!%p2 st.global.f32 [%rd4], %f3;
$L_end:
	ret;
}
"""


def _records() -> list[bytes]:
    """A journal with at least one record of each kind, from a measured run."""
    kept: dict[str, list[bytes]] = {}
    for journal in sorted(ROOT.glob("reports/h200/*/journal.jsonl.gz")):
        for line in gzip.decompress(journal.read_bytes()).splitlines(keepends=True):
            kind = re.search(rb'"kind": ?"(\w+)"', line)
            if kind and len(lines := kept.setdefault(kind[1].decode(), [])) < 12:
                lines.append(line)
    return [b"".join(line for lines in kept.values() for line in lines)]


def _reports() -> list[bytes]:
    """Shorten the payloads of reports, because only the framing is read."""
    found = _files("tests/data/**/*.ncu-rep")
    small = b"NVR\0" + (2).to_bytes(4, "little") + b"\x08\x01"
    for payload in (0, 3, 40):
        header = bytes((0x10, 1, 0x28, payload))
        small += len(header).to_bytes(4, "little") + header + b"p" * payload
    return [small, *(report[:4000] for report in found)]


def _in_a_record(random: random.Random, seeds: list[bytes]) -> bytes:
    """Change some records of a journal, mostly keeping their checksums valid."""
    lines = random.choice(seeds).splitlines()
    lines = random.sample(lines, random.randint(1, min(len(lines), 25)))
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(lines))
        body = lines[at].partition(b',"record":')[2][:-1]
        changed = in_json(random, body) if random.random() < 0.7 else mutated(random, [body])
        lines[at] = (
            b'{"crc32":"%08x","record":%s}' % (zlib.crc32(changed), changed)
            if random.random() < 0.9 else mutated(random, [lines[at]])
        )  # fmt: skip
    return b"\n".join(lines) + random.choice((b"\n", b"\n", b""))


def _in_run_json(random: random.Random, seeds: list[bytes]) -> bytes:
    if random.random() < 0.5:
        return in_json(random, random.choice(seeds))
    return mutated(random, seeds)


def _one_run_json() -> list[bytes]:
    return [_RUN_JSON.encode(), *(text for text in _files("reports/h200/*/run.json"))]


TARGETS = {
    "yaml": Target(_matrices, _yaml),
    "expressions": Target(_expressions, _expression),
    "ptx": Target(_ptx_files, _ptx),
    "journal": Target(_records, _journal, _in_a_record),
    "run-json": Target(_one_run_json, _run_json, _in_run_json),
    "ncu-rep": Target(_reports, _ncu),
}  # fmt: skip


# --- running --------------------------------------------------------------------------------------


class LateError(BaseException):
    """Raised when the deadline has passed; readers must not catch it."""


def raise_late(number: int, frame: FrameType | None) -> None:
    raise LateError


def failure(target: Target, content: bytes, folder: Path, deadline_s: float) -> str | None:
    """Describe what went wrong with one input, if anything. `raise_late` must handle SIGALRM.

    The deadline applies to the attempt alone; describing its failure may take longer.
    """
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, deadline_s)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                target.attempt(content, folder)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except LateError:
        return f"not done after {deadline_s:g} s"
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        return f"{type(error).__name__} at {where}: {error}"[:300]
    return None


def _batch(asked: tuple[str, int, int, float]) -> list[tuple[str, bytes]]:
    """Return the failures among some inputs: (what went wrong, input)."""
    name, seed, count, deadline_s = asked
    target = TARGETS[name]
    if name not in _seeds:
        _seeds[name] = target.seeds()
    draw = random.Random(f"{name}/{seed}")
    failures = []
    before = signal.signal(signal.SIGALRM, raise_late)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for _ in range(count):
            content = (target.mutate or mutated)(draw, _seeds[name])
            (folder / "input").write_bytes(content)
            if what := failure(target, content, folder, deadline_s):
                failures.append((what, content))
    finally:
        signal.signal(signal.SIGALRM, before)
        shutil.rmtree(folder, ignore_errors=True)
    return failures


_seeds: dict[str, list[bytes]] = {}


def run(
    name: str, inputs: int, seed: int = 1, jobs: int = 1, deadline_s: float = DEADLINE_S
) -> Iterator[tuple[str, bytes]]:
    """Yield the failures of one target as they occur. `jobs`: the number of processes that share
    the inputs. If a process ends early, its whole batch is a failure; the seed reproduces the
    inputs."""
    batches = [(name, seed * 1_000_003 + i, min(BATCH, inputs - i * BATCH), deadline_s)
               for i in range(-(-inputs // BATCH))]  # fmt: skip
    if jobs == 1:
        for batch in batches:
            yield from _batch(batch)
        return
    # Spawned and not forked: libraries may have started threads here.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=200) as pool:
        pending = [(batch, pool.apply_async(_batch, (batch,))) for batch in batches]
        for batch, result in pending:
            try:
                yield from result.get(timeout=BATCH * deadline_s + 60)
            except multiprocessing.TimeoutError:
                yield f"the process of batch {batch[1]} ended, or hangs", b""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz the targets that are named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz-inputs")
    asked = parser.parse_args(arguments)
    if unknown := sorted({*asked.targets} - {*TARGETS}):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(TARGETS)}")
    found = 0
    for name in asked.targets or TARGETS:
        begun, seen = time.monotonic(), dict[str, int]()
        for what, content in run(name, asked.inputs, asked.seed, max(1, asked.jobs)):
            seen[what] = seen.get(what, 0) + 1
            if seen[what] == 1:
                asked.out.mkdir(parents=True, exist_ok=True)
                kept = asked.out / f"{name}-{len(seen)}"
                kept.write_bytes(content)
                print(f"  {name}: {what}\n    {kept}", flush=True)
        failed = sum(seen.values())
        found += failed
        print(f"{name}: {asked.inputs:,} inputs, {failed} failures, "
              f"{time.monotonic() - begun:.0f} s", flush=True)  # fmt: skip
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
