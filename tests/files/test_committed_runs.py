"""The committed runs name the code that they measured."""

from __future__ import annotations

import json
from pathlib import Path

from harness.files import source_text

ROOT = Path(__file__).parents[2]


def test_every_committed_run_has_the_hash_of_the_code_of_each_source_that_is_unchanged() -> None:
    compared = 0
    for path in sorted((ROOT / "reports").rglob("run.json")):
        about = json.loads(path.read_text())
        if "sources" not in about:
            continue
        for name, sha256 in about["sources"].items():
            file = ROOT / "kernels" / name
            if file.is_file():
                content = file.read_bytes()
                if source_text.is_of(content, sha256):
                    assert about["code"][name] == source_text.code_sha256(content, file.suffix), (
                        path,
                        name,
                    )
                    compared += 1
    assert compared > 10
