// c = a bᵀ, sums in float32; a is m × k, b is n × k, both of 8-bit floats, c is m × n, row-major
//
// Idea: a block of 8 warps computes a tile of 128 × 128 from tiles of a and b that are 64 deep.
// They pass through registers into shared memory, and each warp multiplies its 64 × 32 elements
// from there with mma.m16n8k32, a tensor core's product of 16 × 32 by 32 × 8 elements. Its operands
// are distributed like those of mma.m16n8k16, with two bytes in the place of each half, so ldmatrix
// serves for both. Hopper multiplies the bytes as halves and adds the products to the sums by FADD.
//
// Contract: any m, n, k >= 1; a block of 256 threads; the grid covers c in tiles of 128 × 128 with
// (n, m) as its (x, y). VECTOR: k is a multiple of 16. 20 KiB of static shared memory. Compute
// capability 8.9.
//
// From: "Matrix Fragments for mma.m16n8k32" in the PTX manual.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 11.5 ms ± 0.042 %, float16 11.5 ms ± 0.056 %.
#include <cuda_fp8.h>

#include "gemm_bf16/store_pair.cuh"

constexpr unsigned int M = 128, N = 128, K = 64;  // of a block's tile
constexpr unsigned int THREADS = 256;
// Rows are padded by 16 bytes, so eight neighbouring rows lie in different banks.
constexpr unsigned int PITCH = K + 16;

// Sixteen neighbours in a row; those outside the matrix are zeros.
template <bool VECTOR>
__device__ __forceinline__ uint4 load_sixteen(const __nv_fp8_e4m3* matrix, unsigned int rows,
                                              unsigned int columns, unsigned int row,
                                              unsigned int column) {
    union {
        uint4 all;
        unsigned char each[16];
    } sixteen = {make_uint4(0, 0, 0, 0)};
    if (row >= rows) return sixteen.all;
    const auto* at = reinterpret_cast<const unsigned char*>(matrix) +
                     static_cast<std::uint64_t>(row) * columns + column;
    if (VECTOR) {
        if (column < columns) sixteen.all = *reinterpret_cast<const uint4*>(at);
    } else {
#pragma unroll
        for (unsigned int i = 0; i < 16; i++) {
            if (column + i < columns) sixteen.each[i] = at[i];
        }
    }
    return sixteen.all;
}

// sums += a b
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned int (&a)[4],
                                         unsigned int b0, unsigned int b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of eight rows of 16 bytes; the lanes give the rows' addresses: lanes 0 .. 7 for the
// first, and so on. Lane 4 g + t gets the bytes 4 t .. 4 t + 3 of row g of each.
__device__ __forceinline__ void load_matrices(unsigned int (&to)[4], const unsigned char* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row)))
                 : "memory");
}

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS)
    gemm(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, DTYPE* c, unsigned int m, unsigned int n,
         unsigned int k) {
    __shared__ __align__(16) unsigned char tile_a[M][PITCH], tile_b[N][PITCH];
    const unsigned int lane = threadIdx.x % 32;
    // The warp's part of the tile: the eight warps form two rows of four.
    const unsigned int first_row = threadIdx.x / 128 * 64, first_column = threadIdx.x / 32 % 4 * 32;
    float sums[4][4][4] = {};  // [of 64 rows][of 32 columns][of a lane]
    for (unsigned int first = 0; first < k; first += K) {
#pragma unroll
        for (unsigned int i = threadIdx.x; i < M * K / 16; i += THREADS) {
            const unsigned int row = i / (K / 16), column = i % (K / 16) * 16;
            *reinterpret_cast<uint4*>(&tile_a[row][column]) =
                load_sixteen<VECTOR>(a, m, k, blockIdx.y * M + row, first + column);
            *reinterpret_cast<uint4*>(&tile_b[row][column]) =
                load_sixteen<VECTOR>(b, n, k, blockIdx.x * N + row, first + column);
        }
        __syncthreads();
#pragma unroll
        for (unsigned int l = 0; l < K; l += 32) {
            unsigned int of_a[4][4], of_b[2][4];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                load_matrices(of_a[i], &tile_a[first_row + 16 * i + lane % 16][l + lane / 16 * 16]);
            }
#pragma unroll
            for (unsigned int j = 0; j < 2; j++) {
                const unsigned int row = first_column + 16 * j + lane / 16 * 8 + lane % 8;
                load_matrices(of_b[j], &tile_b[row][l + lane / 8 % 2 * 16]);
            }
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) {
                    multiply(sums[i][j], of_a[i], of_b[j / 2][j % 2 * 2],
                             of_b[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        const unsigned int row = blockIdx.y * M + first_row + 16 * i + lane / 4;
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            const unsigned int column = blockIdx.x * N + first_column + 8 * j + lane % 4 * 2;
            store_pair(c, m, n, row, column, sums[i][j][0], sums[i][j][1]);
            store_pair(c, m, n, row + 8, column, sums[i][j][2], sums[i][j][3]);
        }
    }
}
