"""Convolution through cuDNN's own interface, one row per algorithm; ctypes calls torch's cuDNN.

The algorithm that was timed is therefore known, and the same one is profiled. The arithmetic is
fixed, too: fused multiply-adds in float32, whereas the default on such cards is TF32 on tensor
cores.
"""

import ctypes
from dataclasses import dataclass
from functools import cache

import torch

from harness.errors import LaunchError, NotInstalled

IMPLICIT_GEMM, IMPLICIT_PRECOMP_GEMM, FFT_TILING, WINOGRAD, WINOGRAD_NONFUSED = 0, 1, 5, 6, 7
NCHW, NHWC = 0, 1  # cudnnTensorFormat_t
FLOAT, CROSS_CORRELATION, FMA_MATH = 0, 1, 3
NOT_SUPPORTED = range(3000, 4000)  # in cudnnStatus_t: one value per reason
ONE, ZERO = ctypes.c_float(1), ctypes.c_float(0)


@cache
def cudnn():
    """The library, and a handle for this process."""
    name = f"libcudnn.so.{(torch.backends.cudnn.version() or 0) // 10000}"
    try:
        library = ctypes.CDLL(name)  # torch has loaded it
    except OSError as error:
        raise NotInstalled(f"cuDNN 9 is not there: {error}") from None
    handle = ctypes.c_void_p()
    said(library.cudnnCreate(ctypes.byref(handle)), "cudnnCreate")
    return library, handle


def said(status, what):
    if status in NOT_SUPPORTED:
        raise NotInstalled(f"cuDNN has none for these sizes on this card ({what}: {status})")
    if status:
        raise LaunchError(f"{what} returns status {status}")


def described(kind, *values):
    """Create and set a cuDNN descriptor. `kind` is its name and the function that sets it."""
    library, _ = cudnn()
    name, setter = kind
    found = ctypes.c_void_p()
    create = f"cudnnCreate{name}Descriptor"
    said(getattr(library, create)(ctypes.byref(found)), create)
    said(getattr(library, setter)(found, *values), setter)
    return found


TENSOR = "Tensor", "cudnnSetTensor4dDescriptor"
FILTER = "Filter", "cudnnSetFilter4dDescriptor"
CONVOLUTION = "Convolution", "cudnnSetConvolution2dDescriptor"


@dataclass(frozen=True)
class Plan:
    """All that a convolution of given sizes and algorithm needs; created by the first call."""

    algorithm: int
    x: ctypes.c_void_p
    weights: ctypes.c_void_p
    convolution: ctypes.c_void_p
    y: ctypes.c_void_p
    workspace: torch.Tensor

    def __call__(self, stream, x, weights, y):
        library, handle = cudnn()
        said(library.cudnnSetStream(handle, ctypes.c_void_p(stream)), "cudnnSetStream")
        x, weights, y, workspace = (
            ctypes.c_void_p(each.data_ptr()) for each in (x, weights, y, self.workspace)
        )
        status = library.cudnnConvolutionForward(
            handle, ctypes.byref(ONE), self.x, x, self.weights, weights, self.convolution,
            self.algorithm, workspace, ctypes.c_size_t(self.workspace.numel()),
            ctypes.byref(ZERO), self.y, y,
        )  # fmt: skip
        said(status, "cudnnConvolutionForward")


@cache
def plan(algorithm, layout, n, c, h, w, out, k, pad, rows):
    library, handle = cudnn()
    x = described(TENSOR, layout, FLOAT, n, c, h, w)
    weights = described(FILTER, FLOAT, layout, out, c, k, k)
    convolution = described(CONVOLUTION, pad, pad, 1, 1, 1, 1, CROSS_CORRELATION, FLOAT)
    said(library.cudnnSetConvolutionMathType(convolution, FMA_MATH), "cudnnSetConvolutionMathType")
    y = described(TENSOR, layout, FLOAT, n, out, rows, w + 2 * pad - k + 1)
    needed = ctypes.c_size_t()
    status = library.cudnnGetConvolutionForwardWorkspaceSize(
        handle, x, weights, convolution, y, algorithm, ctypes.byref(needed)
    )
    said(status, "cudnnGetConvolutionForwardWorkspaceSize")
    workspace = torch.empty(max(1, needed.value), dtype=torch.uint8, device="cuda")
    return Plan(algorithm, x, weights, convolution, y, workspace)


def by(algorithm, tensors, stream, *sizes):
    call = plan(algorithm, NCHW, *sizes)
    call(stream, tensors["x"], tensors["weights"], tensors["y"])


def implicit_gemm(tensors, stream, n, c, h, w, out, k, pad, rows):
    by(IMPLICIT_GEMM, tensors, stream, n, c, h, w, out, k, pad, rows)


def precomp_gemm(tensors, stream, n, c, h, w, out, k, pad, rows):
    by(IMPLICIT_PRECOMP_GEMM, tensors, stream, n, c, h, w, out, k, pad, rows)


def fft_tiling(tensors, stream, n, c, h, w, out, k, pad, rows):
    by(FFT_TILING, tensors, stream, n, c, h, w, out, k, pad, rows)


def winograd(tensors, stream, n, c, h, w, out, k, pad, rows):
    by(WINOGRAD, tensors, stream, n, c, h, w, out, k, pad, rows)


def winograd_nonfused(tensors, stream, n, c, h, w, out, k, pad, rows):
    by(WINOGRAD_NONFUSED, tensors, stream, n, c, h, w, out, k, pad, rows)


def channels_last(tensors, stream, n, c, h, w, out, k, pad, rows):
    """Run IMPLICIT_PRECOMP_GEMM on images in which each pixel's channels are contiguous."""
    call = plan(IMPLICIT_PRECOMP_GEMM, NHWC, n, c, h, w, out, k, pad, rows)
    y = torch.empty(n, rows, w + 2 * pad - k + 1, out, device="cuda")
    call(stream, tensors["x_channels_last"], tensors["weights_channels_last"], y)
    return y.permute(0, 3, 1, 2)
