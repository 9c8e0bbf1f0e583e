"""`doctor`: report what is installed and usable here, and how to fix what is not."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from harness.compiler import drivers, toolchain
from harness.console.progress import console
from harness.console.suggestions import is_clone
from harness.errors import HarnessError
from harness.machine import card
from harness.machine.devices import cuda_device
from harness.ncu import command_line as ncu
from harness.ncu.failures import Failure
from harness.processes import children

_RESTRICTED = Path("/proc/driver/nvidia/params")


_INSTALLS = {
    True: "make bench installs it where a driver is present",
    False: "pip install 'kernel-harness[gpu]'; PyCUDA is compiled against a CUDA toolkit's headers "
    "then (`make setup` in a clone needs none)",
}


@dataclass(frozen=True)
class Finding:
    """One checked item. `remedy` is empty if no action is needed."""

    what: str
    ok: bool
    found: str
    remedy: str = ""


def show() -> None:
    """Print what is installed and usable here, and how to fix what is not."""
    table = Table("", "what", "found", "what to do")
    for finding in examine():
        table.add_row("ok" if finding.ok else "–", finding.what, finding.found, finding.remedy)
    console.print(table)


def examine() -> Iterator[Finding]:
    """Check everything, in the order in which a run needs it."""
    yield _compiler()
    yield _emulator()
    yield _disassembler()
    driver = _driver()
    yield driver
    installs = "not needed here"
    if driver.ok:
        timing = _timing()
        yield timing
        installs = _INSTALLS[is_clone()] if timing.ok else "mend what is said of timing first"
    yield _package("pycuda", "PyCUDA", driver.ok, installs)
    yield _package("torch", "torch", driver.ok, installs)
    yield from _gpu(driver.ok)
    yield _ncu()
    yield _ncu_permission(driver.ok)


def _refusal(what: str, text: str) -> Finding:
    """Split a message: its first line says what was found, and the others are the remedy."""
    found, _, remedy = text.partition("\n")
    return Finding(what, False, found, remedy.strip())


def _compiler() -> Finding:
    try:
        nvcc = toolchain.find()
    except HarnessError as error:
        return _refusal("nvcc", str(error))
    host = shutil.which("g++")
    if not host:
        return Finding("nvcc", False, f"{nvcc.version}, but no g++", "install g++ (Debian: g++)")
    return Finding("nvcc", True, f"{nvcc.version} from {nvcc.found_in}: {nvcc.nvcc}")


def _emulator() -> Finding:
    from harness.emulator.engine import library  # no other command waits for it

    native = library.load()
    if isinstance(native, str):
        return Finding("emulator", False, native, "install g++ (Debian: g++), or name one in CXX")
    return Finding("emulator", True, f"{len(native.operations)} operations")


def _disassembler() -> Finding:
    from harness.emulator import EmulatorError
    from harness.emulator.sass.cubin import disassembler

    try:
        found = disassembler.find()
    except EmulatorError as error:
        return _refusal("nvdisasm", str(error))
    version = ".".join(map(str, found.version))
    return Finding("nvdisasm", True, f"{version}, to count in machine code: {found.path}")


def _driver() -> Finding:
    smi = shutil.which("nvidia-smi")
    if not smi:
        return Finding(
            "driver", False, "no NVIDIA driver: nvidia-smi is not on PATH",
            "nothing, if there is no GPU: kernels are then emulated and not timed",
        )  # fmt: skip
    query = [smi, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        shown = children.output(query, 60)
    except (OSError, children.LateError):
        return Finding("driver", False, f"{smi} does not answer", "restart the machine's driver")
    said = (shown.out or shown.err).strip()
    if shown.code or not shown.out.strip():
        return Finding("driver", False, said, "mend the driver until nvidia-smi lists the GPU")
    return Finding("driver", True, said.replace("\n", "; "))


def _timing() -> Finding:
    """Check that the driver and the toolkit are compatible, by the rules of `make setup`."""
    cuda, ours = drivers.driver(), drivers.toolkit()
    obstacle = drivers.obstacle(cuda, ours)
    if obstacle is None and not importlib.util.find_spec("pycuda"):
        obstacle = drivers.missing_for_building()
    if obstacle or cuda is None:
        assert obstacle is not None  # an unreadable driver is a finding too
        return Finding("to time", False, f"{obstacle.what}: {obstacle.why}", obstacle.remedy)
    own = f"toolkit {ours.release[0]}.{ours.release[1]} in {ours.root}" if ours else "no toolkit"
    return Finding("to time", True, f"the driver runs CUDA {cuda[0]}.{cuda[1]}; {own}")


def _package(module: str, name: str, needed: bool, installs: str) -> Finding:
    if importlib.util.find_spec(module):
        return Finding(name, True, "installed")
    return Finding(name, not needed, "not installed", installs)


def _gpu(driver: bool) -> Iterator[Finding]:
    if not driver:
        yield Finding("backend", True, "emulator: results, faults and counters, never times")
        return
    try:
        device = cuda_device(None)
    except HarnessError as error:
        yield Finding("backend", False, f"emulator: {error}", "mend the above to time kernels")
        return
    yield Finding("backend", True, f"cuda: {device.name}, {device.arch}, {device.sm_count} SMs")
    for remark in card.remarks(card.look(device.bus)):
        yield Finding("card", False, remark.seen, remark.remedy)


def _ncu() -> Finding:
    found = ncu.find()
    if isinstance(found, Failure):
        return _refusal("ncu", found.text)
    return Finding("ncu", True, f"{found.version} from {found.found_in}: {found.path}")


def _ncu_permission(driver: bool) -> Finding:
    if not driver:
        return Finding("counters", True, "not applicable without a GPU")
    try:
        restricted = "RmProfilingAdminOnly: 1" in _RESTRICTED.read_text()
    except OSError:
        return Finding("counters", True, "the driver does not say whether they are restricted")
    if restricted:
        return Finding(
            "counters", False, "for administrators only",
            "as root: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, "
            "then reload the driver",
        )  # fmt: skip
    return Finding("counters", True, "open to every user")
