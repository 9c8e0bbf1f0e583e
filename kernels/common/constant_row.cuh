// Rows whose length the compiler knows, a multiple of what 16 bytes hold: every row starts on 16
// bytes, so a thread moves nothing but packs. common/row_packs.cuh has rows of any length.
#pragma once

#include "common/all_reduce.cuh"
#include "common/row_packs.cuh"

// How a block shares rows of LENGTH elements: TEAM consecutive threads take a row, a pack each and
// then the packs that are TEAM further on, and EACH rows one after another. TEAM is a power of 2 up
// to 32; or it is the BLOCK of a multiple of 32 threads, EACH is 1, and every row has a block.
template <typename T, unsigned int LENGTH, unsigned int TEAM, unsigned int BLOCK, unsigned int EACH>
struct ConstantRows {
    static constexpr unsigned int W = WIDTH<T>, PACKS = LENGTH / W;
    static constexpr unsigned int STEPS = (PACKS + TEAM - 1) / TEAM;  // packs of a thread, at most
    static constexpr unsigned int AT_ONCE = BLOCK / TEAM;             // rows in a block
    static_assert(LENGTH % W == 0, "rows must start on 16 bytes");
    static_assert(AT_ONCE * EACH == 1 || TEAM <= 32, "a row of several warps has a block");

    using Packs = Pack<T>[STEPS];

    unsigned int rows;  // of the matrix

    __device__ __forceinline__ unsigned int lane() const {
        return TEAM == BLOCK ? threadIdx.x : threadIdx.x % TEAM;
    }
    __device__ __forceinline__ unsigned int row(unsigned int r) const {
        return AT_ONCE * EACH == 1
                   ? blockIdx.x
                   : (blockIdx.x * EACH + r) * AT_ONCE + threadIdx.x / TEAM;
    }
    __device__ __forceinline__ bool has_row(unsigned int r) const {
        return AT_ONCE * EACH == 1 || row(r) < rows;
    }
    // True for every step but perhaps the last, as the compiler sees.
    __device__ __forceinline__ bool has(unsigned int step) const {
        return (step + 1) * TEAM <= PACKS || step * TEAM + lane() < PACKS;
    }

    // The packs of an array of LENGTH elements: of a row's or of the weights. Zeros past the end.
    __device__ __forceinline__ void load(Packs& packs, const T* values) const {
#pragma unroll
        for (unsigned int s = 0; s < STEPS; s++) {
            packs[s] = has(s) ? load_pack(values, s * TEAM + lane()) : Pack<T>{};
        }
    }

    // The same of this thread's row number r. Lanes without a row follow the last one.
    __device__ __forceinline__ void load_row(Packs& packs, const T* matrix, unsigned int r) const {
        const unsigned int at = has_row(r) ? row(r) : rows - 1;
        load(packs, matrix + row_start(at, LENGTH));
    }

    // Rounds to T. A row that is not there is not stored.
    __device__ __forceinline__ void store_row(T* matrix, unsigned int r,
                                              const float (&v)[STEPS][W]) const {
        T* const start = matrix + row_start(row(r), LENGTH);
#pragma unroll
        for (unsigned int s = 0; s < STEPS; s++) {
            Pack<T> rounded;
#pragma unroll
            for (unsigned int k = 0; k < W; k++) rounded.value[k] = static_cast<T>(v[s][k]);
            if (has_row(r) && has(s)) store_pack(start, s * TEAM + lane(), rounded);
        }
    }

    // Every thread calls this, and gets the result for its row. CALL distinguishes the calls in a
    // kernel: each has words of its own, so a row of several warps costs one barrier.
    template <typename Op, int CALL>
    __device__ __forceinline__ static float all(float value) {
        constexpr int WARPS = TEAM / 32;
#pragma unroll
        for (unsigned int bit = (TEAM < 32 ? TEAM : 32) / 2; bit > 0; bit /= 2) {
            value = Op()(value, __shfl_xor_sync(0xffffffffu, value, bit));
        }
        if constexpr (WARPS > 1) {
            __shared__ float of_warps[WARPS];
            if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
            __syncthreads();
            value = of_warps[0];
#pragma unroll
            for (int w = 1; w < WARPS; w++) value = Op()(value, of_warps[w]);
        }
        return value;
    }
};
