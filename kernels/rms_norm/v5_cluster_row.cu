// output[r][c] = input[r][c] / sqrt(mean square of row r + epsilon) * gamma[c]; rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: v2 for rows that no block's registers hold. A cluster of blocks shares the row, each element
// is still read once, and the sum passes between the blocks through distributed shared memory.
//
// Contract: any rows and cols with rows * CLUSTER below 2^31 and cols of at most CLUSTER * COLUMNS.
// A cluster of CLUSTER blocks, at most 16, for each row, of THREADS threads each, a multiple of 32.
// CLUSTER and THREADS are defined, and COLUMNS, a block's share, as a multiple of 8 THREADS. No
// dynamic shared memory. All buffers are 16-byte aligned, as every device allocation is; rows need
// not be (common/row_tile.cuh).
//
// From: v2, and NVIDIA, "CUDA C++ Programming Guide", Distributed Shared Memory.
//
// Measured: not yet.
#include "common/row_reduce.cuh"
#include "common/row_tile.cuh"

#if !defined(CLUSTER) || !defined(COLUMNS) || !defined(THREADS)
#error "v5_cluster_row.cu needs its shape: -DCLUSTER=8 -DCOLUMNS=8192 -DTHREADS=256"
#endif

__global__ void __launch_bounds__(THREADS)
    rms_norm(const DTYPE* input, const DTYPE* gamma, DTYPE* output, float epsilon, unsigned int
             cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (THREADS * W);
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_arrive();  // this block has started
    const size_t start = row_start(blockIdx.x / CLUSTER, cols);
    const unsigned int share = blockIdx.x % CLUSTER * COLUMNS;

    float v[PACKS][W];
    float squares = 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const RowTile<DTYPE> tile{cols, share + p * THREADS * W, threadIdx.x, THREADS};
        tile.load(input + start, v[p]);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) squares += v[p][k] * v[p][k];  // zeros past the end
    }
    cluster.barrier_wait();
    const float scale = rsqrtf(cluster_all<Sum, 0>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const RowTile<DTYPE> tile{cols, share + p * THREADS * W, threadIdx.x, THREADS};
        float g[W];
        tile.load(gamma, g);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] *= scale * g[k];
        tile.store(output + start, v[p]);
    }
}
