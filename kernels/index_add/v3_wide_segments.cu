// output[t][c] = sum of source[r][c] over all r with index[r] = t; source is rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: v2 gives a target's 64 columns to four warps, three of which are idle if a target
// has one row. Here a lane takes four columns at once, so 16 lanes hold a row, and the
// number of such teams per target depends on its rows: one for a row or a few, eight for
// many.
//
// Contract: that of v2 for the sorting. `add_segments`: `share` threads for each target, a multiple
// of 16, blockDim.x / share targets for each block, and four floats of dynamic shared memory for each
// thread. VECTOR: cols is a multiple of 4; otherwise a lane takes one column at a time.
//
// From: the reduction over segments in moderngpu and CUB, which distribute work by its amount.
//
// Measured: H200, rows = 2²⁰, cols = 64, targets = 2²⁰, stretch = 1: 3.85× v2.
#include "elementwise_add/index.cuh"
#include "index_add/counting_sort.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr unsigned int TEAM = 16;  // lanes

__device__ __forceinline__ float4 four_from(const float* at) {
    return *reinterpret_cast<const float4*>(at);
}

__device__ __forceinline__ float4 four_from(const __half* at) {
    const uint2 words = *reinterpret_cast<const uint2*>(at);
    const float2 first = __half22float2(reinterpret_cast<const __half2&>(words.x));
    const float2 second = __half22float2(reinterpret_cast<const __half2&>(words.y));
    return make_float4(first.x, first.y, second.x, second.y);
}

__device__ __forceinline__ float4 four_from(const __nv_bfloat16* at) {
    const uint2 words = *reinterpret_cast<const uint2*>(at);
    const float2 first = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(words.x));
    const float2 second = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(words.y));
    return make_float4(first.x, first.y, second.x, second.y);
}

__device__ __forceinline__ void four_to(float* at, float4 v) {
    *reinterpret_cast<float4*>(at) = v;
}

__device__ __forceinline__ void four_to(__half* at, float4 v) {
    const __half2 first = __floats2half2_rn(v.x, v.y), second = __floats2half2_rn(v.z, v.w);
    *reinterpret_cast<uint2*>(at) = make_uint2(reinterpret_cast<const unsigned int&>(first),
                                               reinterpret_cast<const unsigned int&>(second));
}

__device__ __forceinline__ void four_to(__nv_bfloat16* at, float4 v) {
    const __nv_bfloat162 first = __floats2bfloat162_rn(v.x, v.y);
    const __nv_bfloat162 second = __floats2bfloat162_rn(v.z, v.w);
    *reinterpret_cast<uint2*>(at) = make_uint2(reinterpret_cast<const unsigned int&>(first),
                                               reinterpret_cast<const unsigned int&>(second));
}

__device__ __forceinline__ void add_to(float4& sum, float4 v) {
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
}

template <bool VECTOR>
__global__ void add_segments(const DTYPE* source, const int* order, const int* counts,
                             const int* ends, DTYPE* output, unsigned int cols,
                             unsigned int targets, unsigned int share) {
    extern __shared__ float4 of_teams[];
    const unsigned int of_block = blockDim.x / share, mine = threadIdx.x / share;
    const unsigned int target = blockIdx.x * of_block + mine;
    const unsigned int teams = share / TEAM, team = threadIdx.x % share / TEAM;
    const bool works = mine < of_block && target < targets;
    const int end = works ? ends[target] : 0;
    const int begin = works ? end - counts[target] : 0;

    constexpr unsigned int WIDTH = VECTOR ? 4 : 1;  // columns of a lane
    for (unsigned int first = 0; first < cols; first += TEAM * WIDTH) {
        const unsigned int col = first + threadIdx.x % TEAM * WIDTH;
        float4 sum = {};
        if (col < cols) {
            // Four rows of a team are in flight together.
#pragma unroll 4
            for (int r = begin + team; r < end; r += teams) {
                const DTYPE* at = source + static_cast<Index>(order[r]) * cols + col;
                if constexpr (VECTOR) {
                    add_to(sum, four_from(at));
                } else {
                    sum.x += static_cast<float>(*at);
                }
            }
        }
        if (teams > 1) {
            __syncthreads();  // the sums of the columns before are read
            of_teams[threadIdx.x] = sum;
            __syncthreads();
            for (unsigned int t = 1; team == 0 && t < teams; t++) {
                if (works) add_to(sum, of_teams[threadIdx.x + t * TEAM]);
            }
        }
        if (works && team == 0 && col < cols) {
            DTYPE* to = output + static_cast<Index>(target) * cols + col;
            if constexpr (VECTOR) {
                four_to(to, sum);
            } else {
                *to = static_cast<DTYPE>(sum.x);
            }
        }
    }
}
