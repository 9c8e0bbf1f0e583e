// A warpgroup's part of c, 64 × N elements, on its way through shared memory: for v8.
#pragma once

#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"
#include "store_pair.cuh"

// Four matrices of 8 × 8 from a warp's registers to the lanes' addresses: lanes 0 .. 7 give the
// rows of the first, and so on.
__device__ __forceinline__ void store_matrices(void* row, const unsigned int (&from)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row))), "r"(from[0]),
                    "r"(from[1]), "r"(from[2]), "r"(from[3])
                 : "memory");
}

// Boxes of 64 × 64 elements side by side, each with rows of 128 bytes as swizzled() has them: the
// writes of a matrix's eight lanes cover all 32 banks.
template <unsigned int N>
struct Staged {
    unsigned char boxes[N / 64][64 * 128];

    // Writes the part of c that begins at [row][column]; called by all threads of a warpgroup. It
    // returns before the bytes are read.
    __device__ __forceinline__ void store(const CUtensorMap& map, unsigned int row,
                                          unsigned int column, const float (&sums)[N / 2]) {
        const unsigned int group = threadIdx.x / 128, lane = threadIdx.x % 32;
        const bool asks = threadIdx.x % 128 == 0;
        const unsigned int down = threadIdx.x / 32 % 4 * 16 + lane % 16;
        if (asks) wait_for_reading();  // of what was staged before
        meet(group);
#pragma unroll
        for (unsigned int j = 0; j < N / 8; j += 2) {
            const unsigned int unit = j + lane / 16;  // 16 bytes, of the row's
            const unsigned int pairs[4] = {
                packed(sums[4 * j], sums[4 * j + 1]), packed(sums[4 * j + 2], sums[4 * j + 3]),
                packed(sums[4 * j + 4], sums[4 * j + 5]), packed(sums[4 * j + 6], sums[4 * j + 7])};
            store_matrices(boxes[j / 8] + swizzled(down, unit % 8), pairs);
        }
        show_to_copies();
        meet(group);
        for (unsigned int i = 0; asks && i < N / 64; i++) {
            store_tile(map, row, column + 64 * i, boxes[i]);
        }
        if (asks) end_stores();
        __syncwarp();  // the next product is for all lanes
    }

private:
    // The threads of a warpgroup.
    __device__ __forceinline__ static void meet(unsigned int group) {
        asm volatile("bar.sync %0, 128;" :: "r"(group + 1) : "memory");
    }
};
