"""Run broken kernels on the emulator's engine, built with sanitizers for this purpose.

    python scripts/fuzzing/fuzz_kernels.py --inputs 100000 [--seconds 600] [--seed 1] [--plain]

In the PTX of the tests' correct kernels, instructions are changed, dropped, moved and given each
other's operands, in such a way that most kernels still run; each kernel is launched as its file
specifies. Each launch has to end with a report, or with one of the emulator's own refusals.
Anything else is a failure, including a run past the deadline and a sanitizer error: the input is
kept in --out, and the exit code is 1. `--plain`: without sanitizers. `--asynchronous`: only kernels
with mbarriers, bulk copies, TMA copies, clusters and `wgmma`
(scripts/fuzzing/asynchronous_kernels.py).
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts"), str(ROOT / "tests" / "emulator")]

import asynchronous_kernels  # noqa: E402
import fuzz  # noqa: E402
import sanitized  # noqa: E402
from kernel_files import asked  # noqa: E402
from mutations import mutated  # noqa: E402

from harness.compiler import toolchain  # noqa: E402
from harness.emulator import LaunchReport, Module, launch, parse  # noqa: E402
from harness.emulator.engine.library import load  # noqa: E402
from harness.emulator.errors import EmulatorError  # noqa: E402

_ARCH = "sm_90"
_BUDGET = 2**19
_NAME = b"// of "
_CHILD = "--child"
_ASYNCHRONOUS = "--asynchronous"
_WITH_MBARRIERS = (
    "async_copies_in_a_ring_with_mbarriers", "bulk_copies_in_a_ring", "bulk_copy_back",
    "bulk_copy_passed_on", "copies_that_arrive", "mbarrier_of_a_block",
)  # fmt: skip


@functools.cache
def _files() -> dict[bytes, Path]:
    return {path.stem.encode(): path for path in (ROOT / "tests/emulator/correct").glob("*.cu")}


def ptx_of(path: Path) -> bytes:
    """The PTX of a file, compiled again only when the file has changed."""
    ptx = ROOT / "build" / "fuzz-ptx" / f"{path.stem}.ptx"
    if not ptx.exists() or ptx.stat().st_mtime < path.stat().st_mtime:
        ptx.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp()) / ptx.name
        command = [toolchain.find().nvcc, "-ptx", "-lineinfo", f"-arch={_ARCH}"]
        command += [f"-I{ROOT}/kernels", "-o", str(made), str(path)]
        subprocess.run(command, check=True, capture_output=True)
        ptx.write_bytes(made.read_bytes())
    return ptx.read_bytes()


def _seeds() -> list[bytes]:
    """The PTX of every file, preceded by the file's name."""
    paths = sorted(_files().values())
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as several:
        ptx = several.map(ptx_of, paths)
        return [
            _NAME + path.stem.encode() + b"\n" + text for path, text in zip(paths, ptx, strict=True)
        ]


def _asynchronous_seeds() -> list[bytes]:
    texts = {name: each.text.encode() for name, each in asynchronous_kernels.KERNELS.items()}
    texts |= {name: ptx_of(_files()[name.encode()]) for name in _WITH_MBARRIERS}
    return [_NAME + name.encode() + b"\n" + text for name, text in texts.items()]


def _launched(name: bytes, module: Module) -> LaunchReport:
    own = asynchronous_kernels.KERNELS.get(name.decode())
    if own:
        return launch(
            module, "k", own.grid, own.block, own.arguments(), max_thread_instructions=_BUDGET
        )
    how = asked(_files()[name])
    return launch(
        module, how.kernel, how.grid, how.block, how.copied(), *how.shared,
        max_thread_instructions=_BUDGET,
    )  # fmt: skip


def _attempt(content: bytes, folder: Path) -> None:
    name = content[len(_NAME) :].split(b"\n", 1)[0]
    try:
        report = _launched(name, parse(content.decode(errors="replace")))
        for fault in report.faults:
            fuzz.told_shortly(str(fault))
        tuple(report.counters)
    except EmulatorError as error:
        fuzz.told_shortly(str(error))


# --- how kernels are broken -----------------------------------------------------------------------

_INSTRUCTION = re.compile(rb"^\t(?!\.|//)[@%\w].*;$")
_WORD = re.compile(rb"%?[\w.$]+|\[[^\]]*\]")
_NUMBERS = b"""0 1 -1 3 7 31 32 33 255 4096 65536 2147483647 -2147483648 4294967295
    9223372036854775807""".split()
_TYPES = b"""u8 s8 u16 s16 u32 s32 b32 f32 u64 s64 b64 f64 f16x2 b128 e4m3x2 pred v2 v4 shared
    shared::cluster global local param const sync wide lo hi""".split()


def _in_kernel(draw: random.Random, seeds: list[bytes]) -> bytes:
    """Change one to six instructions of one kernel; in a few cases, change the text arbitrarily."""
    if draw.random() < 0.1:
        head, text = draw.choice(seeds).split(b"\n", 1)
        return head + b"\n" + mutated(draw, [text])
    lines = draw.choice(seeds).split(b"\n")
    places = [n for n, line in enumerate(lines) if _INSTRUCTION.match(line)]
    others = [line for line in draw.choice(seeds).split(b"\n") if _INSTRUCTION.match(line)]
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        at = draw.choice(places)
        other = draw.choice(others) if draw.random() < 0.3 else lines[draw.choice(places)]
        lines[at] = draw.choice(_CHANGES)(draw, lines[at], other)
    return b"\n".join(lines)


def _operand(draw: random.Random, line: bytes, other: bytes) -> bytes:
    """Replace a register, address or number with another one from this or a second instruction."""
    own, theirs = list(_WORD.finditer(line)), _WORD.findall(other)
    if len(own) < 2 or len(theirs) < 2:
        return line
    at = draw.choice(own[1:])
    return line[: at.start()] + draw.choice([*theirs[1:], draw.choice(_NUMBERS)]) + line[at.end() :]


def _number(draw: random.Random, line: bytes, _: bytes) -> bytes:
    found = list(re.finditer(rb"(?<![\w%$])-?\d+", line))
    if not found:
        return line.replace(b"]", b"+" + draw.choice(_NUMBERS) + b"]")
    at = draw.choice(found)
    return line[: at.start()] + draw.choice(_NUMBERS) + line[at.end() :]


def _opcode(draw: random.Random, line: bytes, other: bytes) -> bytes:
    """Replace the opcode with that of another instruction."""
    own, theirs = _WORD.search(line), _WORD.search(other)
    if own is None or theirs is None:
        return line
    return line[: own.start()] + theirs[0] + line[own.end() :]


def _type(draw: random.Random, line: bytes, _: bytes) -> bytes:
    """Replace one of the dot-separated parts of the opcode."""
    found = list(re.finditer(rb"(?<=\.)[a-z]\w*", line))
    if not found:
        return line
    at = draw.choice(found)
    return line[: at.start()] + draw.choice(_TYPES) + line[at.end() :]


def _guarded(draw: random.Random, line: bytes, _: bytes) -> bytes:
    return b"\t@%p" + str(draw.randrange(1, 6)).encode() + b" " + line.lstrip(b"\t")


def _replaced(draw: random.Random, line: bytes, other: bytes) -> bytes:
    return draw.choice([b"", other, line + b"\n" + line, line + b"\n" + other])


_CHANGES = (_operand, _operand, _operand, _number, _number, _opcode, _type, _guarded, _replaced)

fuzz.TARGETS["kernels"] = fuzz.Target(_seeds, _attempt, _in_kernel)
fuzz.TARGETS["asynchronous"] = fuzz.Target(_asynchronous_seeds, _attempt, _in_kernel)


# --- running --------------------------------------------------------------------------------------


def _in_this_process(kind: str, seed: int, inputs: int, folder: Path) -> int:
    """Run a batch; the current input is kept in the folder."""
    assert not isinstance(load(), str), load()
    target = fuzz.TARGETS[kind]
    seeds, draw, failed = target.seeds(), random.Random(f"{kind}/{seed}"), 0
    fuzz.signal.signal(fuzz.signal.SIGALRM, fuzz.raise_late)
    for _ in range(inputs):
        content = _in_kernel(draw, seeds)
        (folder / "input").write_bytes(content)
        if what := fuzz.failure(target, content, folder, fuzz.DEADLINE_S):
            failed += 1
            kept = folder / f"failure-{seed}-{failed}.ptx"
            kept.write_bytes(content)
            print(f"{what}\n    {kept}", flush=True)
        with (folder / "done").open("a") as done:
            done.write("x")
    return failed


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--inputs", type=int, default=100_000)
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--plain", action="store_true")
    arguments.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz-kernels")
    arguments.add_argument(_ASYNCHRONOUS, action="store_true")
    arguments.add_argument(_CHILD, action="store_true", help=argparse.SUPPRESS)
    asked = arguments.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.child:
        kind = "asynchronous" if asked.asynchronous else "kernels"
        return int(_in_this_process(kind, asked.seed, asked.inputs, asked.out) > 0)
    of_kind = [_ASYNCHRONOUS] * asked.asynchronous
    _asynchronous_seeds() if asked.asynchronous else _seeds()
    environment = dict(os.environ) if asked.plain else sanitized.environment("address")
    build = [sys.executable, __file__, _CHILD, *of_kind, "--inputs", "0", "--out", str(asked.out)]
    subprocess.run(build, env=environment, check=True)
    done, failed, begun, batch = 0, 0, time.monotonic(), 0
    while done < asked.inputs and time.monotonic() - begun < asked.seconds:
        (asked.out / "done").write_text("")
        count = min(2000, asked.inputs - done)
        seed = asked.seed * 1_000_003 + batch
        drawn = ["--inputs", str(count), "--seed", str(seed), "--out", str(asked.out)]
        command = [sys.executable, __file__, _CHILD, *of_kind, *drawn]
        since = time.monotonic() - begun
        left = None if asked.seconds == float("inf") else asked.seconds - since
        try:
            ended = subprocess.run(
                command, env=environment, stderr=subprocess.PIPE, text=True, check=False,
                timeout=left,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            done += len((asked.out / "done").read_text())
            break
        tried = len((asked.out / "done").read_text())
        if ended.returncode not in (0, 1) or (tried < count and ended.returncode):
            kept = asked.out / f"crash-{asked.seed}-{batch}.ptx"
            kept.write_bytes((asked.out / "input").read_bytes())
            tail = "\n".join(ended.stderr.splitlines()[:30])
            print(f"the process ended with {ended.returncode}: {kept}\n{tail}", flush=True)
            tried += 1
        failed += ended.returncode != 0
        done, batch = done + tried, batch + 1
        print(f"{done:7} inputs, {failed} batches with failures, "
              f"{time.monotonic() - begun:.0f} s", flush=True)  # fmt: skip
    print(f"{done} broken kernels in {time.monotonic() - begun:.0f} s: "
          f"{failed} batches with failures")  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
