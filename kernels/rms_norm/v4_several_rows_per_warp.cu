// output[r][c] = input[r][c] / sqrt(mean square of row r + epsilon) * gamma[c]; rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: a row of 32 floats is eight packs: v3 leaves 24 lanes of its warp idle. As many lanes as a
// row has packs share it, and a warp takes several rows.
//
// Contract: any rows with LANES * rows below 2^32, and cols from 1 to LANES packs. A block is a
// multiple of 32 threads, of which LANES take a row; the grid covers the rows. LANES is defined as a
// power of 2 up to 32. No shared memory. All buffers are 16-byte aligned, as every device allocation is; rows
// need not be (common/row_tile.cuh).
//
// From: v3; PyTorch's softmax gives two short rows to a warp.
//
// Measured: not yet.
#include "common/row_reduce.cuh"
#include "common/row_tile.cuh"

#ifndef LANES
#error "v4_several_rows_per_warp.cu needs the lanes of a row at compile time: -DLANES=8"
#endif

__global__ void rms_norm(const DTYPE* input, const DTYPE* gamma, DTYPE* output, float epsilon,
                         unsigned int rows, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>;
    const unsigned int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    // Lanes without a row of their own go along with the last one, and store nothing.
    const size_t start = row_start(min(row, rows - 1), cols);
    const RowTile<DTYPE> tile{cols, 0, threadIdx.x % LANES, LANES};

    float v[W], squares = 0.0f;
    tile.load(input + start, v);
#pragma unroll
    for (unsigned int k = 0; k < W; k++) squares += v[k] * v[k];  // zeros past the end
    const float scale = rsqrtf(lanes_all<Sum, LANES>(squares) / cols + epsilon);

    float g[W];
    tile.load(gamma, g);
#pragma unroll
    for (unsigned int k = 0; k < W; k++) v[k] *= scale * g[k];
    if (row < rows) tile.store(output + start, v);
}
