// output[r][c] = softmax of row r of input; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v6 for rows that no block's registers hold. A cluster of blocks shares the row, each element
// is still read once, and maximum and sum pass between the blocks through distributed shared memory.
//
// Contract: any rows and cols with rows * CLUSTER below 2^31 and cols of at most CLUSTER * COLUMNS.
// A cluster of CLUSTER blocks, at most 16, for each row, of THREADS threads each, a multiple of 32.
// CLUSTER and THREADS are defined, and COLUMNS, a block's share, as a multiple of 8 THREADS. No
// dynamic shared memory. All buffers are 16-byte aligned, as every device allocation is; rows need
// not be (common/row_packs.cuh). Finite input.
//
// From: v6, and NVIDIA, "CUDA C++ Programming Guide", Distributed Shared Memory.
//
// Measured: H200, rows = 256, cols = 2¹⁷: float32 96.2 µs ± 0.35 %, float16 54.7 µs ± 0.87 %, bfloat16 54.7 µs ± 0.83 %.
#include "common/row_reduce.cuh"
#include "common/row_packs.cuh"

#if !defined(CLUSTER) || !defined(COLUMNS) || !defined(THREADS)
#error "v8_cluster_row.cu needs its shape: -DCLUSTER=8 -DCOLUMNS=8192 -DTHREADS=256"
#endif

__global__ void __launch_bounds__(THREADS)
    softmax(const DTYPE* input, DTYPE* output, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (THREADS * W);
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_arrive();  // this block has started
    const unsigned int thread = blockIdx.x % CLUSTER * THREADS + threadIdx.x;
    const DTYPE* x = input + row_start(blockIdx.x / CLUSTER, cols);
    DTYPE* y = output + row_start(blockIdx.x / CLUSTER, cols);
    const RowPacks<DTYPE> row(row_start(blockIdx.x / CLUSTER, cols), cols);

    constexpr float none = Max::identity;  // no maximum, and 0 as an exponential
    float v[PACKS][W];
    float single = row.load_single(x, thread, none);
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        row.load(x, p * CLUSTER * THREADS + thread, v[p], none);
    }

    float max = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) max = fmaxf(max, v[p][k]);
    }
    cluster.barrier_wait();
    max = cluster_all<Max, 0>(max);

    single = expf(single - max);
    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[p][k] = expf(v[p][k] - max);
            sum += v[p][k];
        }
    }
    const float scale = 1.0f / cluster_all<Sum, 1>(sum);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] *= scale;
        row.store(y, p * CLUSTER * THREADS + thread, v[p]);
    }
    row.store_single(y, thread, single * scale);
}
