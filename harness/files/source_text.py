"""The part of a kernel file that counts as its source: everything but the `// Measured: …` line.

The `Measured` line is written from a committed run, which was made from this source. If the line
were part of the source, writing it would invalidate that run.
"""

from __future__ import annotations

import hashlib
import re

MEASURED = b"// Measured:"
_LINE = re.compile(rb"^// Measured:.*$", re.MULTILINE)
_PARAGRAPH = re.compile(rb"^//\n// Measured:.*\n", re.MULTILINE)


def sha256(content: bytes) -> str:
    """Hash a file's content, ignoring its `// Measured: …` line."""
    return hashlib.sha256(_LINE.sub(MEASURED, content)).hexdigest()


def is_of(content: bytes, known: str) -> bool:
    """Return whether the file has this hash or one that begins with it, with or without its
    measurement line."""
    hashes = sha256(content), sha256(_PARAGRAPH.sub(b"", content))
    return known != "" and any(found.startswith(known) for found in hashes)
