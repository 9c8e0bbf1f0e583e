"""Add the hash of each file's code, without comments, to the committed runs' run.json.

    python scripts/committed_runs/code_hashes.py

Older runs have only a hash of the full text, for every file or for the Python files. The text with
that hash is looked up in the working tree and in the repository's history. A file whose text is
found in neither gets no code hash.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.files import source_text

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    for path in sorted((ROOT / "reports").rglob("run.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        sources = about.get("sources")
        known = about.get("code") or {}
        if not sources or known.keys() == sources.keys():
            continue
        found = {
            name: code
            for name, sha256 in sources.items()
            if (code := known.get(name) or code_of(name, sha256))
        }
        if found == known:
            continue
        before = [key for key in about if key != "code"]
        about["code"] = found
        after = before[: before.index("sources") + 1]
        ordered = {key: about[key] for key in (*after, "code", *before[len(after) :])}
        path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(found)} of {len(sources)} files")
    return 0


@cache
def code_of(name: str, sha256: str) -> str:
    """The code hash of the file version whose text has this hash; empty if there is none."""
    for content in versions(name):
        if source_text.is_of(content, sha256):
            return source_text.code_sha256(content, Path(name).suffix)
    return ""


def versions(name: str) -> Iterator[bytes]:
    """Yield the contents of every version of a file under kernels/, newest first."""
    path = f"kernels/{name}"
    if (ROOT / path).is_file():
        yield (ROOT / path).read_bytes()
    commits = _git("log", "--format=%H", "--", path).decode().split()
    for commit in commits:
        yield _git("show", f"{commit}:{path}")


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
