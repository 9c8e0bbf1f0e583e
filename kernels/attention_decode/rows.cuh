// A loop over keys by warps that take one at a time: for v0, v1 and v2, which differ in the queries
// and in the number of keys per block.
#pragma once

#include "attended.cuh"
#include "common/all_reduce.cuh"

constexpr unsigned int THREADS = 256, WARPS = THREADS / 32;

// Attends for the G queries at q to keys first .. last of the rows at k and v. A barrier of the
// block must follow.
template <typename T, unsigned int D, unsigned int G>
__device__ __forceinline__ void attend_to_rows(OfWarps<WARPS, G, D>& of_warps, const T* q,
                                               const T* k, const T* v, unsigned int first,
                                               unsigned int last) {
    // A lane has columns 32 apart: neighbouring lanes read adjacent elements.
    constexpr unsigned int COLUMNS = D / 32;
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float queries[G][COLUMNS];
#pragma unroll
    for (unsigned int g = 0; g < G; g++) {
#pragma unroll
        for (unsigned int i = 0; i < COLUMNS; i++) {
            queries[g][i] = static_cast<float>(q[g * D + lane + 32 * i]) * scale_of_scores(D);
        }
    }

    Attended<COLUMNS> attended[G];
    for (unsigned int key = first + warp; key < last; key += WARPS) {
        float of_key[COLUMNS], value[COLUMNS];
#pragma unroll
        for (unsigned int i = 0; i < COLUMNS; i++) {
            of_key[i] = static_cast<float>(k[key * D + lane + 32 * i]);
            value[i] = static_cast<float>(v[key * D + lane + 32 * i]);
        }
#pragma unroll
        for (unsigned int g = 0; g < G; g++) {
            float score = 0.0f;
#pragma unroll
            for (unsigned int i = 0; i < COLUMNS; i++) score += queries[g][i] * of_key[i];
            attended[g].add(warp_all<Sum>(score), value);
        }
    }
#pragma unroll
    for (unsigned int g = 0; g < G; g++) of_warps.template put<32>(g, warp, lane, attended[g]);
}
