"""The problem that many judge tests use, y[i] = 3 x[i] + n, with correct and wrong kernels."""

from __future__ import annotations

from harness.judge import Kernel, Problem, Submission

REFERENCE = {"source": "def affine(x, n):\n    return 3 * x + n\n", "name": "affine"}

BODIES = {
    "right": "if (i < n) y[i] = 3 * x[i] + n;",
    "wrong": "if (i < n) y[i] = 3 * x[i] + n + (i == 7);",
    "outside": "y[i] = 3 * x[i] + n;",
    "unknown": "if (i < n) y[i] = 3 * z[i] + n;",
    "endless": "while (x[0] != 1e30f) __nanosleep(1);",
}
"""Name → the third line of a kernel."""

KEEPS = (
    "__device__ float kept[4096], asked[4096]; __device__ int known[4096];\n"
    "__global__ void affine(const float* x, float* y, int n) {"
    " const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) {\n"
    "        if (known[i] != n || asked[i] != x[0]) { kept[i] = 3 * x[i] + n; }\n"
    "        y[i] = kept[i]; known[i] = n; asked[i] = x[0];\n"
    "    }\n"
    "}\n"
)
"""Computes once, and returns the stored answer as long as the first element stays the same."""


def problem(**more: object) -> Problem:
    stated = {
        "inputs": {"x": "n"}, "outputs": {"y": "n"}, "test": {"n": [1, 33, 1025]},
        "name": "affine", **more,
    }  # fmt: skip
    return Problem(REFERENCE, **stated)  # type: ignore[arg-type]


def text(body: str) -> str:
    return (
        "__global__ void affine(const float* x, float* y, int n) {\n"
        "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    {body}\n"
        "}\n"
    )


def kernel(name: str, **more: object) -> Kernel:
    source = KEEPS if name == "cheat" else text(BODIES[name])
    launch = {
        "grid": "ceil_div(n, 256)", "block": 256, "args": ("x", "y", "n"), "name": name, **more,
    }  # fmt: skip
    return Kernel(source, "affine", **launch)  # type: ignore[arg-type]


def submission(*names: str, **more: object) -> Submission:
    return Submission(tuple(map(kernel, names)), problem(), **more)  # type: ignore[arg-type]
