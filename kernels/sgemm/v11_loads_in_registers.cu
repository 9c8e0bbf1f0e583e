// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: 15 % of v10's instructions do not multiply: its copies compute source, destination and
// guard again for every tile, and come in one burst, for which the multipliers wait. Here it is 9
// %: a thread loads its part with three 16-byte loads, whose addresses advance by one addition
// each, and holds it in registers, as in v6. It requests a tile as soon as the registers are free,
// two tiles ahead of the arithmetic: with one tile ahead, nvcc places the loads so late that all
// wait for memory. A tile is 8 deep, not 16, so that the loop fits the instruction cache.
//
// OTHER_BANKS (v12): registers lie in two banks, even and odd, and a multiplication whose three
// words are all in one takes a second cycle. Four sums that one instruction stores are adjacent, as
// are their four words of b: in 456 of the 1,024 products of a tile, the word of a is in their
// bank, too. A 0 added before the store lets nvcc keep the sums in any register, and then no such
// product remains.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 256 with (n, m) as its (x, y); group >= 1. VECTOR: n and k are
// multiples of 4; otherwise words are read one by one. 24.1 KiB of static shared memory.
//
// From: Junjie Lai and André Seznec, "Performance Upper Bound Analysis and Optimization of SGEMM on
// Fermi and Kepler GPUs" (2013), who count non-multiply instructions and choose registers by bank;
// the banks: Zhe Jia and others, "Dissecting the NVIDIA Volta GPU Architecture via
// Microbenchmarking" (2018).
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 1.14× v10.
#include "common/matrix.cuh"
#include "sgemm/block_order.cuh"

constexpr unsigned int M = 128, N = 256, K = 8;  // of a block's tile
constexpr unsigned int ROWS = 16, COLUMNS = 8;   // of a thread's
constexpr unsigned int THREADS = 256;

struct Tile {
    float a[K][M + 4];  // transposed
    float b[K][N];
};

// at[0 .. 4), with zeros outside; VECTOR: all four are inside, or none.
template <bool VECTOR>
__device__ __forceinline__ float4 load_four(const float* at, unsigned int inside) {
    float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (VECTOR) {
        if (inside > 0) four = *reinterpret_cast<const float4*>(at);
    } else {
        if (inside > 0) four.x = at[0];
        if (inside > 1) four.y = at[1];
        if (inside > 2) four.z = at[2];
        if (inside > 3) four.w = at[3];
    }
    return four;
}

// A thread's loads per tile: four words of the 128 × 8 of a, eight of the 8 × 256 of b.
template <bool VECTOR>
struct Loads {
    static constexpr unsigned int APART = K / 2;  // rows of b between its two fours
    const unsigned int row_a = threadIdx.x / (K / 4), column_a = threadIdx.x % (K / 4) * 4;
    const unsigned int row_b = threadIdx.x / (N / 4), column_b = threadIdx.x % (N / 4) * 4;
    const float *at_a, *at_b;
    unsigned int end_a, inside_b;  // k, or 0 where the row of a is outside; columns of b
    unsigned int n;
    float4 a, b[2];

    __device__ __forceinline__ Loads(const float* from_a, const float* from_b, unsigned int m,
                                     unsigned int n, unsigned int k, uint2 place)
        : n(n) {
        const unsigned int row = place.y * M + row_a, column = place.x * N + column_b;
        at_a = from_a + row * k + column_a;
        at_b = from_b + row_b * n + column;
        end_a = row < m ? k : 0;
        inside_b = column < n ? n - column : 0;
    }

    // The tiles that begin at `first` along k, the next one with each call.
    __device__ __forceinline__ void load(unsigned int first, unsigned int k) {
        const unsigned int column = first + column_a, row = first + row_b;
        a = load_four<VECTOR>(at_a, column < end_a ? end_a - column : 0);
        b[0] = load_four<VECTOR>(at_b, row < k ? inside_b : 0);
        b[1] = load_four<VECTOR>(at_b + APART * n, row + APART < k ? inside_b : 0);
        at_a += K;
        at_b += K * n;
    }

    __device__ __forceinline__ void store(Tile& tile) const {
        tile.a[column_a][row_a] = a.x;
        tile.a[column_a + 1][row_a] = a.y;
        tile.a[column_a + 2][row_a] = a.z;
        tile.a[column_a + 3][row_a] = a.w;
        *reinterpret_cast<float4*>(&tile.b[row_b][column_b]) = b[0];
        *reinterpret_cast<float4*>(&tile.b[row_b + APART][column_b]) = b[1];
    }
};

// A thread's operands in one step: rows y, y + 16, … y + 48 and the three below each, columns x ..
// x + 3 and x + 32 ...
struct Step {
    float a[ROWS], b[COLUMNS];

    __device__ __forceinline__ void fetch(const Tile& tile, unsigned int l, unsigned int y,
                                          unsigned int x) {
#pragma unroll
        for (unsigned int i = 0; i < ROWS; i += 4) fetch_four(a + i, &tile.a[l][y + 4 * i]);
#pragma unroll
        for (unsigned int j = 0; j < COLUMNS; j += 4) fetch_four(b + j, &tile.b[l][x + 8 * j]);
    }
};

// Four sums, as they are stored.
__device__ __forceinline__ float4 four_of(const float* sums) {
#ifdef OTHER_BANKS
    constexpr float zero = 0.0f;  // no change to a sum, but for the sign of a zero
    return make_float4(sums[0] + zero, sums[1] + zero, sums[2] + zero, sums[3] + zero);
#else
    return make_float4(sums[0], sums[1], sums[2], sums[3]);
#endif
}

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS, 1) sgemm(const float* a, const float* b, float* c,
                                                    unsigned int m, unsigned int n,
                                                    unsigned int k, unsigned int group) {
    __shared__ __align__(16) Tile tiles[2];
    const uint2 place = tile_of_block(group);
    // The warps' tiles of 64 × 64 lie in two rows of four, the lanes in four rows of eight.
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned int x = warp % 4 * 64 + lane % 8 * 4, y = warp / 4 * 64 + lane / 8 * 4;

    Loads<VECTOR> loads(a, b, m, n, k, place);
    loads.load(0, k);
    loads.store(tiles[0]);
    loads.load(K, k);
    __syncthreads();
    Step steps[2];
    steps[0].fetch(tiles[0], 0, y, x);

    float sums[ROWS][COLUMNS] = {};
    unsigned int present = 0;
    for (unsigned int first = 0; first < k; first += K) {
#pragma unroll
        for (unsigned int l = 0; l < K; l++) {
            if (l + 1 == K) {
                // All are done with the previous tile in this slot: they passed the barrier after
                // it.
                loads.store(tiles[present ^ 1]);
                loads.load(first + 2 * K, k);  // past the end of k zeros, without a read
                __syncthreads();
                present ^= 1;
            }
            steps[(l + 1) % 2].fetch(tiles[present], (l + 1) % K, y, x);
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
    }

#pragma unroll
    for (unsigned int i = 0; i < ROWS; i++) {
        const unsigned int row = place.y * M + y + i / 4 * 16 + i % 4;
        const unsigned int column = place.x * N + x;
        store_four<VECTOR>(c, m, n, row, column, four_of(sums[i]));
        store_four<VECTOR>(c, m, n, row, column + 32, four_of(sums[i] + 4));
    }
}
