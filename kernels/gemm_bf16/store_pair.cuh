// Stores two neighbouring sums, rounded to 16 bits, in a row-major matrix.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

template <typename T>
constexpr bool is_bfloat16 = false;
template <>
constexpr bool is_bfloat16<__nv_bfloat16> = true;

// Both in a word, the first in its lower half.
__device__ __forceinline__ unsigned int packed(float x, float y) {
    if constexpr (is_bfloat16<DTYPE>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(x, y);
        return reinterpret_cast<const unsigned int&>(pair);
    } else {
        const __half2 pair = __floats2half2_rn(x, y);
        return reinterpret_cast<const unsigned int&>(pair);
    }
}

// c[row][column] and c[row][column + 1], of m × n elements, if they are inside; the column is
// even.
__device__ __forceinline__ void store_pair(DTYPE* c, unsigned int m, unsigned int n,
                                           unsigned int row, unsigned int column, float x,
                                           float y) {
    if (row >= m || column >= n) return;
    DTYPE* to = c + static_cast<std::uint64_t>(row) * n + column;
    if (n % 2 == 0) {
        *reinterpret_cast<unsigned int*>(to) = packed(x, y);
    } else {
        to[0] = DTYPE(x);
        if (column + 1 < n) to[1] = DTYPE(y);
    }
}
