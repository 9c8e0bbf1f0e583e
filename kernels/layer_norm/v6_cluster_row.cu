// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v3 for rows that no block's registers hold. A cluster of blocks shares the row, each element
// is still read once, and a sum passes between the blocks through distributed shared memory.
//
// Contract: any rows and cols with rows * CLUSTER below 2^31 and cols of at most CLUSTER * COLUMNS.
// A cluster of CLUSTER blocks, at most 16, for each row, of THREADS threads each, a multiple of 32.
// CLUSTER and THREADS are defined, and COLUMNS, a block's share, as a multiple of 8 THREADS. No
// dynamic shared memory. All buffers are 16-byte aligned, as every device allocation is; rows need
// not be (common/row_packs.cuh).
//
// From: v3, and NVIDIA, "CUDA C++ Programming Guide", Distributed Shared Memory.
//
// Measured: H200, rows = 128, cols = 2¹⁸: float32 125 µs ± 0.31 %, float16 69.2 µs ± 0.88 %, bfloat16 70.3 µs ± 0.56 %.
#include "common/row_reduce.cuh"
#include "common/row_packs.cuh"

#if !defined(CLUSTER) || !defined(COLUMNS) || !defined(THREADS)
#error "v6_cluster_row.cu needs its shape: -DCLUSTER=8 -DCOLUMNS=8192 -DTHREADS=256"
#endif

__global__ void __launch_bounds__(THREADS)
    layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta, DTYPE* output,
               float epsilon, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (THREADS * W);
    const auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_arrive();  // this block has started
    const unsigned int thread = blockIdx.x % CLUSTER * THREADS + threadIdx.x;
    const DTYPE* x = input + row_start(blockIdx.x / CLUSTER, cols);
    DTYPE* y = output + row_start(blockIdx.x / CLUSTER, cols);
    const RowPacks<DTYPE> row(row_start(blockIdx.x / CLUSTER, cols), cols);

    float v[PACKS][W];
    float single = row.load_single(x, thread);
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) row.load(x, p * CLUSTER * THREADS + thread, v[p]);

    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) sum += v[p][k];  // zeros past the end
    }
    cluster.barrier_wait();
    const float mean = cluster_all<Sum, 0>(sum) / cols;

    single -= mean;
    float squares = row.has_single(thread) ? single * single : 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const bool has = row.has(p * CLUSTER * THREADS + thread);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[p][k] -= mean;
            if (has) squares += v[p][k] * v[p][k];
        }
    }
    const float scale = rsqrtf(cluster_all<Sum, 1>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        float g[W], b[W];
        row.load_weights(gamma, p * CLUSTER * THREADS + thread, g);
        row.load_weights(beta, p * CLUSTER * THREADS + thread, b);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] = v[p][k] * scale * g[k] + b[k];
        row.store(y, p * CLUSTER * THREADS + thread, v[p]);
    }
    row.store_single(y, thread,
                     single * scale * row.load_single(gamma, thread) +
                         row.load_single(beta, thread));
}
