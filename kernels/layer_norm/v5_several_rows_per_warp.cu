// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: a row of 32 floats is eight packs, so v4 leaves 24 lanes of its warp idle. Here a row is
// shared by as many lanes as it has packs, and a warp takes several rows.
//
// Contract: any rows with LANES * rows below 2^32, and cols of at least 1 that need at most LANES
// accesses of 16 bytes. A block has a multiple of 32 threads. LANES of them take ROWS rows, whose
// loads are all in flight together; the grid covers the rows. LANES and ROWS are defined, LANES as
// a power of 2 up to 32. No shared memory. All buffers are 16-byte aligned, as every device
// allocation is; rows need not be (common/row_tile.cuh).
//
// From: v4; PyTorch's softmax gives two short rows to a warp.
//
// Measured: H200, rows = 2²⁰, cols = 32: float32 9.42× v4, float16 19.5× v4, bfloat16 19.7× v4.
#include "common/row_reduce.cuh"
#include "common/row_tile.cuh"

#if !defined(LANES) || !defined(ROWS)
#error "v5_several_rows_per_warp.cu needs its shape at compile time: -DLANES=8 -DROWS=4"
#endif

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int rows, unsigned int cols) {
    constexpr unsigned int W = WIDTH<DTYPE>;
    const unsigned int groups = blockDim.x / LANES;
    const unsigned int first = blockIdx.x * groups * ROWS + threadIdx.x / LANES;
    const RowTile<DTYPE> tile{cols, threadIdx.x % LANES, LANES};

    float v[ROWS][W], g[W], b[W];
#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        // Lanes without a row of their own follow the last row, and store nothing.
        tile.load(input + row_start(min(first + r * groups, rows - 1), cols), v[r]);
    }
    tile.load(gamma, g);
    tile.load(beta, b);

#pragma unroll
    for (unsigned int r = 0; r < ROWS; r++) {
        const unsigned int row = first + r * groups;

        float sum = 0.0f;
#pragma unroll
        for (unsigned int k = 0; k < W; k++) sum += v[r][k];  // zeros past the end
        const float mean = lanes_all<Sum, LANES>(sum) / cols;

        float squares = 0.0f;
#pragma unroll
        for (unsigned int k = 0; k < W; k++) {
            v[r][k] -= mean;
            if (tile.has(k)) squares += v[r][k] * v[r][k];
        }
        const float scale = rsqrtf(lanes_all<Sum, LANES>(squares) / cols + epsilon);

#pragma unroll
        for (unsigned int k = 0; k < W; k++) v[r][k] = v[r][k] * scale * g[k] + b[k];
        if (row < rows) tile.store(output + row_start(row, cols), v[r]);
    }
}
