"""output = input transposed, by cublasSgeam, c = 1 · aᵀ + 0 · b, from torch's cuBLAS.

cuBLAS is column-major: it treats input as a cols × rows matrix and output as a rows × cols matrix.
"""

import ctypes
from functools import cache

import torch

from harness.errors import LaunchError, NotInstalled

NO, YES = 0, 1  # CUBLAS_OP_N, CUBLAS_OP_T
ONE, ZERO = ctypes.c_float(1), ctypes.c_float(0)


@cache
def cublas():
    """The library, and a handle for this process."""
    name = f"libcublas.so.{(torch.version.cuda or '').partition('.')[0]}"
    try:
        library = ctypes.CDLL(name)  # torch has loaded it
    except OSError as error:
        raise NotInstalled(f"cuBLAS is not there as {name}: {error}") from None
    handle = ctypes.c_void_p()
    said(library.cublasCreate_v2(ctypes.byref(handle)), "cublasCreate")
    return library, handle


def said(status, what):
    if status:
        raise LaunchError(f"{what} returns status {status}")


def transpose(tensors, stream, rows, cols):
    library, handle = cublas()
    source, target = (ctypes.c_void_p(tensors[name].data_ptr()) for name in ("input", "output"))
    said(library.cublasSetStream_v2(handle, ctypes.c_void_p(stream)), "cublasSetStream")
    status = library.cublasSgeam(
        handle, YES, NO, rows, cols,
        ctypes.byref(ONE), source, cols, ctypes.byref(ZERO), target, rows, target, rows,
    )  # fmt: skip
    said(status, "cublasSgeam")
