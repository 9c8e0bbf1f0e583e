"""Scratch folders: none remains for long after its process has ended."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from started_processes import holding

from harness.files import scratch

HOLDS = """
import sys, time
from pathlib import Path
from harness.files import scratch
with scratch.folder(Path(sys.argv[1])) as folder:
    (folder / "large").write_bytes(bytes(1000))
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """A process that holds a scratch folder."""
    return holding(HOLDS, tmp_path)


@pytest.mark.fault(
    "kill -9 of the harness or of a worker, which leaves its temporary folders",
    outcome="The next one to make such a folder removes them; those in use stay.",
)
def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    [left] = tmp_path.iterdir()
    then = time.time() - 3600
    os.utime(left, (then, then))
    with scratch.folder(tmp_path):
        assert left.exists(), "its process lives"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    scratch._swept.clear()
    with scratch.folder(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


def test_neither_a_young_one_nor_a_link_is_removed(tmp_path: Path) -> None:
    above, theirs = tmp_path / "above", tmp_path / "theirs"
    above.mkdir()
    theirs.mkdir()
    (theirs / "precious").touch()
    (above / "harness-scratch-young").mkdir()
    (above / "harness-scratch-link").symlink_to(theirs)
    with scratch.folder(above):
        pass
    assert len(list(above.iterdir())) == 2
    assert (theirs / "precious").exists()


@pytest.mark.fault(
    "a disk of temporary files that is full",
    outcome="The message names the folder in which there is no room.",
)
def test_an_error_of_the_disk_names_its_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, scratch.folder(tmp_path) as own:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(own)


@pytest.mark.fault(
    "thousands of folders in one another, left in a temporary folder",
    outcome="They are removed with it.",
)
@pytest.mark.usefixtures("processes")
def test_a_deep_folder_is_removed(tmp_path: Path) -> None:
    here = Path.cwd()
    with scratch.folder(tmp_path) as own:
        os.chdir(own)
        try:
            for _ in range(3000):
                os.mkdir("d")
                os.chdir("d")
        finally:
            os.chdir(here)
    assert list(tmp_path.iterdir()) == []
