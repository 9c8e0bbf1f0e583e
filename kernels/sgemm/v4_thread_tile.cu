// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: v3 reads two words of shared memory for each multiplication, and waits for them. Here a
// thread computes 8 × 8 elements: in each step along k it reads 8 words of a and 8 of b and
// multiplies 64 times. A block of 256 threads computes a tile of 128 × 128, and each of its threads
// loads four words of a and four of b at a time, with one instruction each.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 128 with (n, m) as its (x, y). VECTOR: n and k are multiples of 4. 8
// KiB of static shared memory.
//
// From: Simon Boehm, "How to Optimize a CUDA Matmul Kernel" (2022), kernels 5 and 6.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 6.45× v3.
#include "common/matrix.cuh"

constexpr unsigned int M = 128, N = 128, K = 8;  // of a block's tile

template <bool VECTOR>
__global__ void __launch_bounds__(256) sgemm(const float* a, const float* b, float* c,
                                             unsigned int m, unsigned int n, unsigned int k) {
    __shared__ float tile_a[M][K];
    __shared__ __align__(16) float tile_b[K][N];
    const unsigned int first_row = blockIdx.y * M, first_column = blockIdx.x * N;
    const unsigned int tid = threadIdx.x;
    // This thread loads four words of the 128 × 8 of a, and four of the 8 × 128 of b.
    const unsigned int row_a = tid / (K / 4), column_a = tid % (K / 4) * 4;
    const unsigned int row_b = tid / (N / 4), column_b = tid % (N / 4) * 4;
    // It computes rows y .. y + 3 and y + 64 .., columns x .. x + 3 and x + 64 ... So the lanes of
    // a warp read consecutive float4 of b, without bank conflicts in a phase.
    const unsigned int x = tid % 16 * 4, y = tid / 16 * 4;

    float sums[8][8] = {};
    for (unsigned int first = 0; first < k; first += K) {
        const float4 in_a = load_four<VECTOR>(a, m, k, first_row + row_a, first + column_a);
        const float4 in_b = load_four<VECTOR>(b, k, n, first + row_b, first_column + column_b);
        tile_a[row_a][column_a] = in_a.x;
        tile_a[row_a][column_a + 1] = in_a.y;
        tile_a[row_a][column_a + 2] = in_a.z;
        tile_a[row_a][column_a + 3] = in_a.w;
        *reinterpret_cast<float4*>(&tile_b[row_b][column_b]) = in_b;
        __syncthreads();

#pragma unroll
        for (unsigned int l = 0; l < K; l++) {
            float of_a[8], of_b[8];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                of_a[i] = tile_a[y + i][l];
                of_a[i + 4] = tile_a[y + 64 + i][l];
            }
            fetch_four(of_b, &tile_b[l][x]);
            fetch_four(of_b + 4, &tile_b[l][x + 64]);
#pragma unroll
            for (unsigned int i = 0; i < 8; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 8; j++) sums[i][j] += of_a[i] * of_b[j];
            }
        }
        __syncthreads();
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
