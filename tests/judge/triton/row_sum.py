"""The sum of each row, in Triton.

row_sum.ptx is Triton 3.6.0's output for sm_90, with BLOCK = 256, 4 warps and pointers that are
multiples of 16 bytes, without its debug sections and paths.
"""

import triton
import triton.language as tl


@triton.jit
def row_sum(x, y, cols, BLOCK: tl.constexpr):  # noqa: N803 - as users of Triton write it
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    tl.store(y + row, tl.sum(values, axis=0))
