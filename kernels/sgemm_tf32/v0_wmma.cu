// c = a b, inputs rounded to TF32, sums in float32; a is m × k, b is k × n, c is m × n, row-major
//
// Idea: a tensor core multiplies a 16 × 8 by an 8 × 16 tile in one instruction of a whole warp. The
// wmma functions of CUDA C++ take the tiles from shared memory and hide which lane holds which
// element. A block of 4 warps computes a tile of 64 × 64 from tiles of a and b that are 16 deep;
// each warp has 2 × 2 tiles of it. The results also pass through shared memory: at the edges of c
// only part of a tile may be written, and wmma writes whole ones.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 128 threads; the grid
// covers c in tiles of 64 × 64 with (n, m) as its (x, y). VECTOR: n and k are multiples of 4. 17
// KiB of static shared memory. Compute capability 8.0.
//
// From: "Warp Matrix Functions" in the CUDA C++ Programming Guide.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 4.52 ms ± 0.04 %.
#include <mma.h>

#include "common/matrix.cuh"

using namespace nvcuda;

constexpr unsigned int M = 64, N = 64, K = 16;  // of a block's tile
constexpr unsigned int THREADS = 128;
// Rows are padded by 4 words: neighbouring rows then begin in different banks.
constexpr unsigned int STRIDE_A = K + 4, STRIDE_B = N + 4, STRIDE_C = N + 4;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 8, float>;

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS) sgemm(const float* a, const float* b, float* c,
                                                 unsigned int m, unsigned int n, unsigned int k) {
    // c's tile reuses the memory of a's and b's once these are no longer needed.
    __shared__ __align__(32) float memory[M * STRIDE_C];
    float* tile_a = memory;
    float* tile_b = memory + M * STRIDE_A;
    const unsigned int tid = threadIdx.x;
    const unsigned int warp_row = tid / 64 * 32, warp_column = tid / 32 % 2 * 32;

    C sums[2][2];
    for (unsigned int i = 0; i < 2; i++) {
        for (unsigned int j = 0; j < 2; j++) wmma::fill_fragment(sums[i][j], 0.0f);
    }
    for (unsigned int first = 0; first < k; first += K) {
        for (unsigned int i = tid; i < M * K / 4; i += THREADS) {
            const unsigned int row = i / (K / 4), column = i % (K / 4) * 4;
            *reinterpret_cast<float4*>(&tile_a[row * STRIDE_A + column]) =
                load_four<VECTOR>(a, m, k, blockIdx.y * M + row, first + column);
        }
        for (unsigned int i = tid; i < K * N / 4; i += THREADS) {
            const unsigned int row = i / (N / 4), column = i % (N / 4) * 4;
            *reinterpret_cast<float4*>(&tile_b[row * STRIDE_B + column]) =
                load_four<VECTOR>(b, k, n, first + row, blockIdx.x * N + column);
        }
        __syncthreads();

#pragma unroll
        for (unsigned int l = 0; l < K; l += 8) {
            A of_a[2];
            B of_b[2];
#pragma unroll
            for (unsigned int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(of_a[i], &tile_a[(warp_row + 16 * i) * STRIDE_A + l],
                                       STRIDE_A);
                wmma::load_matrix_sync(of_b[i], &tile_b[l * STRIDE_B + warp_column + 16 * i],
                                       STRIDE_B);
                // To the nearest: otherwise the instruction would cut off the low bits.
                for (float& x : of_a[i].x) x = wmma::__float_to_tf32(x);
                for (float& x : of_b[i].x) x = wmma::__float_to_tf32(x);
            }
#pragma unroll
            for (unsigned int i = 0; i < 2; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 2; j++) {
                    wmma::mma_sync(sums[i][j], of_a[i], of_b[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (unsigned int i = 0; i < 2; i++) {
#pragma unroll
        for (unsigned int j = 0; j < 2; j++) {
            wmma::store_matrix_sync(
                &memory[(warp_row + 16 * i) * STRIDE_C + warp_column + 16 * j], sums[i][j],
                STRIDE_C, wmma::mem_row_major);
        }
    }
    __syncthreads();
    for (unsigned int i = tid; i < M * N / 4; i += THREADS) {
        const unsigned int row = i / (N / 4), column = i % (N / 4) * 4;
        const float4 four = *reinterpret_cast<const float4*>(&memory[row * STRIDE_C + column]);
        store_four<VECTOR>(c, m, n, blockIdx.y * M + row, blockIdx.x * N + column, four);
    }
}
