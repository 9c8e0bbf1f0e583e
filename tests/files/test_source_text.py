from __future__ import annotations

import pytest

from harness.files.source_text import code_sha256, is_of, sha256, without_comments

HEAD = b"// Idea: one.\n//\n// Measured: not yet.\nint x;\n"


def test_what_a_file_measured_is_no_part_of_its_source() -> None:
    assert sha256(HEAD) == sha256(HEAD.replace(b"not yet.", b"H200, n = 2^28: 1.44x v0."))


def test_everything_else_is() -> None:
    for old, new in ((b"one", b"two"), (b"int x", b"int y"), (b"// Measured: not yet.\n", b"")):
        assert sha256(HEAD) != sha256(HEAD.replace(old, new))


@pytest.mark.parametrize(
    "text",
    [
        "// Idea\n// Measured: {} \\\nint x;\n",
        "// Idea\n// Measured: {} \\ \r\nint x;\n",
        "// Idea\n// Measured: {} ??/\nint x;\n",
        "// Idea \\\n// Measured: {}\nint x;\n",
        "/*\n// Measured: */ int x = {}; /*\n*/\n",
        'auto s = R"(\n// Measured: {}\n)";\n',
        "int x;\n// Measured: {}\nint y;\n",
    ],
)
def test_a_line_that_may_be_or_hide_code_is_part_of_the_source(text: str) -> None:
    assert sha256(text.format(1).encode()) != sha256(text.format(2).encode())


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


def test_code_is_what_is_left_without_comments_each_line_at_its_place() -> None:
    assert without_comments(b"// Idea\nint x;  // one\n/* a\n   b */ int y;\n\n// end\n") == (
        b"\nint x;\n\n int y;\n"
    )
    assert code_sha256(HEAD, ".cu") == code_sha256(HEAD.replace(b"one", b"two"), ".cu")
    assert code_sha256(HEAD, ".cu") != code_sha256(HEAD.replace(b"int x", b"int y"), ".cu")
    assert code_sha256(HEAD, ".cu") != code_sha256(b"// one line more\n" + HEAD, ".cu")


@pytest.mark.parametrize(
    "code",
    [
        b'char s[] = "// no comment \\" /* nor this */";',
        b"char c = '\"'; int n = 1'000'000;",
        b'char r[] = R"x(// " )" /* )x";',
        b"int f = 6 / 2;",
        b'asm("{ // in PTX\\n");',
    ],
)
def test_what_only_looks_like_a_comment_is_code(code: bytes) -> None:
    assert without_comments(code + b"  // a comment") == code + b"\n"


def test_a_comment_that_goes_on_after_a_backslash_is_one_comment() -> None:
    assert without_comments(b"// one \\\nint x;\nint y;") == b"\n\nint y;\n"


def test_the_code_of_a_python_file_is_its_statements() -> None:
    before = b'"""Old."""\n\nN = 2  # two\n\n\ndef f():\n    """Of f."""\n    return N\n'
    after = b'"""New\nwords."""\n\nN = 2\n\n\ndef f():\n    """Give N."""\n    return N\n'
    assert code_sha256(before, ".py") == code_sha256(after, ".py")
    assert code_sha256(before, ".py") != code_sha256(before.replace(b"N = 2", b"N = 3"), ".py")
