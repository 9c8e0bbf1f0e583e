"""The commit that `git:REF` names, the files that are extracted, and the names that are rejected
with a clear message."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import commit, git

from harness.comparison.sides import commits
from harness.comparison.sides.commits import Commit, find, tracked, uncommitted
from harness.errors import UsageError


@pytest.fixture
def repository(folder: Path) -> Path:
    """The tiny problem, committed."""
    commit(folder)
    return folder


def test_a_branch_a_tag_and_the_beginning_of_a_hash_name_a_commit(repository: Path) -> None:
    sha = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "-a", "v1", "-m", "the first")
    for name in ("main", "v1", "HEAD", sha[:9], "HEAD@{0}"):
        found = find(f"git:{name}", repository / "kernels")
        assert (found.sha, found.root) == (sha, repository.resolve())


@pytest.mark.fault(
    "a commit to compare with that does not exist, or is an option of git's",
    outcome="Refused in a sentence; git takes no option from it.",
)
@pytest.mark.parametrize("name", ["no-such-branch", "HEAD~7", "--output=x", "main:kernels"])
def test_a_name_that_is_no_commit_is_refused(repository: Path, name: str) -> None:
    with pytest.raises(UsageError, match="there is no such branch, tag or commit"):
        find(f"git:{name}", repository)
    assert not (repository / "x").exists()


def test_an_empty_name_is_refused(repository: Path) -> None:
    with pytest.raises(UsageError, match="names no commit"):
        find("git:", repository)


def test_a_folder_in_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not in a readable git repository"):
        find("git:main", tmp_path)


def test_where_there_is_no_git_the_refusal_says_so(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="git is not installed"):
        find("git:main", repository)


@pytest.mark.fault(
    "a shallow clone without the commit to compare with",
    outcome="Refused, with the command that fetches what it lacks.",
)
def test_a_shallow_clone_is_told_how_to_get_what_it_lacks(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, "another")
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    with pytest.raises(UsageError, match="this clone is shallow"):
        find(f"git:{first}", tmp_path / "shallow")
    assert find("git:HEAD", tmp_path / "shallow").sha != first


def test_a_commits_files_are_written_as_they_were_and_nothing_else(
    repository: Path, tmp_path: Path
) -> None:
    source = repository / "kernels" / "double" / "v0.cu"
    before = source.read_bytes()
    found = find("git:HEAD", repository)
    source.write_text("changed")
    (repository / "kernels" / "double" / "new.cu").write_text("")
    found.extract(["kernels"], tmp_path / "out")
    files = {p.relative_to(tmp_path / "out") for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert files == {Path("kernels/double/v0.cu"), Path("kernels/double/problem.py")}
    assert (tmp_path / "out" / "kernels" / "double" / "v0.cu").read_bytes() == before
    assert found.files("kernels")
    assert not found.files("kernels/double/v0.cu")
    assert not found.files("elsewhere")
    assert found.has("bench.yaml")
    assert not found.has("kernels")


@pytest.mark.fault(
    "a link among a commit's kernels",
    outcome="Refused with its name; it is neither made nor followed.",
)
def test_a_link_in_a_commit_is_refused_and_not_followed(repository: Path, tmp_path: Path) -> None:
    (repository / "kernels" / "double" / "outside.cuh").symlink_to("/etc/passwd")
    commit(repository)
    with pytest.raises(UsageError, match=r"outside\.cuh is a link"):
        find("git:HEAD", repository).extract(["kernels"], tmp_path / "out")


@pytest.mark.fault(
    "a file of a commit that leads out of its folder",
    outcome="Refused; nothing is written there.",
)
@pytest.mark.parametrize("name", ["/etc/evil", "../evil", "kernels/../../evil"])
def test_a_file_that_leads_out_of_its_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    class Ended:
        returncode, stderr = 0, b""
        stdout = f"100644 blob {'0' * 40}\t{name}\0".encode()

    monkeypatch.setattr(commits, "_git", lambda *_, **__: Ended)
    with pytest.raises(UsageError, match="leads out of its folder"):
        Commit("git:x", "0" * 40, tmp_path).extract([name], tmp_path / "out")
    assert not (tmp_path / "evil").exists()


@pytest.mark.fault(
    "git attributes that leave a kernel out of an archive, or rewrite it",
    outcome="The commit's files are compared as they are.",
)
def test_attributes_do_not_change_what_a_commit_contains(repository: Path, tmp_path: Path) -> None:
    kernels = repository / "kernels" / "double"
    (kernels / "v1.cu").write_text("// $Format:%n#error pwn%n$\n")
    (repository / ".gitattributes").write_text("v0.cu export-ignore\nv1.cu export-subst\n")
    commit(repository)
    find("git:HEAD", repository).extract(["kernels"], tmp_path / "out")
    for name in ("v0.cu", "v1.cu"):
        made = tmp_path / "out" / "kernels" / "double" / name
        assert made.read_bytes() == (kernels / name).read_bytes()


@pytest.mark.fault(
    "a repository whose configuration names a program for git to start (core.fsmonitor)",
    outcome="It is not started.",
)
def test_a_program_that_a_repository_names_is_not_started(repository: Path) -> None:
    inside = repository / ".git"
    program = inside / "program"
    program.write_text(f"#!/bin/sh\ntouch {inside}/started\n")
    program.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(program))
    (repository / "bench.yaml").write_text("changed")
    assert commits.uncommitted(repository, ["."]) == ["bench.yaml"]
    assert not (inside / "started").exists()
    git(repository, "status")
    assert (inside / "started").exists(), "git itself starts it"


def test_files_as_they_lie_there_are_the_tracked_and_the_new_ones_but_not_ignored_ones(
    repository: Path,
) -> None:
    double = repository / "kernels" / "double"
    (double / "__pycache__").mkdir()
    (double / "__pycache__" / "problem.pyc").write_text("")
    (double / "ünïcode name.cu").write_text("")
    (double / "v0.cu").unlink()
    assert set(tracked(repository, "kernels")) == {
        "kernels/double/problem.py", "kernels/double/ünïcode name.cu",
    }  # fmt: skip
    assert set(uncommitted(repository, ["kernels", "bench.yaml"])) == {
        "kernels/double/v0.cu", "kernels/double/ünïcode name.cu",
    }  # fmt: skip
    (repository / "elsewhere.txt").write_text("")
    assert "elsewhere.txt" not in uncommitted(repository, ["kernels", "bench.yaml"])
