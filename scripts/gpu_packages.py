"""Install what timing on a GPU needs: a torch that the driver can run, and PyCUDA, built here.

PyCUDA has no wheels on PyPI, so it is compiled against the headers of the CUDA toolkit that nvcc
belongs to or, if there is no toolkit, of PyPI's wheels. Everything else depends on the
driver (harness/compiler/drivers.py). Runs with the system's Python, so it must use only the
standard library.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from harness.compiler import drivers
from harness.compiler.drivers import SetupError, Toolkit

HEADERS = ("nvidia-cuda-runtime==13.0.96", "nvidia-cuda-profiler-api==13.0.85")
"""The packages that contain cuda.h and cudaProfiler.h, in versions that torch and nvcc accept."""

PYCUDA = "2026.1"
TORCH_OF_CUDA_12 = "torch==2.10.*"
"""The last torch whose wheels on PyPI are built with CUDA 12 (12.8), for drivers from 525 on:
CUDA Compatibility, table "CUDA Toolkit 12.x"."""

SAY_EVERY_S = 15
GOES_ON = "kernels are emulated all the same: make bench ARGS='--backend emulator', make test"


def torch_for(cuda: tuple[int, int], pinned: str) -> str:
    """Return the torch release that a driver of this CUDA release supports. `pinned`: the one for
    CUDA 13."""
    return pinned if cuda >= (13, 0) else TORCH_OF_CUDA_12


def without_cuda_13(constraints: str) -> str:
    """Return the pins that also apply to an older torch: all except those of its own components."""
    ours = re.compile(r"^(torch|triton|nvidia-(?!ml-py|cuda-nvdisasm)|cuda-)")
    return "".join(line for line in constraints.splitlines(True) if not ours.match(line))


def headers(ours: Toolkit | None, packages: Path) -> list[Path]:
    """Find the folders with cuda.h and cudaProfiler.h, in the toolkit or in PyPI's wheels."""
    if ours:
        there = [ours.root / "include", *sorted(ours.root.glob("targets/*/include"))]
    else:
        there = sorted((packages / "nvidia").glob("cu*/include"), reverse=True)
        there += sorted((packages / "nvidia").glob("cuda_*/include"))
    return [folder for folder in there if (folder / "cuda.h").exists()
            or (folder / "cudaProfiler.h").exists()]  # fmt: skip


def configuration(include: Sequence[Path], links: Path) -> str:
    """Return PyCUDA's siteconf.py, without cuRAND, which is not used here."""
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
    """Download PyCUDA's source, compile it against the headers found, and install it.

    Raises SetupError; the log contains everything that was printed.
    """
    shutil.rmtree(work, ignore_errors=True)
    (work / "links").mkdir(parents=True)
    packages = Path(
        drivers.said(
            str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
        ).strip()
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
    library = drivers.driver_library()
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
    """Count the files that have been compiled so far."""
    return len(re.findall(r"^ *\S*(?:g\+\+|gcc|cc) .* -c ", log.read_text(errors="replace"), re.M))


def _step(
    command: Sequence[str],
    what: str,
    output: object,
    log: Path,
    progress: Callable[[], str] = lambda: "",
    settled: bool = False,
) -> None:
    """Run a step to its end, and report every few seconds that it is running. Raises SetupError."""
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
    """Install all that timing needs into the environment of that Python. Raises SetupError."""
    cuda, ours = drivers.driver(), drivers.toolkit()
    if found := drivers.obstacle(cuda, ours) or drivers.missing_for_building():
        raise SetupError(found.what, found.why, f"{found.remedy}, and run make again; {GOES_ON}")
    assert cuda is not None
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
