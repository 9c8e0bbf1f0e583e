// Parts of a cache: the states that a block stores for its keys, and the kernel that merges them.
// For v2 and the variants after it.
#pragma once

#include "attended.cuh"

// The position of a query's part `part` of `parts` in part_states; times d, in part_values.
__device__ __forceinline__ unsigned int place_of(unsigned int query, unsigned int part,
                                                 unsigned int parts) {
    return query * parts + part;
}

// A block's threads write its warps' merged states of a part, for queries first .. first + G.
template <unsigned int WARPS, unsigned int G, unsigned int D>
__device__ __forceinline__ void store_part(const OfWarps<WARPS, G, D>& of_warps,
                                           float* part_values, float2* part_states,
                                           unsigned int first, unsigned int part,
                                           unsigned int parts) {
    for (unsigned int i = threadIdx.x; i < G * D; i += blockDim.x) {
        const Attended<1> all = of_warps.total(i / D, i % D);
        const unsigned int place = place_of(first + i / D, part, parts);
        part_values[place * D + i % D] = all.values[0];
        if (i % D == 0) part_states[place] = make_float2(all.largest, all.sum);
    }
}

// One column of a query's row of o, from all parts. The largest score is computed first, so no part
// waits for the previous one.
template <typename T, unsigned int D>
__device__ __forceinline__ T combined(const float* part_values, const float2* part_states,
                                      unsigned int query, unsigned int column,
                                      unsigned int parts) {
    const float2* states = part_states + place_of(query, 0, parts);
    const float* values = part_values + place_of(query, 0, parts) * D + column;
    float top = -FLT_MAX;
#pragma unroll 8
    for (unsigned int part = 0; part < parts; part++) top = fmaxf(top, states[part].x);
    float sum = 0.0f, value = 0.0f;
#pragma unroll 8
    for (unsigned int part = 0; part < parts; part++) {
        const float factor = power_of_2(states[part].x - top);
        sum += factor * states[part].y;
        value += factor * values[part * D];
    }
    return static_cast<T>(value / sum);
}

// The second step: a block of D threads for each query.
template <typename T, unsigned int D>
__global__ void combine(const float* part_values, const float2* part_states, T* o,
                        unsigned int parts) {
    o[blockIdx.x * D + threadIdx.x] =
        combined<T, D>(part_values, part_states, blockIdx.x, threadIdx.x, parts);
}
