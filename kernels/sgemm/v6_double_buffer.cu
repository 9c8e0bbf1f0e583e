// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: v5 waits twice for each tile: for global memory, and at a second barrier before it may
// overwrite the tile. Here the next tile's words are loaded into registers while the current one is
// multiplied, and are stored to a second pair of tiles: memory and arithmetic overlap within a
// block, and one barrier per tile is enough.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 128 with (n, m) as its (x, y). VECTOR: n and k are multiples of 4.
// 16.3 KiB of static shared memory.
//
// From: Junjie Lai and André Seznec, "Performance Upper Bound Analysis and Optimization of SGEMM on
// Fermi and Kepler GPUs" (2013), and "CUTLASS: Fast Linear Algebra in CUDA C++" (NVIDIA, 2017).
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 1.13× v5.
#include "common/matrix.cuh"

constexpr unsigned int M = 128, N = 128, K = 8;  // of a block's tile

template <bool VECTOR>
__global__ void __launch_bounds__(256) sgemm(const float* a, const float* b, float* c,
                                             unsigned int m, unsigned int n, unsigned int k) {
    __shared__ __align__(16) float tile_a[2][K][M + 4];
    __shared__ __align__(16) float tile_b[2][K][N];
    const unsigned int first_row = blockIdx.y * M, first_column = blockIdx.x * N;
    const unsigned int tid = threadIdx.x;
    // This thread loads four words of the 128 × 8 of a, and four of the 8 × 128 of b.
    const unsigned int row_a = tid / (K / 4), column_a = tid % (K / 4) * 4;
    const unsigned int row_b = tid / (N / 4), column_b = tid % (N / 4) * 4;
    // It computes rows y .. y + 3 and y + 64 .., columns x .. x + 3 and x + 64 ... So the lanes of
    // a warp read consecutive float4 of b, without bank conflicts in a phase.
    const unsigned int x = tid % 16 * 4, y = tid / 16 * 4;

    float4 in_a = load_four<VECTOR>(a, m, k, first_row + row_a, column_a);
    float4 in_b = load_four<VECTOR>(b, k, n, row_b, first_column + column_b);
    float sums[8][8] = {};
    unsigned int stage = 0;
    for (unsigned int first = 0; first < k; first += K) {
        tile_a[stage][column_a][row_a] = in_a.x;
        tile_a[stage][column_a + 1][row_a] = in_a.y;
        tile_a[stage][column_a + 2][row_a] = in_a.z;
        tile_a[stage][column_a + 3][row_a] = in_a.w;
        *reinterpret_cast<float4*>(&tile_b[stage][row_b][column_b]) = in_b;
        // A thread that passes this barrier has multiplied the previous tile, so its slot may be
        // refilled in the next round.
        __syncthreads();

        // Past the end of k these are zeros, without a read.
        const unsigned int next = first + K;
        in_a = load_four<VECTOR>(a, m, k, first_row + row_a, next + column_a);
        in_b = load_four<VECTOR>(b, k, n, next + row_b, first_column + column_b);

#pragma unroll
        for (unsigned int l = 0; l < K; l++) {
            float of_a[8], of_b[8];
            fetch_four(of_a, &tile_a[stage][l][y]);
            fetch_four(of_a + 4, &tile_a[stage][l][y + 64]);
            fetch_four(of_b, &tile_b[stage][l][x]);
            fetch_four(of_b + 4, &tile_b[stage][l][x + 64]);
#pragma unroll
            for (unsigned int i = 0; i < 8; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 8; j++) sums[i][j] += of_a[i] * of_b[j];
            }
        }
        stage ^= 1;
    }

#pragma unroll
    for (unsigned int i = 0; i < 8; i++) {
        const unsigned int row = first_row + y + i % 4 + i / 4 * 64;
        const float* of = sums[i];
        store_four<VECTOR>(c, m, n, row, first_column + x,
                           make_float4(of[0], of[1], of[2], of[3]));
        store_four<VECTOR>(c, m, n, row, first_column + x + 64,
                           make_float4(of[4], of[5], of[6], of[7]));
    }
}
