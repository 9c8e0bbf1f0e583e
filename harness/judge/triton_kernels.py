"""Kernels in Triton: Triton itself compiles a kernel to PTX, which needs no GPU, and the judge uses
that PTX.

At a launch, Triton passes a kernel's arguments except its constants, followed by pointers to
scratch memory; it starts 32 threads for each warp, and all shared memory is dynamic. Pointers are
compiled as multiples of 16 bytes, as Triton does for memory that a framework allocates; integers
are not specialised, so that one compilation is correct at all sizes. Triton is not a dependency of
the harness.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.compiler import toolchain
from harness.compiler.parameters import kernel_parameters
from harness.errors import CompileError, NotInstalled, UsageError
from harness.judge.submissions import Kernel, Problem, fields
from harness.machine.devices import DEFAULT_ARCH

_TYPES = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16",
    "float8_e4m3": "fp8e4nv", "float8_e5m2": "fp8e5", "bool": "i1", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint32": "u32",
}  # fmt: skip
"""Element type → its name in Triton."""
_ALIGNED = [["tt.divisibility", 16]]
_FOLLOWS = {
    "entry": "its own name", "block": "num_warps", "shared": "its text", "defines": "its text",
    "flags": "its text", "headers": "its text", "launches": "its grid",
}  # fmt: skip
"""Field of other kernels → what determines its value for a Triton kernel."""
_MOST_SCRATCH = 2


def is_one(kernel: object) -> bool:
    """Return whether the object is a Triton function, or one of Triton's wrappers around one."""
    return type(kernel).__module__.partition(".")[0] == "triton"


def kernel(
    function: Any, problem: object, *, args: Sequence[str | int | float], arch: str | None = None,
    constants: Mapping[str, Any] = {}, num_warps: int = 4, num_stages: int = 3,
    config: int | None = None, **launch: Any,
) -> Kernel:  # fmt: skip
    """Compile a `triton.jit` function for a problem; return it with its launch.

    `args`: the arguments for its parameters that are not constants, in order. `constants`: its
    `tl.constexpr` parameters by name; the grid may name those that are numbers. `launch`: grid, and
    any other field of a Kernel. `config`: the index of one of the function's `triton.autotune`
    configurations. Raises NotInstalled without Triton, UsageError for a kernel that cannot be
    judged, CompileError if Triton rejects the function.
    """
    if not isinstance(problem, Problem):
        raise UsageError("a kernel in Triton is judged for a Problem, and not for a folder's")
    if given := sorted(_FOLLOWS.keys() & launch.keys()):
        raise UsageError(f"{given[0]} of a kernel in Triton follows from {_FOLLOWS[given[0]]}")
    options: dict[str, Any] = {"num_warps": num_warps, "num_stages": num_stages}
    if is_autotuned(function):
        chosen = _chosen(function, config)
        constants = {**constants, **chosen.kwargs}
        options |= {key: value for key in _OPTIONS if (value := getattr(chosen, key, None))}
        function = function.fn
    elif config is not None:
        raise UsageError("config chooses one of triton.autotune's, which is not used here")
    if not hasattr(function, "arg_names") or not hasattr(function, "params"):
        raise UsageError(
            f"{type(function).__name__} is no function of triton.jit\n"
            "  give the function below it, and the constants that it would choose as `constants`"
        )
    types = _signature(function, problem, args, constants)
    made = _compiled(function, types, constants, arch or DEFAULT_ARCH, options)
    about, ptx = made.metadata, made.asm["ptx"]
    for field, what in _NOT_JUDGED.items():
        if getattr(about, field, 0) not in (0, 1, None, [], ()) or getattr(about, field, 0) is True:
            raise UsageError(f"{about.name} {what}, which is not judged")
    scratch = len(kernel_parameters(ptx)[about.name]) - len(args)
    if not 0 <= scratch <= _MOST_SCRATCH:
        raise UsageError(
            f"{about.name} takes {scratch} arguments of Triton's; up to {_MOST_SCRATCH} are known"
        )
    named = set(re.findall(r"[A-Za-z_]\w*", repr([launch.get("grid"), launch.get("let")])))
    numbers = {name: value for name, value in constants.items()
               if name in named and type(value) in (int, float)}  # fmt: skip
    if numbers:
        launch["let"] = numbers | launch.get("let", {})
    return Kernel(
        ptx, about.name, block=32 * about.num_warps, shared=about.shared,
        args=(*args, *[0] * scratch), **launch,
    )  # fmt: skip


def kernels(function: Any, problem: object, **launch: Any) -> list[Kernel]:
    """Compile every configuration of a `triton.autotune` function to a kernel with its own name.

    `launch`: as for `kernel`. For `compare`: [baseline, *kernels(row_sum, problem, …)].
    """
    if not is_autotuned(function):
        raise UsageError("there is one kernel, and no configurations of triton.autotune")
    names = [_title(function, each) for each in function.configs]
    return [
        kernel(function, problem, config=number, **{**launch, "name": f"{name}_{number}"
               if names.count(name) > 1 else name})
        for number, name in enumerate(names)
    ]  # fmt: skip


def is_autotuned(function: object) -> bool:
    """Return whether a function is decorated with `triton.autotune` on top of `triton.jit`."""
    return hasattr(function, "configs") and hasattr(function, "fn")


_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""The fields of a configuration besides its constants."""


def _title(function: Any, config: Any) -> str:
    """A configuration's name, made from its constants and from the other settings that differ
    between the configurations."""
    differing = [key for key in _OPTIONS
                 if len({getattr(each, key, None) for each in function.configs}) > 1]  # fmt: skip
    said = {**config.kwargs, **{key: getattr(config, key, None) for key in differing}}
    told = "_".join(f"{key}_{value}" for key, value in said.items() if value is not None)
    return fields.title(f"{function.fn.__name__}_{told}")


def _chosen(function: Any, config: int | None) -> Any:
    """The chosen configuration. Raises UsageError if none is chosen, or if the function cannot be
    judged."""
    name, count = function.fn.__name__, len(function.configs)
    if config is None and count > 1:
        raise UsageError(
            f"{name} has {count} configurations of triton.autotune\n"
            f"  choose one, config=0 to config={count - 1}; or give compare all of them: "
            "harness.judge.triton_kernels.kernels(…)"
        )
    number = config or 0
    if not 0 <= number < count:
        raise UsageError(f"{name} has no configuration {number}: they are 0 to {count - 1}")
    found = function.configs[number]
    for key, what in (
        ("pre_hook", "calls a function before it"),
        ("ir_override", "has IR of its own"),
    ):
        if getattr(found, key, None):
            raise UsageError(f"configuration {number} of {name} {what}, which is not judged")
    return found


_NOT_JUDGED = {
    "global_scratch_size": "needs scratch memory that Triton allocates",
    "profile_scratch_size": "profiles itself",
    "num_ctas": "is launched in clusters",
    "launch_cooperative_grid": "is launched cooperatively",
    "tensordesc_meta": "takes tensor descriptors",
}
"""Field of Triton's metadata → the feature that the kernel uses, unless the field is 0 or means 1
block per cluster."""


def _signature(
    function: Any, problem: Problem, args: Sequence[str | int | float], constants: Mapping[str, Any]
) -> dict[str, str]:
    """Map each parameter to its type in Triton's notation."""
    fixed = [each.name for each in function.params if each.is_constexpr]
    needed = {each.name for each in function.params if each.is_constexpr and not each.has_default}
    free = [name for name in function.arg_names if name not in fixed]
    if wrong := sorted(set(constants) - set(fixed)) + sorted(needed - set(constants)):
        raise UsageError(
            f"the constants of {function.__name__} are {', '.join(fixed) or 'none'}; "
            f"`{wrong[0]}` is {'missing' if wrong[0] in needed else 'none of them'}"
        )
    if len(args) != len(free):
        raise UsageError(
            f"{function.__name__} takes {len(free)} arguments beside its constants "
            f"({', '.join(free)}), and args lists {len(args)}"
        )
    if len(problem.dtypes) > 1:
        raise UsageError("a kernel in Triton is compiled for one type: give the problem one dtype")
    given = dict(zip(free, args, strict=True))
    return {
        name: "constexpr" if name in fixed else _type(given[name], problem)
        for name in function.arg_names
    }


def _type(arg: str | int | float, problem: Problem) -> str:
    if arg in problem.arrays:
        dtype = problem.types.get(str(arg), problem.dtypes[0])
        if dtype not in _TYPES:
            raise UsageError(f"`{arg}` has the type {dtype}, which is not passed to Triton here")
        return f"*{_TYPES[dtype]}"
    value = problem.scalars.get(str(arg), arg)
    return "fp32" if isinstance(value, float) else "i32"


def _compiled(
    function: Any, types: Mapping[str, str], constants: Mapping[str, Any], arch: str,
    options: dict[str, Any],
) -> Any:  # fmt: skip
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError:
        raise NotInstalled(
            "a kernel in Triton needs triton 3, which is not installed\n  pip install triton"
        ) from None
    values = {each.name: each.default for each in function.params
              if each.is_constexpr and each.has_default} | dict(constants)  # fmt: skip
    aligned = {(n,): _ALIGNED for n, each in enumerate(types.values()) if each.startswith("*")}
    source = ASTSource(function, dict(types), values, aligned)
    target = GPUTarget("cuda", int(re.sub(r"\D", "", arch)), 32)
    newest = ptx_version(toolchain.find().version)
    try:
        compiled = triton.compile(source, target=target, options=options)
        if _written_in(compiled.asm["ptx"]) > newest:  # Triton's ptxas is newer than ours
            options = {"ptx_version": newest} | options
            compiled = triton.compile(source, target=target, options=options)
        return compiled
    except Exception as error:  # Triton raises many kinds
        told = str(error).strip() or type(error).__name__
        raise CompileError(f"Triton rejects {function.__name__}:\n{told}") from None


def _written_in(ptx: str) -> int:
    """The PTX version in the header of a PTX text, in Triton's form: 90 is 9.0."""
    said = re.search(r"^\s*\.version\s+(\d+)\.(\d+)", ptx, re.MULTILINE)
    return 10 * int(said[1]) + int(said[2]) if said else 0


def ptx_version(nvcc: str) -> int:
    """The newest PTX version that this nvcc assembles, in Triton's form: 90 is 9.0.

    Source: the release history in NVIDIA's "Parallel Thread Execution ISA".
    """
    major, minor = map(int, nvcc.split(".")[:2])
    if major == 12:  # CUDA 12.5 and 12.6 both have PTX 8.5
        return 80 + minor - (minor >= 6)
    return 10 * (major - 4) + minor
