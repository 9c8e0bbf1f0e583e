"""`python -m harness …` run in this process, because starting one takes seconds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from harness.__main__ import main
from harness.processes import children

ROOT = Path(__file__).parents[1]


def harness(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command; return the exit code that its process would have, and its output.

    Its workers are nevertheless separate processes. Exceptions propagate.
    """
    command = ["harness", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd(), sys.argv, os.environ.get("PYTHONPATH")
    os.chdir(cwd)
    sys.argv, os.environ["PYTHONPATH"] = command, str(ROOT)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        os.chdir(before[0])
        sys.argv = before[1]
        os.environ.pop("PYTHONPATH")
        if before[2] is not None:
            os.environ["PYTHONPATH"] = before[2]
        children.begin_anew()
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())
