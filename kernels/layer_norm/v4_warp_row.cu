// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v3's row in the registers of one warp. Its two reductions are shuffles, so no barrier
// delays a warp, and other warps of the block load their rows while this one computes.
//
// Contract: any rows from 1 to 2^31 - 1, and cols from 1 to COLUMNS. A block has a multiple of 32
// threads, and each warp takes one row; the grid covers the rows. COLUMNS is defined as a multiple
// of 256, which the lanes of a warp hold in registers. No shared memory. All buffers are 16-byte
// aligned, as every device allocation is; rows need not be (common/row_packs.cuh). The output does
// not overlap the weights, so all of them are loaded before the first store.
//
// From: the layer norm kernels of Andrej Karpathy's llm.c, one of which gives a warp to each row.
//
// Measured: H200, rows = 2¹⁵, cols = 1,024: float32 0.786× v3, float16 1.29× v3, bfloat16 1.29× v3.
#include "common/all_reduce.cuh"
#include "common/row_packs.cuh"

#ifndef COLUMNS
#error "v4_warp_row.cu needs the most columns at compile time: -DCOLUMNS=1024"
#endif

__global__ void layer_norm(const DTYPE* input, const DTYPE* __restrict__ gamma,
                           const DTYPE* __restrict__ beta, DTYPE* output, float epsilon,
                           unsigned int rows, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (32 * W);
    const unsigned int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (r >= rows) return;  // the whole warp or none of it
    const unsigned int lane = threadIdx.x % 32;
    const DTYPE* x = input + row_start(r, cols);
    DTYPE* y = output + row_start(r, cols);
    const RowPacks<DTYPE> row(row_start(r, cols), cols);

    float v[PACKS][W];
    float single = row.load_single(x, lane);
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) row.load(x, 32 * p + lane, v[p]);

    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
#pragma unroll
        for (unsigned int k = 0; k < W; k++) sum += v[p][k];  // zeros past the end
    }
    const float mean = warp_all<Sum>(sum) / cols;

    single -= mean;
    float squares = row.has_single(lane) ? single * single : 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const bool has = row.has(32 * p + lane);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[p][k] -= mean;
            if (has) squares += v[p][k] * v[p][k];
        }
    }
    const float scale = rsqrtf(warp_all<Sum>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        float g[W], b[W];
        row.load_weights(gamma, 32 * p + lane, g);
        row.load_weights(beta, 32 * p + lane, b);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] = v[p][k] * scale * g[k] + b[k];
        row.store(y, 32 * p + lane, v[p]);
    }
    row.store_single(y, lane,
                     single * scale * row.load_single(gamma, lane) + row.load_single(beta, lane));
}
