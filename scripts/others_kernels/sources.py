"""Compile other people's kernels, from checkouts of their repositories, into a folder of cubins and
PTX.

    python scripts/others_kernels/sources.py CHECKOUTS FOLDER

CHECKOUTS holds a folder for each repository, such as `NVIDIA+cuda-samples`, at the commit that
kernels.yaml names; a missing repository is fetched from GitHub. FOLDER gets a cubin and the PTX of
each file, and `manifest.json`: for each launch its cubin, its kernel's symbol and the offset of
each argument in the parameters.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import launches as listed

from harness.compiler import compile as compiler
from harness.compiler.compile import Built
from harness.emulator.sass import MachineCode, keep_listings
from harness.emulator.sass import read as read_cubin
from harness.errors import HarnessError

STAND_INS = Path(__file__).with_name("stand_ins")
MANIFEST = "manifest.json"
LISTING = ".listing"
_OF_CUB = re.compile(r"\d+(CUB_\d+_SM_)900")


def fetched(source: listed.Source, checkouts: Path) -> Path:
    """Return the repository's folder; clone it at its commit if it is missing."""
    folder = checkouts / source.folder
    if not folder.exists():
        folder.mkdir(parents=True)
        address = f"https://github.com/{source.repository}"
        for command in (["init", "-q"], ["fetch", "-q", "--depth=1", address, source.commit],
                        ["checkout", "-q", "FETCH_HEAD"]):  # fmt: skip
            subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def unit(
    source: listed.Source, of: Sequence[listed.Launch], folder: Path, arch: str = listed.ARCH
) -> compiler.Unit:
    """Describe how a file is compiled. Raises HarnessError if the file differs from the listed
    one."""
    path = folder / source.path
    if not path.exists():
        raise HarnessError(f"{path} is missing: check out {source.repository} at {source.commit}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != source.sha256:
        raise HarnessError(f"{path} is not that of commit {source.commit}: its hash is {found}")
    names = dict.fromkeys(each.kernel for each in of if "<" in each.kernel or "::" in each.kernel)
    include = (path.parent, *(folder / each for each in source.include), STAND_INS)
    flags = tuple(_named_for(arch, flag) for flag in source.flags)
    return compiler.Unit(path, include, (), arch, flags, (), tuple(names))


def _named_for(arch: str, flag: str) -> str:
    """Put the architecture into a CUB symbol, whose namespace is named after it."""
    own = f"{arch[3:]}0"
    return _OF_CUB.sub(lambda found: f"{len(found[1] + own)}{found[1]}{own}", flag)


def compile_all(
    launches: Sequence[listed.Launch], checkouts: Path, folder: Path, arch: str = listed.ARCH
) -> tuple[dict[str, Any], list[str]]:
    """Compile every file; return the manifest, and the files that could not be compiled. A failed
    file does not affect the others."""
    folder.mkdir(parents=True, exist_ok=True)
    files = dict.fromkeys(launch.source for launch in launches)

    def of(source: listed.Source) -> list[listed.Launch]:
        return [launch for launch in launches if launch.source == source]

    def one(source: listed.Source) -> tuple[listed.Source, Built | str]:
        try:
            return source, _built(source, of(source), fetched(source, checkouts), folder, arch)
        except (HarnessError, subprocess.CalledProcessError) as error:
            return source, f"{source.repository} {source.path}: {error}"

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(one, files))
    cubins = [folder / f"{source.stem}.cubin" for source, built in made if isinstance(built, Built)]
    keep_listings({cubin: cubin.with_suffix(LISTING) for cubin in cubins})
    manifest: dict[str, Any] = {}
    refused: list[str] = []
    for source, built in made:
        try:
            if isinstance(built, str):
                refused.append(built)
            else:
                manifest |= _entries(source, of(source), built, folder)
        except HarnessError as error:
            refused.append(f"{source.repository} {source.path}: {error}")
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest, refused


def _built(
    source: listed.Source, of: Sequence[listed.Launch], checkout: Path, folder: Path, arch: str
) -> Built:
    built = compiler.build(unit(source, of, checkout, arch))
    for made, suffix in ((built.cubin, ".cubin"), (built.ptx, ".ptx")):
        shutil.copyfile(made, folder / f"{source.stem}{suffix}")
    return built


def read_listed(cubin: Path) -> MachineCode:
    """Read a cubin of the folder; its listing is stored next to it."""
    return read_cubin(cubin, cubin.with_suffix(LISTING))


def _entries(
    source: listed.Source, of: Sequence[listed.Launch], built: Built, folder: Path
) -> dict[str, Any]:
    code = read_listed(folder / f"{source.stem}.cubin")
    found = {}
    for launch in of:
        symbol = compiler.kernel_name(launch.kernel, built, source.path)
        parameters = code.functions[symbol].parameters
        if len(parameters) != len(launch.args):
            raise HarnessError(
                f"{launch.name}: {launch.kernel} has {len(parameters)} parameters, and "
                f"{len(launch.args)} arguments are listed"
            )
        found[launch.name] = {
            "file": source.stem,
            "symbol": symbol,
            "parameters": [[each.offset, each.size] for each in parameters],
        }
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    manifest, refused = compile_all(listed.read(), options.checkouts, options.folder)
    print(f"{len(manifest)} launches compiled into {options.folder}")
    for reason in refused:
        print(reason, file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
