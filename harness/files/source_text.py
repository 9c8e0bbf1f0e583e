"""What of a kernel's file is its source: all but the line that says what it measured.

That line is written from a committed run, which was made from this source. If the line belonged to
it, the run would be one of another source as soon as it is there.
"""

from __future__ import annotations

import hashlib
import re

MEASURED = b"// Measured:"
_LINE = re.compile(rb"^// Measured:.*$", re.MULTILINE)
_PARAGRAPH = re.compile(rb"^//\n// Measured:.*\n", re.MULTILINE)


def sha256(content: bytes) -> str:
    """Of a file's content, whatever its line `// Measured: …` says."""
    return hashlib.sha256(_LINE.sub(MEASURED, content)).hexdigest()


def is_of(content: bytes, known: str) -> bool:
    """Whether that was the file's hash or its beginning, be it from before it had such a line."""
    hashes = sha256(content), sha256(_PARAGRAPH.sub(b"", content))
    return known != "" and any(found.startswith(known) for found in hashes)
