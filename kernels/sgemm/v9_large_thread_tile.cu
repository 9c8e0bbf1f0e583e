// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: a thread of v8 fetches 16 words from shared memory for 64 multiplications. Here its tile is
// 16 × 8: 24 words for 128, so that the arithmetic waits less for shared memory. That takes 128
// registers for the sums alone, so an SM holds only one block; the overlap that other blocks would
// give, a thread creates itself: it fetches the words of the next step while it multiplies those of
// this one. For these fetches a's tile is transposed, which 4-byte copies can do on the way.
//
// The order of the blocks is an argument. v9 goes along the rows of c, v10 goes down stripes that
// are `group` tiles wide: concurrent blocks then form nearly a square, which has fewer rows of a
// and columns of b than a flat band, so more of them come from the L2 cache.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 256 with (n, m) as its (x, y); group >= 1. VECTOR: n is a multiple of
// 4, or else the words of b and c are copied one by one. 99,328 bytes of dynamic shared memory.
// Compute capability 8.0.
//
// From: "CUTLASS: Fast Linear Algebra in CUDA C++" (NVIDIA, 2017), and CUTLASS's threadblock
// swizzling.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 1.12× v8.
#include "common/async_copy.cuh"
#include "common/matrix.cuh"
#include "sgemm/block_order.cuh"

constexpr unsigned int M = 128, N = 256, K = 16;  // of a block's tile
constexpr unsigned int ROWS = 16, COLUMNS = 8;    // of a thread's
constexpr unsigned int STAGES = 4;
constexpr unsigned int THREADS = 256;

struct Stage {
    float a[K][M + 4];  // transposed
    float b[K][N];
};

// Requests the tiles that begin at `first` along k; past the end of k they are zeros.
template <bool VECTOR>
__device__ __forceinline__ void copy_tiles(Stage& stage, const float* a, const float* b,
                                           unsigned int m, unsigned int n, unsigned int k,
                                           uint2 tile, unsigned int first) {
#pragma unroll
    for (unsigned int i = threadIdx.x; i < M * K; i += THREADS) {
        const unsigned int row = tile.y * M + i / K, column = first + i % K;
        const bool inside = row < m && column < k;
        copy_4(&stage.a[i % K][i / K], inside ? a + row * k + column : a, inside ? 4 : 0);
    }
#pragma unroll
    for (unsigned int i = threadIdx.x; i < K * N / 4; i += THREADS) {
        const unsigned int row = i / (N / 4), column = i % (N / 4) * 4;
        copy_four<VECTOR>(&stage.b[row][column], b, k, n, first + row, tile.x * N + column);
    }
    commit_copies();
}

// A thread's operands in one step: rows y, y + 16, … y + 48 and the three below each, columns x ..
// x + 3 and x + 32 ...
struct Step {
    float a[ROWS], b[COLUMNS];

    __device__ __forceinline__ void fetch(const Stage& stage, unsigned int l, unsigned int y,
                                          unsigned int x) {
#pragma unroll
        for (unsigned int i = 0; i < ROWS; i += 4) fetch_four(a + i, &stage.a[l][y + 4 * i]);
#pragma unroll
        for (unsigned int j = 0; j < COLUMNS; j += 4) fetch_four(b + j, &stage.b[l][x + 8 * j]);
    }
};

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS, 1) sgemm(const float* a, const float* b, float* c,
                                                    unsigned int m, unsigned int n,
                                                    unsigned int k, unsigned int group) {
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const uint2 tile = tile_of_block(group);
    // The warps' tiles of 64 × 64 lie in two rows of four, the lanes in four rows of eight.
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int x = warp % 4 * 64 + lane % 8 * 4, y = warp / 4 * 64 + lane / 8 * 4;

    for (unsigned int i = 0; i < STAGES - 1; i++) {
        copy_tiles<VECTOR>(stages[i], a, b, m, n, k, tile, i * K);
    }
    float sums[ROWS][COLUMNS] = {};
    unsigned int present = 0, free = STAGES - 1;
    for (unsigned int first = 0; first < k; first += K) {
        // The oldest tile has arrived for this thread and, after the barrier, for all. The barrier
        // also means that all are done with the previous tile, so its slot is free.
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        const Stage& stage = stages[present];
        Step steps[2];
        steps[0].fetch(stage, 0, y, x);
        copy_tiles<VECTOR>(stages[free], a, b, m, n, k, tile, first + (STAGES - 1) * K);

#pragma unroll
        for (unsigned int l = 0; l < K; l++) {
            if (l + 1 < K) steps[(l + 1) % 2].fetch(stage, l + 1, y, x);
            const Step& step = steps[l % 2];
#pragma unroll
            for (unsigned int i = 0; i < ROWS; i++) {
#pragma unroll
                for (unsigned int j = 0; j < COLUMNS; j++) {
                    // Back and forth along the rows: each product shares a register with the last.
                    const unsigned int column = i % 2 == 0 ? j : COLUMNS - 1 - j;
                    sums[i][column] += step.a[i] * step.b[column];
                }
            }
        }
        free = present;
        present = present + 1 == STAGES ? 0 : present + 1;
    }
    wait_for_all_but<0>();  // no copy, not even of zeros, is to land after the block has left

#pragma unroll
    for (unsigned int i = 0; i < ROWS; i++) {
        const unsigned int row = tile.y * M + y + i / 4 * 16 + i % 4;
        const float* of = sums[i];
        store_four<VECTOR>(c, m, n, row, tile.x * N + x,
                           make_float4(of[0], of[1], of[2], of[3]));
        store_four<VECTOR>(c, m, n, row, tile.x * N + x + 32,
                           make_float4(of[4], of[5], of[6], of[7]));
    }
}
