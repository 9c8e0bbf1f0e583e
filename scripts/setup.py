"""Install what this machine needs into `.venv`, and again whenever the pins change.

Every Makefile target runs it with the system's Python, so it must use only the standard library.
The CUDA compiler comes from PyPI wheels only if the machine has none of its own; the disassembler,
without which nothing is counted exactly, always comes from them. Packages for a GPU are installed
in a second step, if an NVIDIA driver is present: if that fails, the failure is reported, and
everything that needs no GPU still works.
"""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import gpu_packages

from harness.compiler import drivers

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PINS = [ROOT / "pyproject.toml", ROOT / "constraints.txt", Path(__file__)]
GPU_PINS = [
    ROOT / "constraints.txt", Path(gpu_packages.__file__), Path(drivers.__file__),
]  # fmt: skip
_TAIL = 4


def has_driver() -> bool:
    return Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is not None


def main() -> None:
    if sys.version_info < (3, 10):  # noqa: UP036 - said to those who have an older one
        sys.exit(f"Python 3.10 or newer is needed; {sys.executable} is {sys.version.split()[0]}. "
                 "Name another: make PYTHON=python3.12 bench")  # fmt: skip
    extras = ["dev", "cluster", *(["compiler"] if not drivers.own("nvcc") else [])]
    python = f"{sys.version} {sys.base_prefix} {VENV}"
    _base(python, extras)
    if has_driver():
        _gpu(python)


def _base(python: str, extras: list[str]) -> None:
    """Install everything that needs no GPU. Exit if that fails: nothing works without it."""
    state = f"{python} {extras} {_digest(PINS)}"
    stamp, made_with = VENV / "installed", VENV / "made-with"
    if stamp.exists() and stamp.read_text() == state:
        return
    print(f"setting up .venv with {', '.join(extras)} (once; a few minutes with a slow network)")
    if not made_with.exists() or made_with.read_text() != python:
        _make_environment(made_with)
        made_with.write_text(python)
    stamp.unlink(missing_ok=True)
    log = VENV / "setup.log"
    install = [VENV / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check",
               "-c", ROOT / "constraints.txt", "-e", f"{ROOT}[{','.join(extras)}]"]  # fmt: skip
    with log.open("w") as output:
        finished = subprocess.run(install, stdout=output, stderr=subprocess.STDOUT, check=False)
    if finished.returncode:
        lines = log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        sys.exit("\n".join([
            "the packages could not be installed", *(f"  {line}" for line in errors[-_TAIL:]),
            f"  the whole output is in {log}; mend that and run make again",
        ]))  # fmt: skip
    stamp.write_text(state)


def _make_environment(made_with: Path) -> None:
    """Create `.venv` again: the virtual environment of a different Python cannot be used.

    An environment that `make setup` did not create is left alone; `made_with` marks those it did.
    """
    if VENV.is_symlink() or (VENV.exists() and not made_with.exists()):
        sys.exit(f"{VENV} is not from make setup, which would have to replace it\n"
                 "  remove it or move it away, and run make again")  # fmt: skip
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(f"no virtual environment can be made: {sys.executable} has no ensurepip\n"
                 "  Debian and Ubuntu keep it in a package of its own\n"
                 f"  apt install python{version}-venv, and run make again")  # fmt: skip
    if VENV.exists():
        shutil.rmtree(VENV)
    VENV.mkdir()
    made_with.touch()  # first, so that the next attempt may replace an environment left half-made
    venv.create(VENV, with_pip=True)


def _gpu(python: str) -> None:
    """Install what timing needs. A failure is reported on every run, and retried after a change."""
    own = drivers.toolkit()
    built = drivers.missing_for_building() is None
    facts = f"{python} {drivers.driver()} {own} {built} {_digest(GPU_PINS)}"
    stamp = VENV / "installed-gpu"
    known, _, failure = stamp.read_text().partition("\n") if stamp.exists() else ("", "", "")
    state = hashlib.sha256(facts.encode()).hexdigest()
    if known != state:
        try:
            gpu_packages.install(VENV / "bin" / "python", ROOT, VENV / "setup-gpu.log")
            failure = ""
        except gpu_packages.SetupError as error:
            failure = str(error)
            if not error.settled:
                print(failure)
                return
        except OSError as error:  # for example, a full disk, which may be fixed later
            print(f"the GPU's packages could not be installed\n  {error}\n  run make again")
            return
        stamp.write_text(f"{state}\n{failure}")
    if failure:
        print(f"{failure}\n  (to try the same again: rm {stamp.relative_to(ROOT)})")


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


if __name__ == "__main__":
    main()
