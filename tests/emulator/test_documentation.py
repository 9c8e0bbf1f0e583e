"""The example in docs/emulator.md runs and prints the output shown there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from emulator_tools import ROOT, find_nvcc


def test_the_example_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "emulator.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    path = f"{Path(find_nvcc()).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    promised = text.split("    /…")[1].split("\n")[0]
    assert done.stdout.rstrip().endswith(promised)
    assert "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum" in done.stdout
