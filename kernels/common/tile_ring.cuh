// Tiles of an array, each with its neighbours on both sides, on their way into shared memory while
// the block works on earlier ones.
#pragma once

#include "common/async_copy.cuh"

// A block takes the tiles blockIdx.x, blockIdx.x + gridDim.x and so on. A tile has FOURS float4 per
// thread and HALO more on either side, zeros beyond the ends of the array. `places`: room for STAGES
// of them.
template <int FOURS, int HALO, int STAGES>
struct TileRing {
    float4* places;
    const float* input;
    int n;
    int requested = blockIdx.x;  // the next tile to request
    int to = 0, from = 0;        // the place of the next tile to request, and of the next to take

    __device__ __forceinline__ TileRing(float4* places, const float* input, int n)
        : places(places), input(input), n(n) {
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++) request();
    }

    __device__ __forceinline__ int tiles() const { return (n - 1) / (4 * FOURS * threads()) + 1; }

    // The next tile, from its left halo on. The place of the one before is given to a new tile:
    // all threads of the block must be done with it when they call.
    __device__ __forceinline__ const float4* take() {
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        request();
        const float4* tile = places + from * width();
        from = after(from);
        return tile;
    }

private:
    __device__ __forceinline__ static int threads() { return blockDim.x; }
    __device__ __forceinline__ static int width() { return FOURS * threads() + 2 * HALO; }
    __device__ __forceinline__ static int after(int place) {
        return place + 1 == STAGES ? 0 : place + 1;
    }

    // Past the last tile the group is empty, but it counts.
    __device__ __forceinline__ void request() {
        const int first = 4 * (requested * FOURS * threads() - HALO);
        float4* place = places + to * width();
        if (first >= 0 && first <= n - 4 * width()) {
            for (int j = threadIdx.x; j < width(); j += blockDim.x) {
                copy_16(place + j, input + first + 4 * j, 16);
            }
        } else if (requested < tiles()) {
            for (int j = threadIdx.x; j < width(); j += blockDim.x) {
                const int i = first + 4 * j;
                const bool inside = i >= 0 && i < n;
                copy_16(place + j, inside ? input + i : input, inside ? 4 * min(n - i, 4) : 0);
            }
        }
        commit_copies();
        requested += gridDim.x;
        to = after(to);
    }
};

// output[i .. i + 3], those below n; i is a multiple of 4.
__device__ __forceinline__ void store_inside(float* output, int i, int n, float4 v) {
    if (i + 3 < n) {
        *reinterpret_cast<float4*>(output + i) = v;
    } else {
        if (i < n) output[i] = v.x;
        if (i + 1 < n) output[i + 1] = v.y;
        if (i + 2 < n) output[i + 2] = v.z;
    }
}

// The float4 `from` of a tile and their neighbours.
template <int COUNT>
__device__ __forceinline__ void read_window(float (&v)[COUNT], const float4* from) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++) {
        v[4 * j] = from[j].x;
        v[4 * j + 1] = from[j].y;
        v[4 * j + 2] = from[j].z;
        v[4 * j + 3] = from[j].w;
    }
}
