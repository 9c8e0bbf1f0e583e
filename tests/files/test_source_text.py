from __future__ import annotations

from harness.files.source_text import is_of, sha256

HEAD = b"// Idea: one.\n//\n// Measured: not yet.\nint x;\n"


def test_what_a_file_measured_is_no_part_of_its_source() -> None:
    assert sha256(HEAD) == sha256(HEAD.replace(b"not yet.", b"H200, n = 2^28: 1.44x v0."))


def test_everything_else_is() -> None:
    for old, new in ((b"one", b"two"), (b"int x", b"int y"), (b"// Measured: not yet.\n", b"")):
        assert sha256(HEAD) != sha256(HEAD.replace(old, new))


def test_code_behind_the_line_is_part_of_it() -> None:
    assert sha256(b"int y; // Measured: a") != sha256(b"int y; // Measured: b")


def test_a_file_that_was_measured_before_it_had_the_line_is_that_file_still() -> None:
    before = b"// Idea: one.\nint x;\n"
    assert is_of(HEAD, sha256(before))
    assert is_of(HEAD, sha256(HEAD))
    assert not is_of(HEAD.replace(b"int x", b"int y"), sha256(before))


def test_the_beginning_of_a_hash_will_do_but_none_is_no_files() -> None:
    assert is_of(HEAD, sha256(HEAD)[:16])
    assert not is_of(HEAD, "")
