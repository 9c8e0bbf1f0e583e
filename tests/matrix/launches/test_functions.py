"""A variant or a library may be a Python or a host function, and is a case like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cases import Case, Device
from harness.errors import ConfigError
from harness.matrix import model, plan

Own = Callable[..., Path]

PYTHON = "    python: fast.py:twice\n    let: {rows: 2 * n}\n"
HOST = "    host: host.cu:twice\n    args: [input, output, n, 1.0 / n]\n"


@pytest.fixture
def functions(folder: Path) -> None:
    """Files with a Python and a host function, next to the kernel."""
    here = folder / "kernels" / "double"
    (here / "fast.py").write_text("def twice(tensors, stream, n, rows): ...\n")
    (here / "host.cu").write_text("int twice() { return 0; }\n")


pytestmark = pytest.mark.usefixtures("functions")


def found(path: Path, device: Device, backend: str = "cuda") -> plan.Plan:
    return plan.resolve(model.load(path.parents[2] / "bench.yaml"), device, backend)


def of(cases: plan.Plan, variant: str) -> list[Case]:
    return [case for case in cases.cases if case.variant == variant]


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        model.load(path.parents[2] / "bench.yaml")
    return str(caught.value)


def test_a_python_function_is_one_case_per_size_with_the_names_that_it_may_take(
    own: Own, device: Device
) -> None:
    [case] = of(found(own("    source: v0.cu\n  v2:", f"{PYTHON}  v2:"), device), "v1")
    assert (case.kind, case.function) == ("python", "fast.py:twice")
    assert case.id == "double/v1/float32/n=1024"
    assert (case.builds_on, case.is_library, case.steps) == ("v0", False, ())
    # The default `blocks` needs `block`, which a case without launch keys does not have.
    assert case.let == {"rows": 2048}


def test_a_host_function_has_its_arguments_worked_out_and_is_compiled(
    own: Own, device: Device
) -> None:
    text = HOST + "    flags: [-O1]\n    let: {blocks: 1}\n    defines: {B: blocks}\n"
    [case] = of(found(own("    source: v0.cu\n  v2:", f"{text}  v2:"), device), "v1")
    assert (case.kind, case.source, case.function) == ("host", "host.cu", "host.cu:twice")
    assert case.args == ("input", "output", 1024, 1 / 1024)
    assert (case.flags, case.defines) == (("-O1",), {"FACTOR": 2, "B": 1})


def test_a_function_may_have_launch_keys_of_its_own(own: Own, device: Device) -> None:
    text = PYTHON + "    launch: {tile: [16, 32]}\n"
    cases = of(found(own("    source: v0.cu\n  v2:", f"{text}  v2:"), device), "v1")
    assert [case.launch for case in cases] == [{"tile": 16}, {"tile": 32}]


def test_functions_are_verified_at_the_test_sizes_and_libraries_are_not(
    own: Own, device: Device
) -> None:
    library = "libraries:\n  lib: {host: 'host.cu:twice', args: [output]}\nvariants:\n"
    resolved = found(
        own("    source: v0.cu\n  v2:", f"{PYTHON}  v2:", "variants:\n", library), device
    )
    assert sum(test.variant == "v1" for test in resolved.tests) == 2
    assert not any(test.variant == "lib" for test in resolved.tests)
    [case] = of(resolved, "lib")
    assert (case.is_library, case.kind, case.launch) == (True, "host", {})


def test_the_same_library_may_stand_there_as_it_is_and_compiled(own: Own, device: Device) -> None:
    rows = (
        "library: [torch, torch_compile]\nlibraries:\n"
        "  fast: {python: 'fast.py:twice', let: {rows: n}, compiled: true}\nvariants:\n"
    )
    resolved = found(own("variants:\n", rows), device)
    told = {v: of(resolved, v)[0] for v in ("torch", "torch_compile", "fast")}
    assert [(c.kind, c.compiled, c.is_library) for c in told.values()] == [
        ("library", False, True), ("library", True, True), ("python", True, True),
    ]  # fmt: skip
    assert not of(resolved, "v1")[0].compiled


def test_only_a_librarys_python_function_is_compiled_by_torch(own: Own) -> None:
    row = "libraries:\n  lib: {host: 'host.cu:twice', args: [output], compiled: true}\nvariants:\n"
    assert "does not go with `host`: torch compiles Python" in refusal(own("variants:\n", row))


def test_a_variant_is_not_compiled_by_torch(own: Own) -> None:
    text = f"{PYTHON}    compiled: true\n  v2:"
    assert "compiled" in refusal(own("    source: v0.cu\n  v2:", text))


def test_a_library_named_as_problem_pys_own_is_refused(own: Own) -> None:
    rows = (
        "library: [torch, torch_compile]\nlibraries:\n  torch_compile: {python: 'fast.py:twice'}\n"
    )
    assert "another row has this name" in refusal(own("variants:\n", f"{rows}variants:\n"))


def test_without_a_gpu_functions_and_libraries_are_skipped_and_say_so(
    own: Own, device: Device
) -> None:
    library = "library: torch\nlibraries:\n  lib: {host: 'host.cu:twice', args: [output]}\n"
    path = own("    source: v0.cu\n  v2:", f"{PYTHON}  v2:", "variants:\n", f"{library}variants:\n")
    path.write_text(path.read_text() + "  v3:\n" + HOST)
    cases = found(path, device, "emulator")
    reasons = {case.variant: case.skip for case in cases.cases if case.skip}
    assert reasons == {
        "v1": "the emulator executes kernels; a Python function needs a GPU",
        "v3": "the emulator executes kernels; a host function needs a GPU",
        "lib": "the emulator executes kernels; a library needs a GPU",
        "torch": "the emulator executes kernels; a library needs a GPU",
    }
    assert not any(case.skip for case in found(path, device, "cuda").cases)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (PYTHON + "    source: v0.cu\n", "source", "does not go with `python`"),
        (PYTHON + "    steps: [twice]\n", "steps", "does not go with `python`"),
        (PYTHON + HOST, "host", "does not go with `python`"),
        (PYTHON + "    flags: [-O1]\n", "flags", "is not compiled by nvcc"),
        (PYTHON + "    args: [n]\n", "args", "called with what its parameters name"),
        ("    source: v0.ptx\n    flags: [-O1]\n", "flags", "does not go with PTX"),
        ("    args: [n]\n", "args", "belongs into each of the steps, or to `host:`"),
        ("    python: fast.py\n", "python", "write file.py:function, such as sums.py:sum"),
        ("    python: fast.cu:twice\n", "python", "a source is a .py file"),
        ("    host: fast.py:twice\n", "host", "a source is a .cu file"),
        ("    python: ../fast.py:twice\n", "python", "no absolute path, no .."),
        ("    python: fasd.py:twice\n", "python", "did you mean fast.py?"),
        ("    python: fast.py:twise\n", "python", "defines no `twise`; did you mean twice?"),
        ("    host: hots.cu:twice\n", "host", "did you mean host.cu?"),
        ("    host: 'host.cu:a b'\n", "host", "write file.cu:function"),
    ],
)
def test_a_function_that_cannot_be_is_refused_with_its_line(
    own: Own, text: str, key: str, words: str
) -> None:
    path = own("    source: v0.cu\n  v2:", f"{text}  v2:")
    line = path.read_text().splitlines()
    at = max(i for i, each in enumerate(line, 1) if each.startswith(f"    {key}:") and i < 20)
    message = refusal(path)
    assert message.startswith(f"{path}:{at}: variants.v1.{key}"), message
    assert words in message


@pytest.mark.parametrize(
    ("libraries", "where", "words"),
    [
        ("  lib: {}", "libraries.lib", "one of them"),
        ("  lib: {python: fast.py:twice, host: host.cu:twice}", "libraries.lib", "one of them"),
        ("  lib: {source: v0.cu}", "libraries.lib.source", "unknown key"),
        ("  lib: {python: fast.py:twice, launch: {a: 1}}", "libraries.lib.launch", "unknown key"),
        ("  v0: {python: fast.py:twice}", "libraries.v0", "another row has this name"),
        ("  lib: {host: host.cu:twice, args: [n], let: {m: 3}}", "libraries.lib.let.m",
         "nothing uses `m`"),
    ],
)  # fmt: skip
def test_a_library_that_cannot_be_is_refused_with_its_line(
    own: Own, libraries: str, where: str, words: str
) -> None:
    path = own("variants:\n", f"libraries:\n{libraries}\nvariants:\n")
    message = refusal(path)
    assert message.startswith(f"{path}:12: {where}: "), message
    assert words in message


def test_a_library_called_torch_stands_only_where_problem_pys_does_not(
    own: Own, device: Device
) -> None:
    library = "libraries:\n  torch: {python: fast.py:twice, let: {rows: 1}}\n"
    [case] = of(found(own("variants:\n", f"{library}variants:\n"), device), "torch")
    assert case.kind == "python"
    message = refusal(own("variants:\n", f"library: torch\n{library}variants:\n"))
    assert "another row has this name" in message


def test_a_python_file_is_not_run_when_the_matrix_is_read(own: Own, folder: Path) -> None:
    file = folder / "kernels" / "double" / "fast.py"
    for text in ("raise SystemExit\ndef twice(): ...\n", "twice = wrap(None)\n",
                 "from somewhere import twice\n", "try:\n    def twice(): ...\nexcept E: pass\n",
                 "not Python at all\n", "from somewhere import *\n"):  # fmt: skip
        file.write_text(text)
        model.load(own("    source: v0.cu\n  v2:", f"{PYTHON}  v2:").parents[2] / "bench.yaml")
