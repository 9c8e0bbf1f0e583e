"""Make `.venv` hold what this machine needs, once, and again whenever the pins change.

Run by every Makefile target with the system's Python, so it may use the standard library only. The
CUDA compiler and disassembler come from PyPI wheels only where the machine has none of its own;
PyCUDA and torch only where an NVIDIA driver is present.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PINS = [ROOT / "pyproject.toml", ROOT / "constraints.txt", Path(__file__)]


def has(tool: str) -> bool:
    """Whether the environment names a tool of the CUDA toolkit (as harness/build does)."""
    home = os.environ.get("CUDA_HOME")
    named = [os.environ.get(tool.upper()), home and str(Path(home) / "bin" / tool), tool]
    return any(shutil.which(name) for name in named if name)


def has_driver() -> bool:
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def main() -> None:
    if sys.version_info < (3, 10):  # noqa: UP036 - said to those who have an older one
        sys.exit(f"Python 3.10 or newer is needed; {sys.executable} is {sys.version.split()[0]}. "
                 "Name another: make PYTHON=python3.12 bench")  # fmt: skip
    extras = ["dev", "cluster", *(["compiler"] if not has("nvcc") else []),
              *(["disassembler"] if not has("nvdisasm") else []),
              *(["gpu"] if has_driver() else [])]  # fmt: skip
    pins = hashlib.sha256(b"".join(path.read_bytes() for path in PINS)).hexdigest()
    python = f"{sys.version} {sys.base_prefix} {VENV}"
    state = f"{python} {extras} {pins}"
    stamp, made_with = VENV / "installed", VENV / "made-with"
    if stamp.exists() and stamp.read_text() == state:
        return
    print(f"setting up .venv with {', '.join(extras)} (once; a few minutes with a slow network)")
    stamp.unlink(missing_ok=True)
    if not made_with.exists() or made_with.read_text() != python:
        venv.create(VENV, with_pip=True, clear=True)  # one Python's venv does not serve another
        made_with.write_text(python)
    install = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet",
               "--disable-pip-version-check", "-c", ROOT / "constraints.txt",
               "-e", f"{ROOT}[{','.join(extras)}]"]  # fmt: skip
    finished = subprocess.run(install, check=False)
    if finished.returncode:
        sys.exit("pip could not install the dependencies (its message is above); "
                 "mend that and run make again")  # fmt: skip
    stamp.write_text(state)


if __name__ == "__main__":
    main()
