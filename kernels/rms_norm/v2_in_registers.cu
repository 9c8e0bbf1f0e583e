// output[r][c] = input[r][c] / sqrt(mean square of row r + epsilon) * gamma[c]; rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: the row stays in the registers of its block. v1 reads it again in its second pass and
// relies on the caches for that; here each element is read once, and all loads of a thread are in
// flight together.
//
// Contract: any rows from 1 to 2^31 - 1, and cols from 1 to COLUMNS. A block of THREADS threads, a
// multiple of 32, for each row. THREADS is defined, and COLUMNS as a multiple of 8 THREADS. No
// dynamic shared memory. All buffers are 16-byte aligned, as every device allocation is; rows need
// not be (common/row_packs.cuh). The output does not overlap the weights, so all of them are loaded
// before the first store.
//
// From: the layer norm of NVIDIA's Apex (contrib/layer_norm), which keeps rows in registers.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.014× v1, float16 1.042× v1, bfloat16 1.04× v1.
#include "common/all_reduce.cuh"
#include "common/row_packs.cuh"

#if !defined(COLUMNS) || !defined(THREADS)
#error "v2_in_registers.cu needs its shape at compile time: -DCOLUMNS=4096 -DTHREADS=256"
#endif

__global__ void rms_norm(const DTYPE* input, const DTYPE* __restrict__ gamma, DTYPE* output,
                         float epsilon, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (THREADS * W);
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);
    const RowPacks<DTYPE> row(row_start(blockIdx.x, cols), cols);

    float v[PACKS][W];
    const float single = row.load_single(x, threadIdx.x);
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) row.load(x, p * THREADS + threadIdx.x, v[p]);

    float squares = single * single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) squares += v[p][k] * v[p][k];  // zeros past the end
    }
    const float scale = rsqrtf(block_all<Sum>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        float g[W];
        row.load_weights(gamma, p * THREADS + threadIdx.x, g);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] *= scale * g[k];
        row.store(y, p * THREADS + threadIdx.x, v[p]);
    }
    row.store_single(y, threadIdx.x, single * scale * row.load_single(gamma, threadIdx.x));
}
