// output[r][c] = softmax of row r of input; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: a row of 32 floats is eight packs, so v5 leaves 24 lanes of its warp idle. Here a row is
// shared by as many lanes as it has packs, and a warp takes several rows.
//
// Contract: any rows with LANES * rows below 2^32, and cols of at least 1 that need at most LANES
// accesses of 16 bytes. A block has a multiple of 32 threads. LANES of them take ROWS rows, whose
// loads are all in flight together; the grid covers the rows. LANES and ROWS are defined, LANES as
// a power of 2 up to 32. No shared memory. All buffers are 16-byte aligned, as every device
// allocation is; rows need not be (common/row_tile.cuh). Finite input.
//
// From: PyTorch's softmax, which gives two short rows to a warp.
//
// Measured: H200, rows = 2²⁰, cols = 32: float32 11.0× v5, float16 18.1× v5, bfloat16 19.1× v5.
#include "common/row_reduce.cuh"
#include "common/row_tile.cuh"

#if !defined(LANES) || !defined(ROWS)
#error "v7_several_rows_per_warp.cu needs its shape at compile time: -DLANES=8 -DROWS=4"
#endif

__global__ void softmax(const DTYPE* input, DTYPE* output, unsigned int rows, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>;
    const unsigned int groups = blockDim.x / LANES;
    const unsigned int first = blockIdx.x * groups * ROWS + threadIdx.x / LANES;
    const RowTile<DTYPE> tile{cols, threadIdx.x % LANES, LANES};

    float v[ROWS][W];
#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        // Lanes without a row of their own follow the last row, and store nothing.
        tile.load(input + row_start(min(first + r * groups, rows - 1), cols), v[r]);
    }

#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        const unsigned int row = first + r * groups;

        float max = Max::identity;
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            if (tile.has(k)) max = fmaxf(max, v[r][k]);
        }
        max = lanes_all<Max, LANES>(max);

        float sum = 0.0f;
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[r][k] = expf(v[r][k] - max);
            if (tile.has(k)) sum += v[r][k];
        }
        const float scale = 1.0f / lanes_all<Sum, LANES>(sum);

#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[r][k] *= scale;
        if (row < rows) tile.store(output + row_start(row, cols), v[r]);
    }
}
