// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: the row stays in the registers of its block. All loads of a thread are in flight together,
// each element is read once, and with the row in registers v0's two passes, a mean and then the
// squares about it, cost a few additions, with no division per element or pack.
//
// Contract: any rows from 1 to 2^31 - 1, and cols from 1 to COLUMNS. A block of THREADS threads, a
// multiple of 32, for each row. THREADS is defined, and COLUMNS as a multiple of 8 THREADS. No
// dynamic shared memory. All buffers are 16-byte aligned, as every device allocation is; rows need
// not be (common/row_packs.cuh). The output does not overlap the weights, so all of them are loaded
// before the first store.
//
// From: the layer norm of NVIDIA's Apex (contrib/layer_norm), which keeps rows in registers.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.06× v2, float16 1.24× v2, bfloat16 1.28× v2.
#include "common/all_reduce.cuh"
#include "common/row_packs.cuh"

#if !defined(COLUMNS) || !defined(THREADS)
#error "v3_in_registers.cu needs its shape at compile time: -DCOLUMNS=4096 -DTHREADS=256"
#endif

__global__ void layer_norm(const DTYPE* input, const DTYPE* __restrict__ gamma,
                           const DTYPE* __restrict__ beta, DTYPE* output, float epsilon,
                           unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (THREADS * W);
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);
    const RowPacks<DTYPE> row(row_start(blockIdx.x, cols), cols);

    float v[PACKS][W];
    float single = row.load_single(x, threadIdx.x);
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) row.load(x, p * THREADS + threadIdx.x, v[p]);

    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) sum += v[p][k];  // zeros past the end
    }
    const float mean = block_all<Sum>(sum) / cols;

    single -= mean;
    float squares = row.has_single(threadIdx.x) ? single * single : 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const bool has = row.has(p * THREADS + threadIdx.x);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[p][k] -= mean;
            if (has) squares += v[p][k] * v[p][k];
        }
    }
    const float scale = rsqrtf(block_all<Sum>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        float g[W], b[W];
        row.load_weights(gamma, p * THREADS + threadIdx.x, g);
        row.load_weights(beta, p * THREADS + threadIdx.x, b);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] = v[p][k] * scale * g[k] + b[k];
        row.store(y, p * THREADS + threadIdx.x, v[p]);
    }
    row.store_single(y, threadIdx.x,
                     single * scale * row.load_single(gamma, threadIdx.x) +
                         row.load_single(beta, threadIdx.x));
}
