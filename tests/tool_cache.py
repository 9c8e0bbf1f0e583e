"""Cache the output of nvcc and nvdisasm by content, for this test run and later ones.

Hundreds of tests compile the same few kernels, each in a folder and with a compile cache of its
own, and compilation takes most of a test's time. `install` puts small programs in front of both
tools (NVCC, NVDISASM). They reply from this user's cache if the tool was called with the same input
before, even in another clone of the repository, and otherwise run the tool:

- nvcc with one input, to PTX, a cubin or a library. The key contains nvcc's release, the options,
  the environment and the input; the files that it included must still have the same content. The
  paths of the repository and of temporary folders are replaced by names, in the input and in the
  output: PTX contains them as text, so the cached PTX equals, byte for byte, what nvcc would write.
- nvdisasm with one file. The key contains the file's content.

Any other call, and any call that fails, is passed to the tool itself. So is every call if a test
has changed the tool's environment: PATH, TMPDIR or a limit.
"""

from __future__ import annotations

# A test run starts these programs two thousand times: what they import is built into Python, since
# `hashlib`, `json`, `re` and `signal` take longer than everything else here.
import _signal
import fcntl
import marshal
import os
import resource
import sys
import zlib
from _blake2 import blake2b

MYSELF = os.path.abspath(__file__)
ROOT = os.path.dirname(os.path.dirname(MYSELF))
KEPT_S = 14 * 24 * 3600
"""Entries that were not used for this long are removed."""
_WITH_A_VALUE = ("-o", "-MF", "-MT", "-Xcompiler", "-Xptxas", "-maxrregcount", "-D", "-I", "-L")
_STEADY = ("PATH", "TMPDIR", "NVCC_CCBIN")
"""Variables that a test changes only to see the effect of the change."""
_OPTIONS = (
    "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
)  # fmt: skip
_HEADERS = (".h", ".cuh", ".hpp", ".inc")
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_NPROC)


def install(folder: str, kept: str = "") -> None:
    """Put the programs into a folder, and name them in the environment.

    `kept`: the folder for the tools' output, if it is not this user's cache.
    """
    if os.environ.get("NVCC", "").startswith(folder):  # a worker: pytest itself has done it
        return
    import shutil  # imported here, because the programs must start fast
    import tempfile

    from harness.compiler import toolchain
    from harness.emulator.sass.cubin import disassembler
    from harness.emulator.sass.errors import DisassemblerError

    programs = os.path.join(folder, "toolkit", "bin")
    os.makedirs(programs, exist_ok=True)
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    kept = kept or os.path.join(user, "kernel-harness", "tools-of-tests")
    _remove_old(kept)
    nvcc = next(filter(None, (shutil.which(path) for path, _ in toolchain.candidates())), None)
    try:
        nvdisasm = disassembler.find().path
    except DisassemblerError:
        nvdisasm = None
    for name, variable, path in (("nvcc", "NVCC", nvcc), ("nvdisasm", "NVDISASM", nvdisasm)):
        if path is None:
            continue
        real = os.path.abspath(path)
        version = _run(real, ["--version"])["out"]
        about = {
            "tool": name, "real": real, "version": version,
            "kept": kept, "temporary": tempfile.gettempdir(),
            "environment": {each: os.environ.get(each) for each in _STEADY},
            "limits": [resource.getrlimit(each) for each in _LIMITS],
        }  # fmt: skip
        text = (
            f"#!{sys.executable} -IS\nimport sys\nif sys.argv[1:] == ['--version']:\n"
            f"    sys.exit(print({version!r}, end=''))\n"
            f"sys.path.insert(0, {os.path.dirname(MYSELF)!r})\n"
            f"import tool_cache\ntool_cache.main({about!r})\n"
        )
        program = os.path.join(programs, name)
        with tempfile.NamedTemporaryFile("w", dir=programs, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        os.replace(file.name, program)
        os.environ[variable] = program
        libraries = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
        if name == "nvcc" and os.path.isdir(libraries):  # linked libraries are stored beside nvcc
            link = os.path.join(folder, "toolkit", "lib")
            if os.path.islink(link):
                os.unlink(link)
            os.symlink(libraries, link)


def behind(program: str) -> str:
    """The path of the tool itself."""
    with open(program) as file:
        after = file.read().partition("'real': '")[2]
    return after.partition("'")[0] if after else program


def _remove_old(kept: str) -> None:
    import time

    limit = time.time() - KEPT_S
    for entry in os.scandir(kept) if os.path.isdir(kept) else ():
        try:
            if entry.stat().st_mtime < limit:
                os.unlink(entry.path)
        except OSError:  # another test run may remove it, too
            continue


def main(about: dict) -> None:
    """Act as the tool would: reply from the cache, or else run the tool in place of this
    process."""
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    arguments = sys.argv[1:]
    try:
        if not _is_usual(about):
            raise _Unknown
        said = (_nvcc if about["tool"] == "nvcc" else _nvdisasm)(about, arguments)
    except (_Unknown, OSError, ValueError):
        os.execv(about["real"], [about["real"], *arguments])
    for text, file in ((said["out"], 1), (said["err"], 2)):
        rest = text.encode(errors="surrogateescape")
        while rest:
            rest = rest[os.write(file, rest) :]
    if said["code"] < 0:
        os.kill(os.getpid(), -said["code"])
    os._exit(said["code"])


class _Unknown(Exception):
    """Raised if the call must be passed to the tool itself."""


def _is_usual(about: dict) -> bool:
    environment = {each: os.environ.get(each) for each in _STEADY}
    limits = [resource.getrlimit(each) for each in _LIMITS]
    return environment == about["environment"] and limits == about["limits"]


def _run(real: str, arguments: list[str]) -> dict:
    import subprocess

    done = subprocess.run([real, *arguments], capture_output=True, check=False)
    out, err = (each.decode(errors="surrogateescape") for each in (done.stdout, done.stderr))
    return {"code": done.returncode, "out": out, "err": err}


class _Entry:
    """A file with the tool's output, held by one process at a time."""

    def __init__(self, about: dict, *parts: str) -> None:
        key = _digest(repr([about["tool"], about["version"], *parts]).encode())
        self._path = os.path.join(about["kept"], key)
        os.makedirs(about["kept"], exist_ok=True)
        self._lock = os.open(f"{self._path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def read(self) -> list[dict]:
        try:
            with open(self._path, "rb") as file:
                found = marshal.loads(zlib.decompress(file.read()))
        except (OSError, ValueError, EOFError, TypeError, zlib.error):
            return []
        os.utime(self._path)
        os.utime(f"{self._path}.lock")
        return found

    def write(self, found: list[dict]) -> None:
        content = zlib.compress(marshal.dumps(found), 1)
        with open(f"{self._path}.new", "wb") as file:
            file.write(content)
        os.replace(f"{self._path}.new", self._path)


def _nvdisasm(about: dict, arguments: list[str]) -> dict:
    files = [each for each in arguments if not each.startswith("-")]
    if len(files) != 1:
        raise _Unknown
    with open(files[0], "rb") as file:
        content = _digest(file.read())
    entry = _Entry(about, *(each for each in arguments if each != files[0]), content)
    for found in entry.read():
        return found
    said = _run(about["real"], arguments)
    if said["code"] == 0 and files[0] not in said["out"] + said["err"]:
        entry.write([said])
    return said


def _nvcc(about: dict, arguments: list[str]) -> dict:
    asked = _Asked(arguments, about["temporary"])
    options = [f"{each}={os.environ.get(each)}" for each in _OPTIONS]
    given = _text(asked.source)
    if asked.is_assembly and about["temporary"] in given:
        raise _Unknown  # a source's folder, which would appear in machine code
    entry = _Entry(
        about, *options, *map(asked.named, arguments), asked.named(given), *asked.headers_beside()
    )
    kept = entry.read()
    for found in kept:
        if all(_content(asked, path) == content for path, content in found["headers"]):
            asked.write(found)
            return {each: asked.real(found[each]) for each in ("out", "err")} | {"code": 0}
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        depends = asked.depends or os.path.join(folder, "depends")
        more = [] if asked.depends or asked.is_assembly else ["-Xcompiler", f"-MD,-MF,{depends}"]
        said = _run(about["real"], [*arguments, *more])
        try:
            made = asked.made(said, depends) if said["code"] == 0 else None
            if made and about["temporary"] not in repr(made):
                entry.write([made, *kept][:4])
        except (OSError, ValueError):
            pass  # the output exists, even if it cannot be cached
    return said


class _Asked:
    """The requested output and its input. Raises _Unknown unless the call makes exactly one file
    from one."""

    def __init__(self, arguments: list[str], temporary: str) -> None:
        self.depends, self._output, sources, self._folders = "", "", [], []
        before, self.is_library = "", "-shared" in arguments
        for each in arguments:
            if before == "-o":
                self._output = each
            elif before == "-MF":
                self.depends = each
            elif before == "-Xcompiler" and "-MF," in each:
                self.depends = each.partition("-MF,")[2].removeprefix('"')
                self.depends = self.depends.partition('"')[0].partition(",")[0]
            elif each.startswith("-I") and len(each) > 2:
                self._folders.append(each[2:])
            elif before not in _WITH_A_VALUE and not each.startswith("-"):
                sources.append(each)
            before = each
        makes = {"-ptx", "-cubin", "-shared"} & {*arguments}
        if len(sources) != 1 or len(makes) != 1 or not self._output or '"' in self._output:
            raise _Unknown
        [self.source] = sources
        self.is_assembly = self.source.endswith(".ptx")
        if not self.source.endswith((".cu", ".ptx")) or (self.is_library and not self.depends):
            raise _Unknown
        self._names = self._named(temporary)
        if "-ptx" in makes:
            self._names += [(ROOT, _name("ROOT"))]
        elif any(name == _name("IN") for _, name in self._names) and not self.is_assembly:
            raise _Unknown  # the folder would appear in machine code

    def _named(self, temporary: str) -> list[tuple[str, str]]:
        """Folder → the name that stands for it, the longest folder first."""
        out, inside = os.path.dirname(self._output), [*self._folders, os.path.dirname(self.source)]
        if "/" not in out:  # too short to be distinguished from other words
            raise _Unknown
        apart = [
            each
            for each in map(os.path.abspath, inside)
            if f"{each}/".startswith(f"{temporary}/") and each != os.path.abspath(out)
        ]
        found = {os.path.realpath(out): _name("OUT, real")}
        found |= {os.path.abspath(out): _name("OUT, whole"), out: _name("OUT")}
        if apart:
            root = os.path.commonpath(apart)
            if root == temporary:
                raise _Unknown
            found |= {os.path.realpath(root): _name("IN, real")}
            found |= {root: _name("IN")}
        return sorted(found.items(), key=lambda each: -len(each[0]))

    def named(self, text: str) -> str:
        for folder, name in self._names:
            text = text.replace(folder, name)
        return text

    def real(self, text: str) -> str:
        for folder, name in self._names:
            text = text.replace(name, folder)
        return text

    def headers_beside(self) -> list[str]:
        """The names of files that may be included: a new one may hide another."""
        found = []
        for folder in [os.path.dirname(self.source) or ".", *self._folders]:
            names = os.listdir(folder) if os.path.isdir(folder) else ()
            found.append(" ".join(sorted(each for each in names if each.endswith(_HEADERS))))
        return found

    def made(self, said: dict, depends: str) -> dict:
        """The tool's output, to be cached."""
        listed = "" if self.is_assembly else _text(depends)
        names = listed.partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0").split()
        paths = [self.named(each.replace("\0", " ")) for each in names]
        headers = [(path, _content(self, path)) for path in paths]
        kept = {
            "out": self.named(said["out"]), "err": self.named(said["err"]), "headers": headers,
            "depends": self.named(listed) if self.depends else "",
        }  # fmt: skip
        if self._output.endswith(".ptx"):
            return {**kept, "text": self.named(_text(self._output))}
        with open(self._output, "rb") as file:
            return {**kept, "bytes": file.read().hex()}

    def write(self, made: dict) -> None:
        content = (
            bytes.fromhex(made["bytes"]) if "bytes" in made else self.real(made["text"]).encode()
        )
        with open(self._output, "wb") as file:
            file.write(content)
        if self.is_library:
            os.chmod(self._output, 0o755)
        if self.depends:
            with open(self.depends, "w") as file:
                file.write(self.real(made["depends"]))


def _name(what: str) -> str:
    return f"\x01{what}\x02"


def _text(path: str) -> str:
    with open(path, errors="surrogateescape", newline="") as file:
        return file.read()


def _content(asked: _Asked, path: str) -> str:
    """A value that changes if an included file changes; for system files, their modification
    times."""
    real = asked.real(path)
    if not os.path.isfile(real):
        return ""
    if real.startswith("/usr/"):
        found = os.stat(real)
        return f"{found.st_size} {found.st_mtime_ns}"
    return _digest(asked.named(_text(real)).encode(errors="surrogateescape"))


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=20).hexdigest()
