// output[i] = sum of input[0 .. i], i = 0 .. n - 1, float32
//
// Idea: nobody waits for what precedes. v5's blocks read a tile, wait for the sum before it, and
// write; while a block does one of these, it does not do the others. Here the blocks stay, and each
// takes one tile in every round. Copies of its next tiles into shared memory are always under way.
// The sum of a tile is published three rounds before the tile is written, and a warp that does
// nothing else collects the sums of all blocks one round ahead. It takes three rounds because what
// a multiprocessor publishes queues behind the tiles that it writes. With one, each block would
// wait for the slowest in every round.
//
// Each block adds up all sums of a round by itself, always in the same order: unlike v4's and v5's,
// the result never depends on which block was faster.
//
// Contract: any 1 <= n <= 2^31; THREADS threads, 32 of which collect, with a tile of 4 ROWS elements
// for each of the others; a ring of STAGES tiles in dynamic shared memory, LAG + 1 < STAGES. No more
// blocks than tiles, and no more than fit on an otherwise idle card at once, because they wait for
// each other. states has a word for each tile, and `reset` sets them to 0 before each launch. input
// and output are 16-byte aligned, as every device allocation is. Compute capability 8.0.
//
// From: Shengen Yan, Guoping Long and Yunquan Zhang, "StreamScan: Fast Scan Algorithms for GPUs
// without Global Barrier Synchronization" (2013). Warps with one task each: Michael Bauer, Henry Cook
// and Brucek Khailany, "CudaDMA: Optimizing GPU Memory Bandwidth via Warp Specialization" (2011).
//
// Measured: H200, n = 2²⁸: 1.21× v5.
#include <cuda/atomic>

#include "common/async_copy.cuh"
#include "common/warp.cuh"
#include "scan/tile_scan.cuh"

using Word = unsigned long long;
using State = cuda::atomic_ref<Word, cuda::thread_scope_device>;

constexpr Word PUBLISHED = Word{1} << 32;  // beside the float in the lower half

__device__ __forceinline__ void publish(Word* states, unsigned int tile, float sum) {
    State(states[tile]).store(PUBLISHED | __float_as_uint(sum), cuda::memory_order_relaxed);
}

__device__ __forceinline__ Word load_state(const Word* states, unsigned int i) {
    return State(const_cast<Word&>(states[i])).load(cuda::memory_order_relaxed);
}

extern "C" __global__ void reset(Word* states, unsigned int count) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) states[i] = 0;
}

// Asks for the lane's floats of a tile of which `left` exist, and zeros for the rest. A thread copies
// what it will read itself, so it waits for its own copies only.
template <unsigned int ROWS>
__device__ __forceinline__ void ask_for_tile(float4* slot, unsigned int threads,
                                             const float* tile, unsigned int left) {
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) {
        const unsigned int i = element<ROWS>(0, row);
        const unsigned int valid = i < left ? min(left - i, 4u) : 0;
        copy_16(slot + row * threads + threadIdx.x, tile + (valid ? i : 0), 4 * valid);
    }
    commit_copies();
}

template <unsigned int ROWS>
__device__ __forceinline__ void read_slot(const float4* slot, unsigned int threads,
                                          float4 (&v)[ROWS]) {
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) v[row] = slot[row * threads + threadIdx.x];
}

template <unsigned int ROWS>
__device__ __forceinline__ float sum_of(const float4 (&v)[ROWS]) {
    float sum = 0.0f;
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) {
        sum += (v[row].x + v[row].y) + (v[row].z + v[row].w);
    }
    return sum;
}

// All warps of the block meet, wherever they are in the program; __syncthreads() is for one place.
__device__ __forceinline__ void meet() {
    asm volatile("bar.sync 1, %0;" :: "r"(blockDim.x) : "memory");
}

// Adds up the sums of a round's tiles: all of them, and those before this block's. A warp calls it.
__device__ __forceinline__ float2 sums_of_round(const Word* states, unsigned int count) {
    constexpr unsigned int AT_ONCE = 8;  // loads per lane
    const unsigned int lane = threadIdx.x % 32;
    float before = 0.0f, all = 0.0f;
    for (unsigned int first = lane; first < count; first += 32 * AT_ONCE) {
        Word state[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; j++) {
            const unsigned int i = first + 32 * j;
            state[j] = i < count ? load_state(states, i) : PUBLISHED;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; j++) {
            const unsigned int i = first + 32 * j;
            while (state[j] < PUBLISHED) state[j] = load_state(states, i);
            const float sum = __uint_as_float(static_cast<unsigned int>(state[j]));
            all += sum;
            if (i < blockIdx.x) before += sum;
        }
    }
#pragma unroll
    for (unsigned int bit = 16; bit > 0; bit /= 2) {
        before += __shfl_xor_sync(0xffffffffu, before, bit);
        all += __shfl_xor_sync(0xffffffffu, all, bit);
    }
    return make_float2(before, all);
}

// A block handles its tiles in turn, one per round. In step k it adds up the tile of round k + LAG,
// and scans and writes that of round k. The ring's slots go to the rounds in turn as well.
template <unsigned int ROWS, unsigned int STAGES, unsigned int LAG, unsigned int THREADS>
__global__ void __launch_bounds__(THREADS)
    scan(const float* input, float* output, Word* states, unsigned int n) {
    extern __shared__ float4 ring[];      // STAGES tiles
    __shared__ float sums[STAGES][32];    // of the warps' parts of those
    __shared__ float offsets[2][32];      // the sum before each warp's part, in even and odd rounds
    constexpr unsigned int WORKERS = THREADS - 32, WIDTH = ROWS * WORKERS, SIZE = 4 * WIDTH;
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int tiles = (n - 1) / SIZE + 1;
    const int rounds = (tiles - 1 - blockIdx.x) / gridDim.x + 1;  // of this block

    if (warp == WORKERS / 32) {  // the warp that collects
        float before_round = 0.0f;
        for (int step = -static_cast<int>(LAG); step < rounds; step++) {
            meet();  // the sums of round step + LAG are there
            const int ahead = step + static_cast<int>(LAG), next = step + 1;
            if (ahead < rounds) {
                const float sum = lane < WORKERS / 32 ? sums[ahead % STAGES][lane] : 0.0f;
                const float total = warp_sum(sum);
                if (lane == 0) publish(states, ahead * gridDim.x + blockIdx.x, total);
            }
            if (next < 0 || next >= rounds) continue;
            const unsigned int first = next * gridDim.x;
            const float2 round = sums_of_round(states + first, min(gridDim.x, tiles - first));
            const float sum = lane < WORKERS / 32 ? sums[next % STAGES][lane] : 0.0f;
            float below = __shfl_up_sync(0xffffffffu, warp_scan(sum), 1);
            if (lane == 0) below = 0.0f;
            offsets[next % 2][lane] = before_round + round.x + below;
            before_round += round.y;
        }
        return;
    }

    // Asks for the tile of a round, or for nothing if there is none.
    const auto ask = [&](int round) {
        const Word start = (round * Word{gridDim.x} + blockIdx.x) * SIZE;
        const bool exists = round < rounds;
        ask_for_tile<ROWS>(ring + round % STAGES * WIDTH, WORKERS, input + (exists ? start : 0),
                           exists ? n - static_cast<unsigned int>(start) : 0);
    };
    for (int round = 0; round < static_cast<int>(STAGES); round++) ask(round);
    for (int step = -static_cast<int>(LAG); step < rounds; step++) {
        const int ahead = step + static_cast<int>(LAG);
        wait_for_all_but<STAGES - LAG - 1>();
        float4 v[ROWS];
        if (ahead < rounds) {
            read_slot(ring + ahead % STAGES * WIDTH, WORKERS, v);
            const float sum = warp_sum(sum_of(v));
            if (lane == 0) sums[ahead % STAGES][warp] = sum;
        }
        if (step >= 0) {
            read_slot(ring + step % STAGES * WIDTH, WORKERS, v);
            scan_tile(v);
        }
        meet();  // the offsets of this round are there
        if (step < 0) continue;
        ask(step + STAGES);
        const unsigned int start = (step * gridDim.x + blockIdx.x) * SIZE;
        store_tile(output + start, n - start, 0, v, offsets[step % 2][warp]);
    }
}
