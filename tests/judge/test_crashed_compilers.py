"""A compiler that crashes on a kernel is tried once more, and the verdict does not acquit the
kernel."""

from __future__ import annotations

from pathlib import Path

import affine
import pytest

from harness.compiler import cache
from harness.errors import CompilerStopped
from harness.judge import Submission, folders, judging
from harness.judge.reasons import CRASHED, CRASHED_AGAIN, crash_in
from harness.judge.slots import process
from harness.judge.verdicts import Verdict

CRASHES = {
    "killed": "kill -9 $$",
    "a pass of it crashed": "exit 139",
    "out of memory": "printf 'LLVM ERROR: out of memory\\nAborted\\n' >&2; exit 134",
}


def said(script: str) -> str:
    with pytest.raises(CompilerStopped) as caught:
        cache.run(Path("k.cu"), ["sh", "-c", script])
    return str(caught.value)


@pytest.mark.parametrize("script", CRASHES.values(), ids=CRASHES)
def test_a_crash_of_the_compiler_does_not_acquit_the_source(script: str) -> None:
    crash = crash_in(said(script))
    assert crash.startswith("nvcc was stopped at k.cu")
    assert "not to blame" not in crash


def test_a_full_disk_is_no_crash_of_the_compiler() -> None:
    assert not crash_in(said("echo 'error writing to /tmp/x: No space left on device' >&2; exit 1"))
    assert not crash_in("nvcc rejects k.cu:\nk.cu(5): error: no")


def attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *found: Verdict
) -> tuple[Verdict, int]:
    """Judge with runs that have these verdicts; return the final verdict and their number."""
    left = list(found)

    def run(_: process.Request, out: Path) -> list[Verdict]:
        out.mkdir(parents=True)
        (out / "attempt").write_text(str(len(found) - len(left)))
        return [left.pop(0)]

    monkeypatch.setattr(process, "_verdicts", run)
    out = tmp_path / "run"
    answer = process.judged(process.Request(str(tmp_path), str(out), ("k",)))
    made = len(found) - len(left)
    assert (out / "attempt").read_text() == str(made - 1)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    return answer.verdicts[0], made


def crashed(said: str) -> Verdict:
    return Verdict("k", "cannot-tell", "", cause=judging.CRASH, message=f"{said}\n  {CRASHED}")


@pytest.mark.fault(
    "a kernel whose compiler crashes, or uses up the memory, in a submission to the judge",
    "it is tried once more; if the same happens again, cannot-tell, because of this source",
)
def test_a_compiler_that_crashes_twice_in_the_same_way_crashes_on_this_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = crashed("signal 11 in /tmp/tmpxft_1.ii"), crashed("signal 11 in /tmp/tmpxft_2.ii")
    found, made = attempts(tmp_path, monkeypatch, *runs)
    assert made == 2
    assert (found.verdict, found.cause) == ("cannot-tell", "the compiler")
    assert CRASHED_AGAIN in found.text
    assert CRASHED not in found.message


def test_a_compiler_that_crashes_in_two_ways_accuses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = attempts(tmp_path, monkeypatch, crashed("signal 11"), crashed("signal 9"))
    assert CRASHED in found.message


def test_a_compiler_that_crashes_once_has_no_effect_on_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Verdict("k", "right", "")
    assert attempts(tmp_path, monkeypatch, crashed("signal 11"), right)[0].verdict == "right"


def test_nothing_else_is_tried_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Verdict("k", "cannot-tell", "", cause="the machine", message="no room")
    assert attempts(tmp_path, monkeypatch, full)[1] == 1


def test_a_text_in_ptx_is_compiled_with_an_end_to_its_last_line(tmp_path: Path) -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64"
    own = affine.kernel("right")
    object.__setattr__(own, "source", text)
    made = folders.to_folder(Submission((own,), affine.problem()), tmp_path / "matrix")
    assert (made / "kernels" / "affine" / "right.ptx").read_text() == f"{text}\n"
