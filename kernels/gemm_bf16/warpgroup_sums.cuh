// A warpgroup's part of c, 64 × N elements, written pair by pair: for v2 to v5.
#pragma once

#include "common/warpgroup.cuh"
#include "store_pair.cuh"

// The part of c that begins at [first_row][first_column].
template <unsigned int COUNT>
__device__ __forceinline__ void store_sums(DTYPE* c, unsigned int m, unsigned int n,
                                           unsigned int first_row, unsigned int first_column,
                                           const float (&sums)[COUNT]) {
    const unsigned int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const unsigned int row = first_row + 16 * warp + lane / 4;
#pragma unroll
    for (unsigned int j = 0; j < COUNT / 4; j++) {
        const unsigned int column = first_column + 8 * j + lane % 4 * 2;
        store_pair(c, m, n, row, column, sums[4 * j], sums[4 * j + 1]);
        store_pair(c, m, n, row + 8, column, sums[4 * j + 2], sums[4 * j + 3]);
    }
}
