"""A committed run with inputs or libraries other than the current ones is marked."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from own_repository import BENCH, ROOT

from harness.files import source_text


@pytest.fixture
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("yardsticks")


def run(libraries: list[str], **digests: str) -> Any:
    """A run of transpose, made from the current files except for the given libraries."""
    names = ("problem.py", "with_torch.py", "v0_naive.cu")
    made_from = {
        f"transpose/{name}": digests.get(
            name.partition(".")[0],
            source_text.sha256((ROOT / "kernels" / "transpose" / name).read_bytes())[:16],
        )
        for name in names
    }
    problem = made_from["transpose/problem.py"]
    planned = [SimpleNamespace(problem="transpose", variant=v, is_library=True, made_from=made_from)
               for v in libraries]  # fmt: skip
    planned.append(SimpleNamespace(
        problem="transpose", variant="v0_naive", is_library=False,
        made_from={"transpose/problem.py": problem, "transpose/v0_naive.cu": "other"},
    ))  # fmt: skip
    return SimpleNamespace(planned={p.variant: p for p in planned}, info={})


TODAY = [v.name for v in BENCH.problems["transpose"].everything()
         if v.as_library]  # fmt: skip


def test_a_run_with_todays_libraries_and_inputs_is_not_older_whatever_its_variants_are(
    script: ModuleType,
) -> None:
    assert not script.is_older(run(TODAY), "transpose")


def test_one_without_a_library_of_today_or_with_other_files_is_older(script: ModuleType) -> None:
    assert script.is_older(run(TODAY[1:]), "transpose")
    assert script.is_older(run(TODAY, problem="other"), "transpose")
    assert script.is_older(run(TODAY, with_torch="other"), "transpose")


def test_a_file_whose_comments_alone_have_changed_is_todays(script: ModuleType) -> None:
    name = "transpose/v0_naive.cu"
    content = (ROOT / "kernels" / name).read_bytes()
    info = {"sources": {name: "before"}, "code": {name: source_text.code_sha256(content, ".cu")}}
    assert script.is_today(SimpleNamespace(info=info), name, "before")
    assert not script.is_today(SimpleNamespace(info=info), name, "another")
    info["code"][name] = source_text.code_sha256(content + b"int x;", ".cu")
    assert not script.is_today(SimpleNamespace(info=info), name, "before")


def test_a_problem_that_is_gone_has_nothing_to_differ_from(script: ModuleType) -> None:
    assert not script.is_older(run(TODAY), "no_such_problem")


def test_the_pages_of_results_and_kernels_mark_the_runs_with_older_yardsticks() -> None:
    results, page = (
        (ROOT / name).read_text() for name in ("docs/results.md", "docs/generated/kernels.md")
    )
    marked = [line for line in results.splitlines() if "×† |" in line]
    assert bool(marked) == ("† The files that define its inputs" in results)
    on_an_h200 = [line for line in marked if "reports/h200/" in line]  # like the kernel page
    assert bool(on_an_h200) == ("it has not been measured again yet" in page)


def test_the_docs_say_of_every_library_row_what_it_is_or_of_a_problem_that_it_has_none() -> None:
    page = (ROOT / "docs" / "measurement.md").read_text(encoding="utf-8")
    section = page.partition("## The yardsticks")[2].partition("\n## ")[0]
    table = "".join(line for line in section.splitlines() if line.startswith("| "))
    for name, problem in BENCH.problems.items():
        rows = [v.name for v in problem.everything() if v.as_library]
        assert [row for row in rows if f"`{row}`" not in table] == [], name
        assert rows or f"`{name}`" in section, name
