// A query's state after some of the keys, and how two such states are merged: for all variants.
//
// A state is the query's largest score so far, the sum of its weights 2^(score - largest), and the
// weighted sum of the values' rows. Scores are in units of ln 2, so a power of 2 replaces the
// exponential: the queries are multiplied by log2(e) / sqrt(d) once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfloat>

#include "attention/fragments.cuh"
#include "common/row.cuh"

__device__ __forceinline__ float scale_of_scores(unsigned int d) {
    return 1.44269504f / sqrtf(static_cast<float>(d));
}

// A query's state, with COLUMNS of the weighted sums.
template <unsigned int COLUMNS>
struct Attended {
    float largest = -FLT_MAX;  // with -∞, two empty ones would meet in -∞ - -∞, which is NaN
    float sum = 0.0f;
    float values[COLUMNS] = {};

    // Adds a key. A score of -∞ stands for no key.
    __device__ __forceinline__ void add(float score, const float (&value)[COLUMNS]) {
        const float top = fmaxf(largest, score);
        const float factor = power_of_2(largest - top), weight = power_of_2(score - top);
        largest = top;
        sum = sum * factor + weight;
#pragma unroll
        for (unsigned int i = 0; i < COLUMNS; i++) {
            values[i] = values[i] * factor + weight * value[i];
        }
    }

    // Merges the states of lanes that differ in this bit of their number and hold the same columns.
    __device__ __forceinline__ void join(unsigned int bit) {
        const float top = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bit));
        const float factor = power_of_2(largest - top);
        largest = top;
        sum *= factor;
        sum += __shfl_xor_sync(0xffffffffu, sum, bit);
#pragma unroll
        for (unsigned int i = 0; i < COLUMNS; i++) {
            values[i] *= factor;
            values[i] += __shfl_xor_sync(0xffffffffu, values[i], bit);
        }
    }
};

// In shared memory: the states of each warp of a block for G queries. All warps write, a barrier of
// the block follows, and threads then read the merged states.
template <unsigned int WARPS, unsigned int G, unsigned int D>
struct OfWarps {
    float largest[G][WARPS];
    float sums[G][WARPS];
    float values[G][WARPS][D];

    // A lane's columns of a query: from `first`, STEP apart. The lane of column 0 writes the rest.
    template <unsigned int STEP, unsigned int COLUMNS>
    __device__ __forceinline__ void put(unsigned int query, unsigned int warp, unsigned int first,
                                        const Attended<COLUMNS>& attended) {
        if (first == 0) {
            largest[query][warp] = attended.largest;
            sums[query][warp] = attended.sum;
        }
#pragma unroll
        for (unsigned int i = 0; i < COLUMNS; i++) {
            values[query][warp][first + STEP * i] = attended.values[i];
        }
    }

    // Its values hold one column.
    __device__ __forceinline__ Attended<1> total(unsigned int query, unsigned int column) const {
        Attended<1> all;
#pragma unroll
        for (unsigned int warp = 0; warp < WARPS; warp++) {
            all.largest = fmaxf(all.largest, largest[query][warp]);
        }
#pragma unroll
        for (unsigned int warp = 0; warp < WARPS; warp++) {
            const float factor = power_of_2(largest[query][warp] - all.largest);
            all.sum += factor * sums[query][warp];
            all.values[0] += factor * values[query][warp][column];
        }
        return all;
    }

    // A block's threads write the queries' rows of o, if the block has processed all keys.
    template <typename T>
    __device__ __forceinline__ void store_outputs(T* o) const {
        for (unsigned int i = threadIdx.x; i < G * D; i += blockDim.x) {
            const Attended<1> all = total(i / D, i % D);
            o[i] = static_cast<T>(all.values[0] / all.sum);
        }
    }
};
