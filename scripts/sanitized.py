"""Run the engine's own tests on an engine built with sanitizers; the first finding ends the run.

    python scripts/sanitized.py [--kind address|thread] [TEST...] [-- OPTIONS]

TEST is a file or folder, `tests/emulator` by default; OPTIONS are passed to pytest. Both engines,
for PTX and for machine code, are built with the sanitizers, which takes some minutes, and are kept
next to the usual ones. `address` checks addresses and undefined behaviour; `thread` looks for races
between the engine's own threads. Exits with pytest's code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BUILD = "-fno-omit-frame-pointer -O1 -g"
FLAGS = {
    "address": f"-fsanitize=address,undefined -fno-sanitize-recover=all {_BUILD}",
    "thread": f"-fsanitize=thread {_BUILD}",
}
# The compilers that the tests start need no sanitizer.
_PYTEST = (
    "import os, sys, pytest; del os.environ['LD_PRELOAD']; sys.exit(pytest.main(sys.argv[1:]))"
)
# This test starts a separate Python, without the sanitizer that the engine needs.
_NOT = "tests/emulator/test_documentation.py::test_the_example_runs"
_LIBRARIES = {"address": ("libasan", "libubsan"), "thread": ("libtsan",)}


def environment(kind: str) -> dict[str, str]:
    """The environment of a Python process that builds the engine in this way and loads it."""
    said = [
        subprocess.run(["g++", f"-print-file-name={name}.so"], check=True, capture_output=True,
                       text=True).stdout.strip()
        for name in _LIBRARIES[kind]
    ]  # fmt: skip
    return {
        **os.environ, "LD_PRELOAD": ":".join(said), "CXXFLAGS": FLAGS[kind],
        # The stacks of detect_stack_use_after_return are aligned for AVX2 only (GCC bug 110027).
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1"
                        ":detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
    }  # fmt: skip


def main() -> int:
    own = sys.argv[1:]
    at = own.index("--") if "--" in own else len(own)
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("tests", nargs="*", default=["tests/emulator"])
    parser.add_argument("--kind", choices=sorted(FLAGS), default="address")
    asked = parser.parse_args(own[:at])
    # pytest-xdist would restart a worker that a sanitizer ended, and lose the report.
    command = [sys.executable, "-c", _PYTEST, "-q", "-x", "-n0", "-p", "no:faulthandler", "-s"]
    command += ["--deselect", _NOT, *asked.tests, *own[at + 1 :]]
    return subprocess.run(command, env=environment(asked.kind), cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
