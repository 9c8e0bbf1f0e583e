// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: the tensor cores of v0 wait for memory in every step. Here the tiles arrive by asynchronous
// copies, which bypass the registers: three steps are in flight while a fourth is multiplied.
//
// Contract: any m, n >= 1, and k a multiple of 8; a block of 256 threads; the grid covers c in tiles
// of 128 × 128 with (n, m) as its (x, y). 80 KiB of dynamic shared memory. Compute capability 8.0.
//
// From: CUTLASS's multistage mainloop.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 2.63× v0, float16 2.64× v0.
#include "copy_eight.cuh"
#include "fragments.cuh"

constexpr unsigned int STAGES = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const DTYPE* a, const DTYPE* b, DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(16) unsigned char memory[];
    Tiles* stages = reinterpret_cast<Tiles*>(memory);

    // Requests the tiles that begin at `first` along k; past the end of k they are zeros.
    const auto copy_tiles = [&](Tiles& tiles, unsigned int first) {
#pragma unroll
        for (unsigned int i = threadIdx.x; i < M * K / 8; i += THREADS) {
            const unsigned int row = i / (K / 8), column = i % (K / 8) * 8;
            copy_eight(&tiles.a[row][column], a, m, k, blockIdx.y * M + row, first + column);
            copy_eight(&tiles.b[row][column], b, n, k, blockIdx.x * N + row, first + column);
        }
        commit_copies();
    };

    for (unsigned int i = 0; i < STAGES - 1; i++) copy_tiles(stages[i], i * K);
    WarpSums sums;
    unsigned int present = 0, free = STAGES - 1;
    for (unsigned int first = 0; first < k; first += K) {
        // The oldest tiles have arrived for this thread and, after the barrier, for all. The
        // barrier also means that all are done with the previous tiles, so their slot is free.
        wait_for_all_but<STAGES - 2>();
        __syncthreads();
        copy_tiles(stages[free], first + (STAGES - 1) * K);
        sums.add(stages[present]);
        free = present;
        present = present + 1 == STAGES ? 0 : present + 1;
    }
    wait_for_all_but<0>();  // no copy, not even of zeros, is to land after the block has left
    sums.store(c, m, n);
}
