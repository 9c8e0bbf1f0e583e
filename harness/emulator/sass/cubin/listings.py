"""nvdisasm listings of cubins: many in one call, each cached in a file."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.emulator.sass.cubin import code_elf, disassembler
from harness.emulator.sass.cubin.disassembler import Disassembler, Listing
from harness.emulator.sass.errors import CubinError, DisassemblerError
from harness.files import scratch

MOST_BYTES = 1 << 22
"""The maximum total size in bytes of the cubins listed in one call: about a second of work, so that
starting nvdisasm adds little and several calls can share the cores."""


def listing(content: bytes, name: str, kept: Path | None = None) -> Listing:
    """Return nvdisasm's listing of a cubin. Raises DisassemblerError, or CubinError if nvdisasm
    rejects the file.

    `kept`: the file in which the listing is stored for later calls.
    """
    tool = disassembler.find()
    text = _kept(kept, tool, content) if kept else None
    if text is None:
        [text] = _listed(tool, [content], name)
        if kept:
            _keep(kept, tool, content, text)
    return disassembler.parsed(text, tool)


def keep(files: Mapping[Path, Path]) -> None:
    """List all cubins whose listings are not stored yet, many per call; `files` has the file for
    each listing.

    A cubin that cannot be listed is skipped. It is listed alone when its listing is needed, and
    only then is the error reported.
    """
    with suppress(DisassemblerError):
        tool = disassembler.find()
        together: dict[bytes, list[tuple[Path, bytes]]] = defaultdict(list)
        for cubin, kept in files.items():
            with suppress(OSError):
                content = cubin.read_bytes()
                if _kept(kept, tool, content) is None:
                    together[code_elf.kind_of(content)].append((kept, content))
        parts = [part for missing in together.values() for part in _parts(missing)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda part: _keep_together(tool, part), parts))


def _parts(missing: Sequence[tuple[Path, bytes]]) -> Iterator[Sequence[tuple[Path, bytes]]]:
    while missing:
        count, size = 1, len(missing[0][1])
        while count < len(missing) and size + len(missing[count][1]) <= MOST_BYTES:
            size += len(missing[count][1])
            count += 1
        yield missing[:count]
        missing = missing[count:]


def _keep_together(tool: Disassembler, part: Sequence[tuple[Path, bytes]]) -> None:
    with suppress(CubinError, DisassemblerError):
        texts = _listed(tool, [content for _, content in part], "the cubins")
        for (kept, content), text in zip(part, texts, strict=True):
            _keep(kept, tool, content, text)


def _listed(tool: Disassembler, cubins: Sequence[bytes], name: str) -> list[str]:
    """Each cubin's functions, as they are in nvdisasm's JSON."""
    try:
        elf = code_elf.together(cubins)
    except Exception as error:  # a damaged file makes pyelftools raise errors of any kind
        why = f"{type(error).__name__}: {error}"[:200]
        raise CubinError(name, f"its code cannot be read; it is damaged ({why})") from None
    try:
        return code_elf.apart(disassembler.printed(tool, elf, name), len(cubins))
    except disassembler.UNLIKE_THE_KNOWN:
        raise disassembler.unknown_form(tool) from None


def _kept(file: Path, tool: Disassembler, content: bytes) -> str | None:
    try:
        held = json.loads(gzip.decompress(file.read_bytes()))
        text = held["json"] if held["of"] == _of(tool, content) else None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
        return None
    return text if isinstance(text, str) else None


def _keep(file: Path, tool: Disassembler, content: bytes, text: str) -> None:
    held = json.dumps({"of": _of(tool, content), "json": text})
    with suppress(OSError), scratch.folder(file.parent) as folder:
        written = folder / file.name
        written.write_bytes(gzip.compress(held.encode(), 6))
        written.replace(file)


def _of(tool: Disassembler, content: bytes) -> list[Any]:
    return [*tool.version, hashlib.sha256(content).hexdigest()]
