// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v3's row in the registers of one warp. Its two reductions are shuffles, so no barrier holds
// a warp up, and other warps of the block load their rows while this one computes.
//
// Contract: any rows from 1 to 2^31 - 1, and cols from 1 to COLUMNS. A block is a multiple of 32
// threads, of which each warp takes one row; the grid covers the rows. COLUMNS is defined as a
// multiple of 256, which the lanes of a warp hold in registers. No shared memory. All buffers are
// 16-byte aligned, as every device allocation is; rows need not be (common/row_tile.cuh).
//
// From: the layer norm kernels of Andrej Karpathy's llm.c, of which one gives a warp to each row.
//
// Measured: not yet.
#include "common/all_reduce.cuh"
#include "common/row_tile.cuh"

#ifndef COLUMNS
#error "v4_warp_row.cu needs the most columns at compile time: -DCOLUMNS=1024"
#endif

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int rows, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>, PACKS = COLUMNS / (32 * W);
    const unsigned int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;  // the whole warp or none of it
    const unsigned int lane = threadIdx.x % 32;
    const DTYPE* x = input + row_start(row, cols);
    DTYPE* y = output + row_start(row, cols);

    float v[PACKS][W];
    float sum = 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const RowTile<DTYPE> tile{cols, p * 32 * W, lane, 32};
        tile.load(x, v[p]);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) sum += v[p][k];  // zeros past the end
    }
    const float mean = warp_all<Sum>(sum) / cols;

    float squares = 0.0f;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const RowTile<DTYPE> tile{cols, p * 32 * W, lane, 32};
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[p][k] -= mean;
            if (tile.has(k)) squares += v[p][k] * v[p][k];
        }
    }
    const float scale = rsqrtf(warp_all<Sum>(squares) / cols + epsilon);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const RowTile<DTYPE> tile{cols, p * 32 * W, lane, 32};
        float g[W], b[W];
        tile.load(gamma, g);
        tile.load(beta, b);
#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[p][k] = v[p][k] * scale * g[k] + b[k];
        tile.store(y, v[p]);
    }
}
