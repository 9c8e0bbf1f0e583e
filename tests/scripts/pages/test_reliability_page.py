"""docs/generated/reliability.md is generated from the tests' markers and is up to date."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "pages" / "reliability_page.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reliability_page", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_committed_page_is_up_to_date() -> None:
    # In a process of its own: pytest collects once in each.
    ended = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout


def test_every_test_on_the_page_stands_in_its_file() -> None:
    rows = re.findall(
        r"\[`(\w+)`\]\(([^)]+)\)", (ROOT / "docs" / "generated" / "reliability.md").read_text()
    )
    assert len(rows) > 10
    for test, path in rows:
        assert f"def {test}(" in (ROOT / "docs" / "generated" / path).read_text(), test


def test_a_page_has_one_table_per_area_one_row_per_test_and_says_which_need_a_gpu(
    script: ModuleType,
) -> None:
    fault = script.Fault
    text = script.page([
        fault("a | pipe", "it\n is *shown*", "test_b", "run/test_x.py", False),
        fault("a", "b", "test_a", "run/test_x.py", True),
        fault("c", "d", "test_c", "new_room/test_y.py", False),
        fault("<img>", "e", "test_d", "test_z.py", False),
    ])  # fmt: skip
    assert text.startswith(script.HEAD)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        script.AREAS["run"], script.AREAS[""], "New room",
    ]  # fmt: skip
    assert "| a | b | [`test_a`](../../tests/run/test_x.py) (GPU) |" in text
    assert "| a \\| pipe | it is \\*shown\\* | [`test_b`](../../tests/run/test_x.py) |" in text
    assert "\\<img\\>" in text


def test_a_marker_without_its_two_texts_or_a_file_that_cannot_be_read_leaves_the_page(
    tmp_path: Path,
) -> None:
    tests = ROOT / "tests"
    program = (
        f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        "from pathlib import Path\n"
        "import reliability_page as r\n"
        f"r.ROOT = Path({str(tmp_path)!r})\n"
        "print(r.collected(r.ROOT / 'tests'))\n"
    )
    (tmp_path / "tests" / "run").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "tests" / "run" / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.fault('only one')\ndef test_one(): assert False\n"
        "@pytest.mark.gpu\n@pytest.mark.fault('w', outcome='o')\n"
        "@pytest.mark.parametrize('x', [1, 2])\ndef test_two(x): assert False\n"
    )
    (tmp_path / "tests" / "test_broken.py").write_text("import nothing_of_that_name\n")
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tests.parent,
    )
    assert "Fault(what='w', outcome='o', test='test_two', where='run/test_it.py'" in ended.stdout
    assert ended.stdout.count("Fault(") == 1
    assert "needs_gpu=True" in ended.stdout
    assert "test_one: fault(what, outcome) takes two texts" in ended.stdout
    assert "nothing_of_that_name" in ended.stdout
