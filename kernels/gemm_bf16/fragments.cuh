// A warp's product with mma.m16n8k16, for v0 and v1: a tile of a and b in shared memory, and the
// sums of 64 × 32 elements of c in registers.
//
// In a fragment of the sums, 16 × 8, lane 4 g + t holds [g][2t], [g][2t + 1], [g + 8][2t] and
// [g + 8][2t + 1]. ldmatrix distributes the operands in this way: a in rows, and b in rows too,
// because its rows are the instruction's columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "store_pair.cuh"

constexpr unsigned int M = 128, N = 128, K = 32;  // of a block's tile
constexpr unsigned int THREADS = 256;
// Rows are padded by 16 bytes, so eight neighbouring rows lie in different banks.
constexpr unsigned int PITCH = K + 8;

struct Tiles {
    DTYPE a[M][PITCH];
    DTYPE b[N][PITCH];
};

// sums += a b
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned int (&a)[4],
                                         unsigned int b0, unsigned int b1) {
#define MULTIPLY(type)                                                                             \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                    \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                 \
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
    if constexpr (is_bfloat16<DTYPE>) {
        MULTIPLY("bf16");
    } else {
        MULTIPLY("f16");
    }
#undef MULTIPLY
}

// Four matrices of 8 × 8; the lanes give the rows' addresses: lanes 0 .. 7 for the first, and so
// on. A lane gets the elements [g][2t] and [g][2t + 1] of each.
__device__ __forceinline__ void load_matrices(unsigned int (&to)[4], const DTYPE* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// The warp's part of c: 64 × 32 elements; the eight warps form two rows of four.
class WarpSums {
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int first_row = threadIdx.x / 128 * 64, first_column = threadIdx.x / 32 % 4 * 32;
    float sums[4][4][4] = {};  // [of 64 rows][of 32 columns][of a lane]

public:
    __device__ __forceinline__ void add(const Tiles& tiles) {
#pragma unroll
        for (unsigned int l = 0; l < K; l += 16) {
            unsigned int a[4][4], b[2][4];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                load_matrices(a[i], &tiles.a[first_row + 16 * i + lane % 16][l + lane / 16 * 8]);
            }
#pragma unroll
            for (unsigned int j = 0; j < 2; j++) {
                const unsigned int row = first_column + 16 * j + lane / 16 * 8 + lane % 8;
                load_matrices(b[j], &tiles.b[row][l + lane / 8 % 2 * 8]);
            }
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) {
                    multiply(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
    }

    __device__ __forceinline__ void store(DTYPE* c, unsigned int m, unsigned int n) const {
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const unsigned int column =
                    blockIdx.x * N + first_column + 8 * j + lane % 4 * 2;
#pragma unroll
                for (unsigned int half = 0; half < 2; half++) {
                    const unsigned int row =
                        blockIdx.y * M + first_row + 16 * i + lane / 4 + 8 * half;
                    store_pair(c, m, n, row, column, sums[i][j][2 * half],
                               sums[i][j][2 * half + 1]);
                }
            }
        }
    }
};
