"""A problem.py is loaded completely, or rejected with the line of the error."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from harness.errors import ProblemError
from harness.problem import Buffer, Work, machine_epsilon, summation_bound
from harness.problem.loading import load


@pytest.fixture
def double_folder(folder: Path) -> Path:
    return folder / "kernels" / "double"


def test_the_tiny_problem_is_loaded(double_folder: Path) -> None:
    problem = load(double_folder)
    assert problem.title
    assert [b.name for b in problem.buffers({"n": 3}, "float32")] == ["input", "output"]
    assert problem.work({"n": 3}, "float32").bytes == 24


def test_an_input_that_need_not_be_read_whole_is_listed(double_folder: Path) -> None:
    assert load(double_folder).partly_read == ()
    path = double_folder / "problem.py"
    title = '    title = "output[i] = 2 input[i]"\n'
    path.write_text(path.read_text().replace(title, f'{title}    partly_read = ["input"]\n'))
    problem = load(double_folder)
    assert problem.partly_read == ["input"]
    assert len(problem.buffers({"n": 3}, "float32")) == 2


def test_a_problem_without_a_library_says_so_when_asked(double_folder: Path) -> None:
    with pytest.raises(ProblemError, match="Double defines no library"):
        load(double_folder).library({})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nx = = 2\n", "problem.py:2: SyntaxError"),
        ("x = 1\n\nraise KeyError('no')\n", "problem.py:3: KeyError"),
        ("import nothing_of_that_name\n", "problem.py:1: ModuleNotFoundError"),
        ("def f():\n    return 1 // 0\n\nf()\n", "problem.py:2: ZeroDivisionError"),
        ("", "problem.py defines 0 subclasses of Problem; it needs one"),
        ("from harness.problem import Problem\n", "defines 0 subclasses"),
        ("from harness.problem import Problem\nclass A(Problem): ...\nclass B(Problem): ...\n",
         "defines 2 subclasses"),
        ("from harness.problem import Problem\nclass A(Problem):\n    def work(self): ...\n",
         "A lacks buffers, inputs, reference, tolerance"),
    ],
)  # fmt: skip
def test_a_problem_py_that_cannot_be_used_is_refused_by_name(
    double_folder: Path, text: str, words: str
) -> None:
    (double_folder / "problem.py").write_text(text)
    with pytest.raises(ProblemError) as caught:
        load(double_folder)
    assert words in str(caught.value)
    assert str(double_folder / "problem.py") in str(caught.value)


CONTRACT = """from harness.problem import Buffer, Problem, Work
import numpy as np

class P(Problem):
    def buffers(self, sizes, dtype):
        return [Buffer("x", "input", dtype, 1), Buffer("y", "output", dtype, 1)]
    def inputs(self, sizes, dtype, rng, draw):
        return {"x": np.ones(1, dtype)}
    def reference(self, sizes, dtype, inputs):
        return {"y": inputs["x"]}
    def tolerance(self, sizes, dtype, inputs):
        return {"y": 0.0}
    def work(self, sizes, dtype):
        return Work(4, 4, 1)
"""


def _everything(folder: Path) -> None:
    problem = load(folder)
    at: tuple[dict[str, int], str] = ({"n": 1}, "float32")
    problem.buffers(*at)
    values = problem.inputs(*at, np.random.default_rng(1), 0)
    problem.reference(*at, values)
    problem.tolerance(*at, values)
    problem.work(*at)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("np\n", "np, sys; sys.exit(3)\n", "problem.py:2: SystemExit: 3"),
        ("P(Problem):", "P(Problem):\n    timed_draw = -1", "timed_draw is -1; it needs a number"),
        ("P(Problem):", "P(Problem):\n    timed_inputs = 3", "timed_inputs is 3; it needs text"),
        ("P(Problem):", "P(Problem):\n    title = None", "title is None"),
        (
            "P(Problem):",
            "P(Problem):\n    partly_read = 'x'",
            "partly_read is 'x'; it needs a list",
        ),
        (
            "P(Problem):",
            "P(Problem):\n    arithmetic = 'fp4'",
            "arithmetic is 'fp4'; it is one of",
        ),
        ("P(Problem):", "P(Problem):\n    partly_read = 3", "partly_read is 3; it needs a list"),
        ("P(Problem):", "P(Problem):\n    partly_read = ['y']", "partly_read names y: no input"),
        ("P(Problem):", "P(Problem):\n    readings = ['y']", "readings is ['y']; it needs outputs"),
        (
            "P(Problem):",
            "P(Problem):\n    other_layouts = ['y']",
            "other_layouts names y: no input",
        ),
        (
            "P(Problem):",
            "P(Problem):\n    other_layouts = ['x']",
            "layouts(): it needs a dict of x",
        ),
        (
            "P(Problem):",
            "P(Problem):\n    changed_together = {'x': -1}",
            "changed_together is {'x': -1}; it needs a number, 0 or more, for each input",
        ),
        (
            "P(Problem):",
            "P(Problem):\n    changed_together = {'y': 2}",
            "changed_together names y: no input",
        ),
        ('return [Buffer("x"', 'return None; [Buffer("x"', "buffers(): it does not return a list"),
        ("dtype, 1), Buffer", "dtype, 1.5), Buffer", "problem.py:6: buffers(): buffer x has 1.5"),
        ('"output"', '"outptu"', "buffer y has the role 'outptu'; known roles are input, output"),
        ('"y", "output", dtype', '"y", "output", "float31"', "the dtype 'float31', which NumPy"),
        ('Buffer("y", "out', 'Buffer("x", "out', "buffers(): it gives a name twice: x, x"),
        ('{"x": np.ones(1, dtype)}', "None", "inputs(): it gives a NoneType; it needs a dict"),
        ('{"x": np.ones(1, dtype)}', "{}", "inputs(): it lacks x"),
        ("np.ones(1, dtype)", "[1.0]", "inputs(): `x` is a list; it needs a NumPy array"),
        ("np.ones(1, dtype)", "1 // 0", "problem.py:8: inputs(): ZeroDivisionError"),
        ('inputs["x"]}', 'inputs["z"]}', "problem.py:10: reference(): KeyError: 'z'"),
        ('{"y": 0.0}', '{"y": "small"}', "tolerance(): `y` holds no numbers"),
        ("Work(4, 4, 1)", "None", "work(): it gives a NoneType; it needs Work(...)"),
        ("Work(4, 4, 1)", "Work(4, 4, 1.5)", "work(): flops is 1.5; it needs an integer"),
        ("Work(4, 4, 1)", "Work(2**62, 2**62, 1)", "9,223,372,036,854,775,808 bytes; a run"),
        ("Work(4, 4, 1)", "Work(4, -4, 1)", "work(): written_bytes is -4"),
    ],
)
def test_a_problem_py_that_breaks_the_contract_is_refused_with_its_place(
    tmp_path: Path, right: str, wrong: str, words: str
) -> None:
    path = tmp_path / "problem.py"
    path.write_text(CONTRACT)
    _everything(tmp_path)
    assert CONTRACT.count(right) == 1
    path.write_text(CONTRACT.replace(right, wrong))
    with pytest.raises(ProblemError) as caught:
        _everything(tmp_path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_problem_py_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"problem\.py"):
        load(tmp_path)


@pytest.mark.parametrize("count", [0, -1])
def test_an_empty_buffer_is_refused(count: int) -> None:
    with pytest.raises(ProblemError, match=f"buffer x has {count} elements"):
        Buffer("x", "input", "float32", count)


def test_bytes_are_counted_by_the_type() -> None:
    assert Buffer("x", "output", "float64", 3).nbytes == 24
    assert Work(read_bytes=24, written_bytes=8, flops=1).bytes == 32


def test_epsilons_are_those_of_the_formats() -> None:
    assert machine_epsilon("float32") == 2**-23
    assert machine_epsilon("float64") == 2**-52
    assert machine_epsilon("float16") == 2**-10


def test_the_summation_bound_is_the_worst_case_up_to_1024_terms() -> None:
    u = 2.0**-24
    gamma = 1000 * u / (1 - 1000 * u)
    assert summation_bound(1000, 10.0, "float32") == pytest.approx(10 * gamma, rel=1e-12)


def test_the_summation_bound_grows_with_the_root_beyond() -> None:
    # n = 2^20: 8 √n = 8192 terms of u = 2^-24, so 2^-11 / (1 − 2^-11) of Σ|x|.
    expected = 2.0**-11 / (1 - 2.0**-11)
    assert summation_bound(2**20, 1.0, "float32") == pytest.approx(expected, rel=1e-12)


def test_the_summation_bound_never_shrinks_as_terms_are_added() -> None:
    bounds = [summation_bound(n, 1.0, "float32") for n in range(1, 40_000, 7)]
    assert bounds == sorted(bounds)


def test_the_bound_of_an_all_zero_sum_is_still_positive() -> None:
    assert summation_bound(5, 0.0, "float32") > 0


def test_a_sum_in_sequence_and_in_pairs_is_within_the_bound() -> None:
    rng = np.random.default_rng(7)
    for n in (1, 2, 31, 1000, 5000):
        values = rng.standard_normal(n).astype(np.float32)
        exact = math.fsum(values.astype(np.float64))
        bound = summation_bound(n, float(np.abs(values).sum(dtype=np.float64)), "float32")
        in_sequence = float(np.cumsum(values, dtype=np.float32)[-1])
        assert abs(in_sequence - exact) <= bound
        assert abs(float(values.sum()) - exact) <= bound


def test_a_file_that_changed_at_once_and_kept_its_length_is_read_anew(double_folder: Path) -> None:
    path = double_folder / "problem.py"
    title = load(double_folder).title
    stands = path.stat()
    path.write_text(path.read_text().replace(title, title.upper()))
    os.utime(path, ns=(stands.st_atime_ns, stands.st_mtime_ns))
    assert load(double_folder).title == title.upper() != title
