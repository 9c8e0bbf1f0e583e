// c = a b, inputs rounded to TF32, sums in float32; a is m × k, b is k × n, c is m × n, row-major
//
// Idea: the tensor cores are so fast that v0 waits for everything else. Here the tiles arrive
// by asynchronous copies, two in flight while a third is multiplied, as in sgemm/v7; the
// block's tile is 128 × 128 × 32 and a warp's 64 × 32, so a word from shared memory is used
// more often. The instruction is used directly. It defines which lane holds which element, so
// fragments are loaded word by word without bank conflicts, and results go from registers to
// memory.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 128 with (n, m) as its (x, y). VECTOR: n and k are multiples of 4;
// otherwise words are copied one by one. STAGES tiles, 3, or 2 if no more fit, of 35,840 bytes each
// in dynamic shared memory. Compute capability 8.0. (On 9.0 the warpgroup instructions, which read
// shared memory themselves, are twice as fast.)
//
// From: "Matrix Fragments for mma.m16n8k8" in the PTX manual, and CUTLASS's multistage mainloop.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 4.32× v0.
#include "common/async_copy.cuh"

constexpr unsigned int M = 128, N = 128, K = 32;  // of a block's tile
constexpr unsigned int THREADS = 256;

// The rows' lengths avoid bank conflicts: lanes (group, member) read a[group][member] and
// b[member][group], where 36 and 136 are 4 and 8 above a multiple of the 32 banks.
struct Stage {
    float a[M][K + 4];
    float b[K][N + 8];
};

// Requests the tiles that begin at `first` along k; past the end of k they are zeros.
template <bool VECTOR>
__device__ __forceinline__ void copy_tiles(Stage& stage, const float* a, const float* b,
                                           unsigned int m, unsigned int n, unsigned int k,
                                           unsigned int first) {
#pragma unroll
    for (unsigned int i = threadIdx.x; i < M * K / 4; i += THREADS) {
        const unsigned int row = i / (K / 4), column = i % (K / 4) * 4;
        copy_four<VECTOR>(&stage.a[row][column], a, m, k, blockIdx.y * M + row, first + column);
    }
#pragma unroll
    for (unsigned int i = threadIdx.x; i < K * N / 4; i += THREADS) {
        const unsigned int row = i / (N / 4), column = i % (N / 4) * 4;
        copy_four<VECTOR>(&stage.b[row][column], b, k, n, first + row, blockIdx.x * N + column);
    }
    commit_copies();
}

// The nearest TF32, in the upper 19 of 32 bits.
__device__ __forceinline__ unsigned int to_tf32(float x) {
    unsigned int rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
}

// sums += a b, of 16 × 8 and 8 × 8. Lane 4 g + t holds a[g][t], a[g + 8][t], a[g][t + 4],
// a[g + 8][t + 4]; b[t][g], b[t + 4][g]; and of the sums [g][2t], [g][2t + 1], [g + 8][2t],
// [g + 8][2t + 1].
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned int (&a)[4],
                                         const unsigned int (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS, 2) sgemm(const float* a, const float* b, float* c,
                                                 unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int group = lane / 4, member = lane % 4;
    // The warps' tiles lie in two rows of four.
    const unsigned int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;

    for (unsigned int i = 0; i < STAGES - 1; i++) {
        copy_tiles<VECTOR>(stages[i], a, b, m, n, k, i * K);
    }
    float sums[4][4][4] = {};  // [of 64 rows][of 32 columns][of a lane]
    unsigned int present = 0, free = STAGES - 1;
    for (unsigned int first = 0; first < k; first += K) {
        // The oldest tile has arrived for this thread and, after the barrier, for all. The barrier
        // also means that all are done with the previous tile, so its slot is free.
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        copy_tiles<VECTOR>(stages[free], a, b, m, n, k, first + (STAGES - 1) * K);

        const Stage& stage = stages[present];
#pragma unroll
        for (unsigned int l = 0; l < K; l += 8) {
            unsigned int of_a[4][4], of_b[4][2];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                const unsigned int row = warp_row + 16 * i + group;
                of_a[i][0] = to_tf32(stage.a[row][l + member]);
                of_a[i][1] = to_tf32(stage.a[row + 8][l + member]);
                of_a[i][2] = to_tf32(stage.a[row][l + member + 4]);
                of_a[i][3] = to_tf32(stage.a[row + 8][l + member + 4]);
            }
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const unsigned int column = warp_column + 8 * j + group;
                of_b[j][0] = to_tf32(stage.b[l + member][column]);
                of_b[j][1] = to_tf32(stage.b[l + member + 4][column]);
            }
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) multiply(sums[i][j], of_a[i], of_b[j]);
            }
        }
        free = present;
        present = present + 1 == STAGES ? 0 : present + 1;
    }
    wait_for_all_but<0>();  // no copy, not even of zeros, is to land after the block has left

    // Pairs of neighbours: the four lanes of a group fill a sector.
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) {
            const unsigned int column = blockIdx.x * N + warp_column + 8 * j + 2 * member;
#pragma unroll
            for (unsigned int half = 0; half < 2; half++) {
                const unsigned int row = blockIdx.y * M + warp_row + 16 * i + group + 8 * half;
                if (row >= m || column >= n) continue;
                float* to = c + row * n + column;
                const float x = sums[i][j][2 * half], y = sums[i][j][2 * half + 1];
                if (VECTOR) {
                    *reinterpret_cast<float2*>(to) = make_float2(x, y);
                } else {
                    to[0] = x;
                    if (column + 1 < n) to[1] = y;
                }
            }
        }
    }
}
