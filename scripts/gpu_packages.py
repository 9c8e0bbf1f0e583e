"""What a GPU needs beside the rest of `.venv`: torch as its driver runs it, and PyCUDA, built here.

PyCUDA has no wheels on PyPI, so it is compiled against the headers of the CUDA toolkit that nvcc
belongs to, or of PyPI's wheels where there is no toolkit. The driver decides the rest: a driver of
CUDA 12 runs nothing that the compiler of CUDA 13 makes (CUDA Compatibility, "Minor Version
Compatibility"). Run with the system's Python, so it may use the standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEADERS = ("nvidia-cuda-runtime==13.0.96", "nvidia-cuda-profiler-api==13.0.85")
"""cuda.h and cudaProfiler.h, as torch and the compiler from PyPI want them, too."""

PYCUDA = "2026.1"
TORCH_OF_CUDA_12 = "torch==2.10.*"
"""The last whose wheels on PyPI are built with CUDA 12 (12.8), which every driver from 525 on runs:
CUDA Compatibility, table "CUDA Toolkit 12.x"."""

USUAL_ROOT = "/usr/local/cuda"
"""Where NVIDIA's installers put a toolkit, on PATH or not."""

OLDEST_NVCC = (12, 4)
SAY_EVERY_S = 15


class SetupError(Exception):
    """What failed, why, and what to do: a line each.

    settled: nothing is to be expected of another try before something has changed.
    """

    def __init__(self, what: str, why: str, remedy: str, settled: bool = True) -> None:
        super().__init__(f"{what}\n  {why}\n  {remedy}")
        self.what, self.why, self.remedy = what, why, remedy
        self.settled = settled


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit of the machine's own: its nvcc, release and root folder."""

    nvcc: str
    release: tuple[int, int]
    root: Path


def _driver() -> ctypes.CDLL | None:
    """Load the driver's library, from WSL's folder if need be; None where there is no driver."""
    for name in ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


def driver() -> tuple[int, int] | None:
    """The CUDA release that the driver runs, such as (12, 2); None where it does not tell."""
    library, found = _driver(), ctypes.c_int(0)
    with contextlib.suppress(AttributeError):
        if library and library.cuDriverGetVersion(ctypes.byref(found)) == 0 and found.value:
            return found.value // 1000, found.value % 1000 // 10
    return None


def driver_library() -> Path | None:
    """The driver's library as a file."""
    if _driver() is None:
        return None
    found = re.search(r"(/\S*/libcuda\.so\S*)", Path("/proc/self/maps").read_text())
    return Path(found[1]) if found else None


def own(tool: str) -> str | None:
    """Where this machine has a tool of the CUDA toolkit: the harness searches the same places."""
    home = os.environ.get("CUDA_HOME")
    named = [os.environ.get(tool.upper()), home and str(Path(home) / "bin" / tool), tool,
             f"{USUAL_ROOT}/bin/{tool}"]  # fmt: skip
    return next((found for name in named if name and (found := shutil.which(name))), None)


def toolkit() -> Toolkit | None:
    """The toolkit that the machine's nvcc belongs to, also where that is a wrapper script."""
    nvcc = own("nvcc")
    if nvcc is None:
        return None
    version = re.search(r"release (\d+)\.(\d+)", _said(nvcc, "--version"))
    # Of its dry run the line `#$ TOP=…` names the toolkit, `_HERE_` the folder of the real nvcc.
    dry = _said(nvcc, "--dryrun", "x.cu")
    here = re.search(r"^#\$ _HERE_=(.+)$", dry, re.MULTILINE)
    top = re.search(r"^#\$ TOP=(.+)$", dry, re.MULTILINE)
    if not version:
        return None
    folder = Path(here[1].strip()) if here else Path(nvcc).resolve().parent
    root = (folder / ".." if not top else folder / Path(top[1].strip())).resolve()
    return Toolkit(nvcc, (int(version[1]), int(version[2])), root)


def obstacle(cuda: tuple[int, int] | None, ours: Toolkit | None) -> SetupError | None:
    """Why nothing can be timed here, told before anything is downloaded; None where it can."""
    goes_on = "until then kernels are emulated: make bench ARGS='--backend emulator', make test"
    if cuda is None:
        return SetupError(
            "the GPU cannot be used: its driver does not load",
            "libcuda.so.1 is missing, or does not say which CUDA it runs",
            f"mend the driver until nvidia-smi lists the GPU; {goes_on}",
        )
    said = f"{cuda[0]}.{cuda[1]}"
    if ours and ours.release < OLDEST_NVCC:
        return SetupError(
            f"the GPU cannot be used: nvcc {ours.release[0]}.{ours.release[1]} is too old",
            f"{ours.nvcc} is what is compiled with; 12.4 is the oldest that works",
            f"install a newer CUDA toolkit and name its nvcc in NVCC; {goes_on}",
        )
    release = ours.release if ours else (13, 0)
    if release[0] > cuda[0]:
        whose = f"{ours.nvcc} is" if ours else "the only compiler on PyPI is"
        return SetupError(
            f"the GPU cannot be used: its driver runs CUDA {said} and older",
            f"{whose} of CUDA {release[0]}.{release[1]}, whose code needs driver 580 or newer",
            f"update the driver to 580, or install the CUDA toolkit 12.4 to 12.9; {goes_on}",
        )
    return None


def torch_for(cuda: tuple[int, int], pinned: str) -> str:
    """The torch that a driver of this CUDA release runs. pinned: the one for CUDA 13."""
    return pinned if cuda >= (13, 0) else TORCH_OF_CUDA_12


def without_cuda_13(constraints: str) -> str:
    """The pins that hold with an older torch, too: none of torch's own parts."""
    ours = re.compile(r"^(torch|triton|nvidia-(?!ml-py|cuda-nvdisasm)|cuda-)")
    return "".join(line for line in constraints.splitlines(True) if not ours.match(line))


def missing_for_building() -> SetupError | None:
    """What the machine lacks for compiling PyCUDA."""
    import sysconfig

    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return SetupError(
            "PyCUDA cannot be built: Python.h is missing",
            f"{sys.executable} came without the headers that extensions are compiled with",
            f"install them (Debian: apt install python3-dev or python{version}-dev), and run make "
            "again; emulation, tests and reports work without",
        )
    return None


def headers(ours: Toolkit | None, packages: Path) -> list[Path]:
    """The folders of cuda.h and cudaProfiler.h: the toolkit's, or those of PyPI's wheels."""
    if ours:
        there = [ours.root / "include", *sorted(ours.root.glob("targets/*/include"))]
    else:
        there = sorted((packages / "nvidia").glob("cu*/include"), reverse=True)
        there += sorted((packages / "nvidia").glob("cuda_*/include"))
    return [folder for folder in there if (folder / "cuda.h").exists()
            or (folder / "cudaProfiler.h").exists()]  # fmt: skip


def configuration(include: Sequence[Path], links: Path) -> str:
    """PyCUDA's siteconf.py. Without cuRAND, which nothing here uses."""
    return (
        f"CUDA_INC_DIR = {[str(folder) for folder in include]!r}\n"
        f"CUDADRV_LIB_DIR = {[str(links)]!r}\n"
        "CUDADRV_LIBNAME = ['cuda']\n"
        "CUDA_ROOT = None\n"
        "CUDA_ENABLE_CURAND = False\n"
        "USE_SHIPPED_BOOST = True\n"
        "CXXFLAGS = []\n"
        "LDFLAGS = []\n"
    )


def build_pycuda(
    python: Path, ours: Toolkit | None, work: Path, log: Path, constraints: Path
) -> None:
    """Fetch PyCUDA's source, compile it against the headers that are there, and install it.

    Raises SetupError; the log has everything that was printed.
    """
    shutil.rmtree(work, ignore_errors=True)
    (work / "links").mkdir(parents=True)
    packages = Path(
        _said(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    include = headers(ours, packages)
    for name in ("cuda.h", "cudaProfiler.h"):
        if not any((folder / name).exists() for folder in include):
            whose = f"the toolkit of {ours.nvcc}" if ours else "the wheels from PyPI"
            raise SetupError(
                f"PyCUDA cannot be built: {name} is missing",
                f"{whose} has none in its include folder",
                "install the toolkit's headers (cuda-driver-dev, cuda-profiler-api); make again",
            )
    library = driver_library()
    if library is None:
        raise SetupError(
            "PyCUDA cannot be built: libcuda.so.1 is not found",
            "the driver is not installed whole",
            "mend the driver until nvidia-smi lists the GPU, and run make again",
        )
    (work / "links" / "libcuda.so").symlink_to(library)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    with log.open("a") as output:
        _step([*pip, "download", "--no-deps", "--no-binary", "pycuda", "--no-build-isolation",
               "-d", str(work), f"pycuda=={PYCUDA}"],
              "fetching PyCUDA's source", output, log)  # fmt: skip
        [archive] = work.glob("pycuda-*.tar.gz")
        with tarfile.open(archive) as tar:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            tar.extractall(work, **safely)
        folder = next(each for each in work.glob("pycuda-*") if each.is_dir())
        (folder / "siteconf.py").write_text(configuration(include, work / "links"))
        _step([*pip, "install", "--verbose", "--no-build-isolation", "-c", str(constraints),
               str(folder)],
              "building PyCUDA: some 3 minutes on 2 cores", output, log,
              lambda: f"{_compiled(log)} files compiled", settled=True)  # fmt: skip
    check = subprocess.run(
        [str(python), "-c", "import pycuda.driver"], capture_output=True, text=True, check=False
    )
    if check.returncode:
        raise SetupError(
            "PyCUDA was built and does not load", (check.stderr.strip().splitlines() or ["?"])[-1],
            f"see {log}; emulation, tests and reports work without",
        )  # fmt: skip
    shutil.rmtree(work, ignore_errors=True)


def _compiled(log: Path) -> int:
    """How many files the compiler was called for so far."""
    return len(re.findall(r"^ *\S*(?:g\+\+|gcc|cc) .* -c ", log.read_text(errors="replace"), re.M))


def _step(
    command: Sequence[str],
    what: str,
    output: object,
    log: Path,
    progress: Callable[[], str] = lambda: "",
    settled: bool = False,
) -> None:
    """Run a step to its end, saying every few seconds that it goes on. Raises SetupError."""
    print(f"{what} …", flush=True)
    begun = time.monotonic()
    child = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,  # type: ignore[call-overload]
    )  # fmt: skip
    while True:
        try:
            code = child.wait(SAY_EVERY_S)
            break
        except subprocess.TimeoutExpired:
            done = ", ".join(filter(None, [f"{time.monotonic() - begun:.0f} s", progress()]))
            print(f"  {done}", flush=True)
    if code:
        said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        wrong = [line.strip() for line in said if re.search(r"\berror\b", line, re.IGNORECASE)]
        why = (wrong or said or ["it says nothing"])[0]
        raise SetupError(
            f"{what.partition(':')[0]} failed", why[:300],
            f"the whole output is in {log}; mend that and run make again. Emulation, tests and "
            "reports work without", settled,
        )  # fmt: skip


def install(python: Path, root: Path, log: Path) -> None:
    """All that timing needs, into the environment of that Python. Raises SetupError."""
    cuda, ours = driver(), toolkit()
    if found := obstacle(cuda, ours):
        raise found
    assert cuda is not None
    if missing := missing_for_building():
        raise missing
    log.write_text("")
    constraints = root / "constraints.txt"
    pinned = next(
        line.split()[0]
        for line in constraints.read_text().splitlines()
        if line.startswith("torch==")
    )
    torch = torch_for(cuda, pinned)
    if torch != pinned:
        constraints = log.with_name("constraints-cuda-12.txt")
        constraints.write_text(without_cuda_13((root / "constraints.txt").read_text()))
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check",
           "-c", str(constraints)]  # fmt: skip
    with log.open("a") as output:
        wanted = [torch, "nvidia-ml-py", "mako", "platformdirs", "pytools", "setuptools", "wheel",
                  *([] if ours else HEADERS)]  # fmt: skip
        _step([*pip, *wanted], "downloading torch: about 3 GB", output, log)
    build_pycuda(python, ours, log.parent / "pycuda", log, constraints)


def _said(*command: str) -> str:
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout + ended.stderr
