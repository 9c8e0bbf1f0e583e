"""Run a candidate's Python on tensors without values, in a separate process, and print its
launches.

    python -m harness.judge.candidates.trace REQUEST.json

This process executes the candidate's code and writes one line of data to standard output. Here,
`load_inline` compiles nothing: it keeps the text, and cpp/run.py interprets its functions.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from harness.errors import HarnessError
from harness.judge.candidates.cpp.run import Host
from harness.judge.candidates.cpp.text import Parted, parted
from harness.judge.candidates.errors import Refused
from harness.judge.candidates.flags import FLAGS
from harness.judge.candidates.recording import Recording, Seen, key, type_name
from harness.problem.model_file import ModelFile, executed

_MEMORY = 16 << 30
_FLAGS_LEFT_OUT = ("-O", "-lineinfo", "-arch", "-gencode", "--expt", "-std", "--std", "--ptxas",
                   "-Xptxas", "-Xcompiler", "-lcu", "--generate-line-info", "-D_", "-DNDEBUG",
                   "-U__CUDA", "-DTORCH", "-Wno", "-w", "--threads", "-rdc=false")  # fmt: skip
"""nvcc options that do not change what a kernel computes, or that torch's headers need."""


class Extensions:
    """Collects the texts and nvcc options that the candidate passes to `load_inline`."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.texts: list[Parted] = []
        self.flags: list[str] = []

    def load_inline(
        self, name: str = "", cpp_sources: Any = (), cuda_sources: Any = (), functions: Any = None,
        extra_cuda_cflags: Sequence[str] | None = None, **more: Any,
    ) -> Any:  # fmt: skip
        own, recording = self._recording, self._recording
        try:
            text = parted(_joined(cuda_sources), _joined(cpp_sources))
        except Refused as error:
            raise own.refuse(f"the extension `{name}`: {error}") from None
        for flag in (f for f in extra_cuda_cflags or () if f.strip()):
            if flag in FLAGS:
                self.flags.append(flag)
            elif not flag.startswith(_FLAGS_LEFT_OUT):
                raise own.refuse(f"the extension `{name}` wants nvcc's option {flag}")
        for path in more.get("extra_include_paths") or ():
            raise own.refuse(f"the extension `{name}` includes from {path}")
        self.texts.append(text)
        host = Host(text, len(self.texts) - 1, recording)
        named = {functions: functions} if isinstance(functions, str) else functions or ()
        known = {**text.bound, **{each: each for each in named}}
        return _Extension(name, host, known)

    def load(self, *_: Any, **more: Any) -> Any:
        raise self._recording.refuse("it loads an extension from files: give their text to "
                                     "load_inline")  # fmt: skip


class _Extension(ModuleType):
    def __init__(self, name: str, host: Host, known: Mapping[str, str]) -> None:
        super().__init__(name)
        for python, function in known.items():
            setattr(self, python, _calling(host, function))


def _calling(host: Host, name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if named:
            raise Refused(f"`{name}` of an extension is called with names")
        found = host.call(name, [_as_host(each) for each in arguments])
        return tuple(found) if isinstance(found, list) else found

    return call


def _as_host(value: Any) -> Any:
    """Convert an argument as pybind does."""
    if isinstance(value, float):
        import numpy as np

        return np.float64(value)
    return [_as_host(each) for each in value] if isinstance(value, list | tuple) else value


class Everywhere(TorchFunctionMode):  # type: ignore[misc]
    """Make the candidate see a GPU, with every tensor on it."""

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        more = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        of = getattr(function, "__self__", None)
        if name == "__get__" and of is torch.Tensor.is_cuda:
            return True
        if name == "__get__" and of is torch.Tensor.device:
            return torch.device("cuda", 0)
        if name == "cuda":
            return args[0]
        if name == "to":
            args = [args[0], *(each for each in args[1:] if not _is_device(each))]
            more.pop("device", None)
            if len(args) == 1 and not (more.keys() - {"non_blocking", "copy"}):
                return args[0]
        elif _is_device(more.get("device")) or "device" in more:
            more["device"] = "meta"
        return function(*args, **more)


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device) or (
        isinstance(value, str) and value.partition(":")[0] in ("cuda", "cpu", "meta")
    )


def traced(request: Mapping[str, Any]) -> dict[str, Any]:
    """The launches of a candidate, as plain data; or `refused`, with the reason."""
    recording = Recording()
    extensions = Extensions(recording)
    _stand_in(extensions)
    try:
        results = _run(request, recording)
        _returned(results, request["outputs"], recording)
    except Refused as error:
        recording.refuse(str(error))
    except HarnessError as error:
        recording.refuse(str(error))
    except Exception as error:  # raised by the candidate's code
        told = str(error).splitlines() or [""]
        recording.refuse(f"it raises {type(error).__name__}: {told[0]}")
    if recording.refusal:
        return {"refused": recording.refusal}
    used = sorted({step["module"] for step in recording.steps if step["module"] >= 0})
    if not used:
        return {"refused": "it launches no kernel of its own"}
    return {
        "texts": {str(number): extensions.texts[number].device for number in used},
        "steps": recording.steps,
        "scratch": {name: recording.arrays[name] for name in recording.scratch},
        "flags": extensions.flags,
        "overwrites": recording.overwritten,
    }


def _stand_in(extensions: Extensions) -> None:
    """Replace torch's extension compiler and GPU module with stand-ins."""
    module = ModuleType("torch.utils.cpp_extension")
    module.load_inline = extensions.load_inline  # type: ignore[attr-defined]
    module.load = extensions.load  # type: ignore[attr-defined]
    sys.modules["torch.utils.cpp_extension"] = module
    torch.utils.cpp_extension = module
    torch.cuda.is_available = lambda: True
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1


def _run(request: Mapping[str, Any], recording: Recording) -> Any:
    problem = ModelFile(request["problem"], request["sizes"])
    given, state = problem.on_meta(), problem.state
    arguments = problem.init_inputs()
    with torch.device("meta"), Everywhere():
        candidate = executed(ast.parse(request["candidate"]), "candidate")
        if "ModelNew" not in candidate:
            raise Refused("it defines no `ModelNew`")
        model = candidate["ModelNew"](*arguments)
    for name in problem.tensors:
        recording.given(name, given[name].detach().contiguous())
        given[name] = given[name].detach()
        recording.whose[key(given[name])] = name
    wanted = {own: (name, problem.model.state_dict()[own].shape) for name, own in state.items()}
    for own, tensor in model.state_dict(keep_vars=True).items():
        name, shape = wanted.get(own, ("", ()))
        if name and tensor.shape == shape and type_name(tensor) == "float32":
            recording.given(name, tensor.detach())
        else:
            recording.strangers[key(tensor)] = f"its parameter `{own}`, which the problem lacks,"
    with torch.no_grad(), torch.device("meta"), Everywhere(), Seen(recording):
        found = model(*given.values())
    return found


def _returned(found: Any, outputs: Mapping[str, int], recording: Recording) -> None:
    """Make sure that each result ends up in the problem's own array."""
    several = list(found) if isinstance(found, tuple | list) else [found]
    if len(several) != len(outputs) or not all(isinstance(e, torch.Tensor) for e in several):
        raise Refused(f"`forward` returns no {len(outputs)} tensors, as the problem's does")
    taken: dict[str, str] = {}
    copies = []
    for (name, count), tensor in zip(outputs.items(), several, strict=True):
        if tensor.numel() != count:
            raise Refused(
                f"`forward` returns a tensor of shape {tuple(tensor.shape)}, which has "
                f"{tensor.numel()} elements; the problem's `{name}` has {count}"
            )
        at = recording.place(tensor)
        whole = recording.arrays[at.array][0] == count and tensor.is_contiguous()
        if at.array in recording.scratch and whole and at.array not in taken:
            taken[at.array] = name
        else:
            copies.append((name, tensor))
            if at.array not in recording.scratch:
                recording.overwritten.append(at.array)
    for name, tensor in copies:
        with torch.device("meta"):
            into = torch.empty(tensor.shape, dtype=tensor.dtype)
        recording.given(name, into)
        recording.copy(tensor, into)
    for scratch, name in taken.items():
        recording.scratch.remove(scratch)
        for step in recording.steps:
            step["args"] = [name if each == scratch else each for each in step["args"]]


def _joined(sources: Any) -> str:
    return sources if isinstance(sources, str) else "\n".join(sources or ())


def main(arguments: list[str]) -> int:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps the candidate's own output out of the answer
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with open(arguments[0]) as file:
        request = json.load(file)
    found = traced(request)
    answers.write(json.dumps(found) + "\n")
    answers.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
