// Tiles of an array, each with its neighbours on both sides, on their way into shared memory while
// the block works on earlier ones.
#pragma once

#include "common/async_copy.cuh"
#include "common/window.cuh"

// A block takes the tiles blockIdx.x, blockIdx.x + gridDim.x and so on. A tile has FOURS float4 per
// thread and HALO more on either side, zeros beyond the ends of the array. `places`: room for STAGES
// of them. A block has at least 2 * HALO threads.
template <int FOURS, int HALO, int STAGES>
struct TileRing {
    float4* places;
    const float* input;
    int n;
    int tiles = (n - 1) / (4 * FOURS * threads()) + 1;
    int requested = blockIdx.x;  // the next tile to request
    int to = 0, from = 0;        // the place of the next tile to request, and of the next to take

    __device__ __forceinline__ TileRing(float4* places, const float* input, int n)
        : places(places), input(input), n(n) {
#pragma unroll
        for (int i = 0; i < STAGES - 1; i++) request();
    }

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
        if (requested < tiles) {
#pragma unroll
            for (int part = 0; part < FOURS; part++) {
                request_four(place, first, part * threads() + threadIdx.x);
            }
            if (threadIdx.x < 2 * HALO) {
                request_four(place, first, FOURS * threads() + threadIdx.x);
            }
        }
        commit_copies();
        requested += gridDim.x;
        to = after(to);
    }

    // cp.async writes zeros for the bytes that it does not read.
    __device__ __forceinline__ void request_four(float4* place, int first, int j) {
        const int i = first + 4 * j;
        const bool inside = i >= 0 && i < n;
        copy_16(place + j, inside ? input + i : input, inside ? 4 * min(n - i, 4) : 0);
    }
};
