"""Printing the harness's version, its help or a completion loads hardly any packages."""

from __future__ import annotations

import ast
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = ROOT / "harness" / "commands" / "line"
PROGRAM = (
    "import sys, atexit; sys.argv[0] = 'kernel-harness'\n"
    "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    "from harness.__main__ import main; main()"
)
HEAVY = {"numpy", "pandas", "scipy", "matplotlib", "plotly", "jinja2", "ml_dtypes"}


def typed(*words: str, **environment: str) -> tuple[str, set[str]]:
    """Run a command; return its output and the packages that it loaded."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], cwd=ROOT, capture_output=True, text=True,
        timeout=60, env={**os.environ, **environment},
    )  # fmt: skip
    return ended.stdout, {name.split(".")[0] for name in ended.stderr.split()}


def offered(line: str) -> tuple[set[str], set[str]]:
    words = f"kernel-harness {line}"
    printed, loaded = typed(
        _KERNEL_HARNESS_COMPLETE="complete_bash", COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )  # fmt: skip
    return set(printed.split()), loaded


def test_the_version_needs_neither_the_matrix_nor_what_draws() -> None:
    printed, loaded = typed("--version")
    assert printed.startswith("kernel-harness ")
    assert not loaded & {*HEAVY, "pydantic", "yaml", "rich"}


@pytest.mark.parametrize("command", ["", "run", "profile", "beside", "compare", "list", "report"])
def test_help_needs_neither_the_matrix_nor_what_draws(command: str) -> None:
    printed, loaded = typed(*command.split(), "--help")
    assert f"Usage: kernel-harness {command}" in printed
    assert not loaded & {*HEAVY, "yaml", "rich"}


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("comp", "compare"),
        ("run --only reduce_s", "reduce_sum"),
        ("run --only reduce_sum/v0", "reduce_sum/v0_global_memory"),
        ("run --dtype bf", "bfloat16"),
    ],
)
def test_a_completion_reads_no_more_than_it_offers(line: str, among: str) -> None:
    found, loaded = offered(line)
    assert among in found
    assert not loaded & HEAVY


def test_a_command_is_begun_without_what_draws() -> None:
    commands = LINE.parent
    paths = [*commands.glob("[a-z]*.py"), *commands.glob("runs/[a-z]*.py")]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    names.remove("harness.commands.new")  # jinja2 fills in its templates
    program = f"import {', '.join(names)}, sys; print(*sys.modules)"
    imported = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(names) > 15
    loaded = {name.split(".")[0] for name in imported.stdout.split()}
    assert not loaded & (HEAVY - {"numpy"})


@pytest.mark.parametrize(("option", "seconds"), [("--version", 0.3), ("--help", 0.5)])
def test_it_takes_less_processor_time_than_anybody_notices(option: str, seconds: float) -> None:
    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "harness", option], cwd=ROOT, check=True,
                       capture_output=True)  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(5)) < seconds


def test_the_command_line_imports_at_its_top_only_what_is_light() -> None:
    light = {"harness.commands.line", "harness.errors", "harness.journal.run_files", "typer"}
    for path in LINE.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module not in sys.stdlib_module_names:
                module = node.module or ""
                names = [f"{module}.{alias.name}" for alias in node.names]
                is_light = any(
                    f"{name}.".startswith(f"{each}.") for each in light for name in names
                )
                assert is_light or module.split(".")[0] in sys.stdlib_module_names, (path, module)


def test_what_install_completion_writes_completes_in_bash(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = tmp_path / "install.sh"  # typer asks which shell started it
    script.write_text(f"{sys.executable} -m harness --install-completion\nexit $?\n")
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([bash, script], cwd=ROOT, env=environment, check=True, capture_output=True)
    program = tmp_path / "kernel-harness"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m harness "$@"\n')
    program.chmod(0o755)
    request = (
        f"source {tmp_path}/.bash_completions/kernel-harness.sh\n"
        "complete -p kernel-harness\n"
        "COMP_WORDS=(kernel-harness run --only reduce_s); COMP_CWORD=3\n"
        "_kernel_harness_completion kernel-harness reduce_s --only; echo ${COMPREPLY[@]}\n"
    )
    ended = subprocess.run(
        [bash, "-c", request], cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={**environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert ended.stdout.splitlines()[-1] == "reduce_sum", ended


def test_a_python_without_the_packages_is_told_which_one_has_them() -> None:
    ended = subprocess.run(
        [sys.executable, "-S", "-m", "harness", "doctor"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, env={},
    )  # fmt: skip
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert "has no package `typer`" in ended.stderr
    assert ".venv/bin/python -m harness doctor" in ended.stderr
