// Products of a warpgroup whose first factor, of floats, lies across k in shared memory: for v2 to
// v5. A warpgroup computes 64 rows of cᵀ, which are columns of c, from as many columns of b.
#pragma once

#include <cstdint>

#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"

// `count` columns of b as boxes of 32 columns and 32 rows; a row of a box has 128 bytes.
__device__ __forceinline__ void load_columns(unsigned char* tile, const CUtensorMap& map_b,
                                             unsigned int row, unsigned int column,
                                             unsigned int count, const Barrier& present) {
    for (unsigned int i = 0; i < count; i += 32) {
        load_tile(tile + i * 128, map_b, row, column + i, present);
    }
}

// Of the warpgroup's 64 columns of b, a thread has this one and its right neighbour. They are its
// rows g and g + 8 of the product: the choice of rows is free, and with this one, a warp's 8-byte
// reads cover all banks, and its writes fill sectors of c.
__device__ __forceinline__ unsigned int column_of_thread() {
    const unsigned int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4;
    return warp / 2 * 32 + warp % 2 * 8 + g / 2 % 2 * 16 + g / 4 * 4 + g % 2 * 2;
}

// A thread's words of four products, from 64 columns of b, 32 deep.
__device__ __forceinline__ void load_words(float (&words)[4][4], const unsigned char* tile_b) {
    const unsigned int column = column_of_thread(), t = threadIdx.x % 4;
    const unsigned char* box = tile_b + column / 32 * 4096 + column % 4 * 4;
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
        for (unsigned int j = 0; j < 2; j++) {
            const unsigned int row = 8 * i + t + 4 * j;
            const float2 pair =
                *reinterpret_cast<const float2*>(box + swizzled(row, column % 32 / 4));
            words[i][2 * j] = pair.x;
            words[i][2 * j + 1] = pair.y;
        }
    }
}

// sums += a bᵀ, like the function of this name in common/warpgroup.cuh, with 64 × 8 floats of b.
__device__ __forceinline__ void multiply_tf32(float (&sums)[32], const float (&a)[4],
                                              unsigned long long b) {
#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, 1, 1, 1;"
                 : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(b));
#undef FOUR
}

// sums += bᵀ aᵀ, of 64 columns of b and 2 COUNT rows of a, 32 deep; complete when it returns.
template <unsigned int COUNT>
__device__ __forceinline__ void multiply_transposed(float (&sums)[COUNT],
                                                    const unsigned char* tile_b,
                                                    const unsigned char* tile_a) {
    float words[4][4];
    load_words(words, tile_b);
    begin_products();
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        multiply_tf32(sums, words[i], describe(tile_a) + i * NEXT_32_BYTES);
    }
    end_products();
    wait_for_products<0>();
}

// The part of c that begins at [first_row][first_column], 2 COUNT rows and 64 columns of m × n.
template <unsigned int COUNT>
__device__ __forceinline__ void store_transposed(float* c, unsigned int m, unsigned int n,
                                                 unsigned int first_row, unsigned int first_column,
                                                 const float (&sums)[COUNT]) {
    const unsigned int column = first_column + column_of_thread();
    if (column >= n) return;
#pragma unroll
    for (unsigned int j = 0; j < COUNT / 2; j++) {
        const unsigned int row = first_row + j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2;
        if (row < m) {
            const unsigned int i = j / 2 * 4 + j % 2;
            float* to = c + static_cast<std::uint64_t>(row) * n + column;
            if (n % 2 == 0) {  // both are in c, and lie at 8 bytes
                *reinterpret_cast<float2*>(to) = make_float2(sums[i], sums[i + 2]);
            } else {
                to[0] = sums[i];
                if (column + 1 < n) to[1] = sums[i + 2];
            }
        }
    }
}
