"""A Python function is exported to a problem.py by its path or as text, or is rejected with a
message that names it."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from harness.judge.references import Imported, Written, reference

FACTOR = 3
ARRAY = np.arange(3)


def tripled(x: Any) -> Any:
    return FACTOR * x


def executed(found: Written) -> Any:
    """The function that the exported text defines."""
    there: dict[str, Any] = {}
    exec(found.source, there)
    return there[found.name]


def test_a_function_of_a_file_is_imported_by_its_path() -> None:
    found = reference(tripled)
    assert isinstance(found, Imported)
    assert Path(found.file).samefile(__file__)
    assert (found.name, found.parameters) == ("tripled", ("x",))


def test_a_function_of_an_installed_module_is_imported_by_name() -> None:
    assert reference(np.linalg.norm).module.startswith("numpy")
    assert reference(np.maximum) == Imported("maximum", module="numpy")


def test_a_lambda_is_written_out_with_what_it_uses() -> None:
    found = reference(lambda x: np.sum(FACTOR * x))
    assert isinstance(found, Written)
    assert executed(found)(np.ones(4)) == 12
    assert found.parameters == ("x",)


def test_of_several_lambdas_in_a_line_the_right_one_is_written_out() -> None:
    doubled, scaled = (lambda x: x + x), (lambda x, n: FACTOR * x * n)
    assert executed(reference(scaled))(2, 5) == 30
    assert executed(reference(doubled))(2) == 4


def test_a_lambda_among_like_ones_is_refused() -> None:
    more, less = (lambda x: x + FACTOR), (lambda x: x - FACTOR)
    for each in (more, less):
        with pytest.raises(ValueError, match="which of the lambdas"):
            reference(each)


def test_a_notebooks_function_is_written_out_with_the_functions_it_calls() -> None:
    as_in_main = FunctionType(tripled.__code__, {**globals(), "__name__": "__main__"}, "tripled")
    found = reference(as_in_main)
    assert isinstance(found, Written)
    assert executed(found)(2) == 6


def test_a_closure_is_refused_by_the_names_it_uses() -> None:
    inner = 4
    with pytest.raises(ValueError, match="uses `inner` of the function around it"):
        reference(lambda x: inner * x)


def test_a_value_that_cannot_be_written_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="uses `ARRAY`, a ndarray"):
        reference(lambda x: x + ARRAY)


def test_a_function_without_source_says_what_to_do() -> None:
    there: dict[str, Any] = {"__name__": "__main__"}
    exec("def typed(x): return x", there)
    with pytest.raises(ValueError, match="the source of `typed` is not to be had"):
        reference(there["typed"])


def test_an_object_is_no_reference() -> None:
    class Module:
        def __call__(self, x: Any) -> Any:
            return x

    with pytest.raises(ValueError, match="a reference is a function"):
        reference(Module())


def test_a_text_that_does_not_define_its_name_is_refused() -> None:
    with pytest.raises(ValueError, match="defines no `g`"):
        Written("def f(x): return x", "g")
    with pytest.raises(ValueError, match="line 1"):
        Written("def f(x) return x", "f")


def test_a_file_and_a_name_are_enough(tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text("def f(x, n):\n    return x\n")
    found = reference(f"{tmp_path / 'ref.py'}:f")
    assert found.parameters == ("x", "n")
    with pytest.raises(ValueError, match="is not there"):
        reference("nowhere.py:f")
    with pytest.raises(ValueError, match="is no reference"):
        reference("nowhere")


@pytest.mark.gpu  # run by `make test-gpu`: torch is installed where there is a GPU
@pytest.mark.usefixtures("processes")  # importing torch starts one
def test_a_torch_module_in_memory_travels_with_its_values() -> None:
    import torch

    module = torch.nn.Linear(3, 2)
    found = reference(module)
    assert isinstance(found, Written)
    assert found.parameters == ("input", "weight", "bias")
    x, weight, bias = np.ones((1, 3)), np.full(6, 2.0), np.zeros(2)
    there = executed(found)
    assert np.allclose(there(x), module(torch.ones(1, 3)).detach().numpy())
    assert np.allclose(there(x, weight, bias), 6)


@pytest.mark.gpu
@pytest.mark.usefixtures("processes")
def test_a_torch_module_that_no_other_process_knows_is_refused() -> None:
    import torch

    class Own(torch.nn.Module):
        pass

    with pytest.raises(ValueError, match="no other process finds it"):
        reference(Own())
    with pytest.raises(ValueError, match="at most"):
        reference(torch.nn.Linear(1000, 1000))
