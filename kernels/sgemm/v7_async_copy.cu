// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: v6 keeps the next tile in registers on its way to shared memory, one tile ahead. Copies by
// cp.async need no registers and no waiting thread, so two tiles are in flight while a third is
// multiplied, and they are twice as deep. Such a copy cannot transpose: a's tile stays as it is in
// memory, and a thread fetches four words along k from each of its 8 rows at once, which takes as
// many 16-byte instructions as v5 needs. Rows of 20 words, not 16, keep the rows that a warp reads
// together in different banks.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of 256 threads; the grid
// covers c in tiles of 128 × 128 with (n, m) as its (x, y). VECTOR: n and k are multiples of 4,
// else words are copied one by one. 55,296 bytes of dynamic shared memory. Compute capability 8.0.
//
// From: "Asynchronous Data Copies" in the CUDA C++ Programming Guide, and CUTLASS's multistage
// mainloop.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 0.901× v6.
#include "common/async_copy.cuh"
#include "common/matrix.cuh"

constexpr unsigned int M = 128, N = 128, K = 16;  // of a block's tile
constexpr unsigned int STAGES = 3;
constexpr unsigned int THREADS = 256;

struct Stage {
    float a[M][K + 4];
    float b[K][N];
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

template <bool VECTOR>
__global__ void __launch_bounds__(THREADS, 2) sgemm(const float* a, const float* b, float* c,
                                                    unsigned int m, unsigned int n,
                                                    unsigned int k) {
    extern __shared__ __align__(16) unsigned char memory[];
    Stage* stages = reinterpret_cast<Stage*>(memory);
    const unsigned int tid = threadIdx.x;
    // This thread's sums: rows y, y + 16, … y + 112, columns x .. x + 3 and x + 64 ...
    const unsigned int x = tid % 16 * 4, y = tid / 16;

    for (unsigned int i = 0; i < STAGES - 1; i++) {
        copy_tiles<VECTOR>(stages[i], a, b, m, n, k, i * K);
    }
    float sums[8][8] = {};
    unsigned int present = 0, free = STAGES - 1;
    for (unsigned int first = 0; first < k; first += K) {
        // The oldest tile has arrived for this thread and, after the barrier, for all. The barrier
        // also means that all are done with the previous tile, so its slot is free.
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        copy_tiles<VECTOR>(stages[free], a, b, m, n, k, first + (STAGES - 1) * K);

        const Stage& stage = stages[present];
#pragma unroll
        for (unsigned int l = 0; l < K; l += 4) {
            float of_a[8][4];
#pragma unroll
            for (unsigned int i = 0; i < 8; i++) fetch_four(of_a[i], &stage.a[y + 16 * i][l]);
#pragma unroll
            for (unsigned int step = 0; step < 4; step++) {
                float of_b[8];
                fetch_four(of_b, &stage.b[l + step][x]);
                fetch_four(of_b + 4, &stage.b[l + step][x + 64]);
#pragma unroll
                for (unsigned int i = 0; i < 8; i++) {
#pragma unroll
                    for (unsigned int j = 0; j < 8; j++) sums[i][j] += of_a[i][step] * of_b[j];
                }
            }
        }
        free = present;
        present = present + 1 == STAGES ? 0 : present + 1;
    }
    wait_for_all_but<0>();  // no copy, not even of zeros, is to land after the block has left

#pragma unroll
    for (unsigned int i = 0; i < 8; i++) {
        const unsigned int row = blockIdx.y * M + y + 16 * i;
        const float* of = sums[i];
        store_four<VECTOR>(c, m, n, row, blockIdx.x * N + x,
                           make_float4(of[0], of[1], of[2], of[3]));
        store_four<VECTOR>(c, m, n, row, blockIdx.x * N + x + 64,
                           make_float4(of[4], of[5], of[6], of[7]));
    }
}
