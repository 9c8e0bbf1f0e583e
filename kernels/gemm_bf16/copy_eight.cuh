// Eight neighbours in a row of a row-major matrix, copied asynchronously: for v1 and v2.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/async_copy.cuh"

// Those outside the matrix become zeros. `columns` and `column` are multiples of 8.
__device__ __forceinline__ void copy_eight(void* shared, const DTYPE* matrix, unsigned int rows,
                                           unsigned int columns, unsigned int row,
                                           unsigned int column) {
    const bool inside = row < rows && column < columns;
    const DTYPE* at = matrix + static_cast<std::uint64_t>(row) * columns + column;
    copy_16(shared, inside ? at : matrix, inside ? 16 : 0);
}
