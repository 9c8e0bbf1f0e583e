"""Two runs never use a GPU at the same time, even if they belong to different users."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest
from started_processes import holding

from harness.errors import UsageError
from harness.machine import gpu_lock
from harness.machine.gpu_lock import gpu_to_itself

UUID = "GPU-8d5f0a61-93c3-0c3e-5a3b-1f0b9c2d7e11"
HOLD = (
    "import sys, time; from pathlib import Path\n"
    "from harness.machine import gpu_lock\n"
    "gpu_lock.FOLDER = Path(sys.argv[1])\n"
    f"with gpu_lock.gpu_to_itself({UUID!r}):\n"
    "    print('held', flush=True); time.sleep(600)\n"
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_lock, "FOLDER", tmp_path)


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that holds the GPU."""
    return holding(HOLD, tmp_path)


@pytest.mark.fault(
    "two runs on one GPU",
    outcome="The second is refused by the GPU's UUID, before it runs anything.",
)
def test_a_second_run_on_the_same_gpu_is_refused(holder: subprocess.Popen[str]) -> None:
    try:
        with pytest.raises(UsageError, match=f"another run is using this GPU .{UUID}."):
            gpu_to_itself(UUID).__enter__()
        with gpu_to_itself("GPU-another"):
            pass
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.fault("a run that died while it held a GPU", outcome="Its lock frees itself.")
def test_the_lock_of_a_dead_holder_is_free(holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with gpu_to_itself(UUID):
        pass


@pytest.mark.fault(
    "a second user of the host",
    outcome="The lock of the first user's run is found held or free, and never in the way.",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can play two users")
@pytest.mark.usefixtures("processes")
def test_another_users_lock_file_is_no_permission_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and folder != Path("/") and "pytest" in str(folder):
            folder.chmod(folder.stat().st_mode | 0o011)
    before = os.umask(0o077)
    try:
        with gpu_to_itself(UUID):
            pass
    finally:
        os.umask(before)
    [path] = tmp_path.glob("*.lock")
    os.chown(path, 1001, 1001)
    pid = os.fork()
    if pid == 0:  # another user, who may only read the file
        code = 1
        try:
            os.setgid(1002)
            os.setuid(1002)
            with gpu_to_itself(UUID):
                code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_lock_file_that_may_only_be_read_is_enough(tmp_path: Path) -> None:
    path = tmp_path / f"kernel-harness-{UUID}.lock"
    path.touch()
    path.chmod(0o444)
    with gpu_to_itself(UUID), pytest.raises(UsageError, match="another run is using this GPU"):
        gpu_to_itself(UUID).__enter__()


@pytest.mark.fault(
    "a lock file that somebody made a link",
    outcome="It is not followed, and the run is refused with the file's name.",
)
def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / f"kernel-harness-{UUID}.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="whether another run uses the GPU"):
        gpu_to_itself(UUID).__enter__()
    assert not (tmp_path / "elsewhere").exists()


def test_a_sandbox_that_shows_the_file_read_only_can_still_take_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"kernel-harness-{UUID}.lock").touch()

    def acquire(self: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(gpu_lock.FileLock, "acquire", acquire)
    with gpu_to_itself(UUID), pytest.raises(UsageError, match="another run is using this GPU"):
        gpu_to_itself(UUID).__enter__()
    with gpu_to_itself(UUID):
        pass
