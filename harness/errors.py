"""All exceptions that the harness raises on purpose, as one tree.

    HarnessError              a user can act on it; its text says what, where and what to do
    ├── UsageError            the command line is wrong: an unknown pattern, an unusable option
    ├── ConfigError           a bench.yaml is wrong: names the file, the line and the key
    │   └── ExpressionError   an expression in it
    ├── ProblemError          a problem.py that cannot be loaded or breaks its contract
    ├── CompileError          nvcc is missing, or rejects a source
    │   └── CompilerStopped   nvcc was killed or ran out of space: not the source's fault
    ├── LaunchError           a kernel, argument or shape that cannot be launched
    │   ├── OutOfMemory       the device has too little memory for a size
    │   └── NotInstalled      a package that a library needs is not on this machine
    ├── DeviceFault           the GPU's context is lost: this process can launch nothing more
    ├── DeviceLost            the GPU is lost, to every process: the run stops here
    ├── ClusterLost           the scheduler or all workers of --cluster are gone: the run stops here
    ├── BackendUnavailable    no GPU, no driver, no PyCUDA
    └── JournalError          a journal that cannot be read or written

The command line catches only these exceptions, and prints them without a traceback; any other
exception is a bug in the harness.
"""

from __future__ import annotations


class HarnessError(Exception):
    """The base class: its message is for a person, without a traceback."""


class UsageError(HarnessError):
    """The command line asks for something that does not exist."""


class ConfigError(HarnessError):
    """A bench.yaml cannot be used as it is.

    `where` is `file:line`; `key` is the dotted path of the key; `remedy` says what would be
    correct.
    """

    def __init__(self, what: str, where: str = "", key: str = "", remedy: str = "") -> None:
        place = ": ".join(part for part in (where, key) if part)
        super().__init__(
            (f"{place}: " if place else "") + what + (f"\n  {remedy}" if remedy else "")
        )


class ExpressionError(ConfigError):
    """An expression that does not parse, or does not yield a usable number."""


class ProblemError(HarnessError):
    """A problem.py that cannot be loaded, or that breaks the Problem protocol."""


class CompileError(HarnessError):
    """The compiler is missing, or it rejected a source; the text carries its own message."""


class CompilerStopped(CompileError):
    """The compiler was killed or ran out of disk space; a retry may succeed."""


class LaunchError(HarnessError):
    """A launch that the kernel's signature or the device's limits do not allow."""


class OutOfMemory(LaunchError):
    """The device has too little memory for a size."""


class NotInstalled(LaunchError):
    """A package or tool that a function needs is missing; the library's row is skipped."""


class DeviceFault(HarnessError):
    """An illegal access or a trap on the device; the process in which it occurred must end."""


class DeviceLost(HarnessError):
    """The GPU itself failed, independently of what ran on it: it fell off the bus, or had an ECC
    error, or the driver died."""


class ClusterLost(HarnessError):
    """The scheduler or all workers of --cluster are gone; the run can resume when they are back."""


class BackendUnavailable(HarnessError):
    """The requested backend cannot work on this machine."""


class JournalError(HarnessError):
    """A journal line that was damaged after it was written, or that cannot be written."""
