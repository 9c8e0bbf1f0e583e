// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: Hopper's tensor cores can do more than mma.sync uses, and its fragments cost v1 three
// ldmatrix per eight products. wgmma reads both factors from shared memory: four warps multiply 64
// × 128 elements at a time, no fragment passes through a register, and the tensor cores continue
// while the warps do something else. The tiles are 64 deep, rows of 128 bytes, in the order that
// the instruction reads without bank conflicts.
//
// Contract: any m, n >= 1, and k a multiple of 8; a block of 256 threads, two warpgroups; the grid
// covers c in tiles of 128 × 128 with (n, m) as its (x, y). 96 KiB of dynamic shared memory.
// Compute capability 9.0.
//
// From: "Asynchronous Warpgroup Level Matrix Instructions" in the PTX manual.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.55× v1, float16 1.51× v1.
#include "copy_eight.cuh"
#include "warpgroup_sums.cuh"

constexpr unsigned int M = 128, N = 128, K = 64;  // of a block's tile
constexpr unsigned int THREADS = 256, STAGES = 3;

struct Tiles {
    unsigned char a[M * K * 2];
    unsigned char b[N * K * 2];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const DTYPE* a, const DTYPE* b, DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Tiles* stages = reinterpret_cast<Tiles*>(memory);

    // Requests the tiles that begin at `first` along k; past the end of k they are zeros.
    const auto copy_tiles = [&](Tiles& tiles, unsigned int first) {
#pragma unroll
        for (unsigned int i = threadIdx.x; i < M * K / 8; i += THREADS) {
            const unsigned int row = i / 8, unit = i % 8;
            const unsigned int to = swizzled(row, unit), column = first + 8 * unit;
            copy_eight(tiles.a + to, a, m, k, blockIdx.y * M + row, column);
            copy_eight(tiles.b + to, b, n, k, blockIdx.x * N + row, column);
        }
        commit_copies();
    };

    for (unsigned int i = 0; i < STAGES - 1; i++) copy_tiles(stages[i], i * K);
    const unsigned int group = threadIdx.x / 128;  // each multiplies 64 of the 128 rows
    float sums[64] = {};
    unsigned int present = 0, free = STAGES - 1;
    for (unsigned int first = 0; first < k; first += K) {
        wait_for_all_but<STAGES - 2>();
        show_to_tensor_cores();
        __syncthreads();
        copy_tiles(stages[free], first + (STAGES - 1) * K);

        const unsigned long long tile_a = describe(stages[present].a + group * 64 * 128);
        const unsigned long long tile_b = describe(stages[present].b);
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < K / 16; i++) {
            multiply<DTYPE>(sums, tile_a + i * NEXT_32_BYTES, tile_b + i * NEXT_32_BYTES);
        }
        end_products();
        wait_for_products<0>();
        free = present;
        present = present + 1 == STAGES ? 0 : present + 1;
    }
    wait_for_all_but<0>();  // no copy, not even of zeros, is to land after the block has left

    store_sums(c, m, n, blockIdx.y * M + group * 64, blockIdx.x * N, sums);
}
