// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v1 by 16-byte accesses, four floats or eight halves. The elements of a pack are first
// reduced to their own mean and squares, which takes no division, and then merged with what the
// thread has: one division per pack.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory. All buffers are 16-byte aligned, as every device
// allocation is. If cols is no multiple of a pack then rows are not, and are read element by
// element (common/row_tile.cuh).
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.44× v1, float16 1.73× v1, bfloat16 1.72× v1.
#include "common/row_tile.cuh"
#include "layer_norm/moments.cuh"

// The moments of the thread's part of a tile.
__device__ __forceinline__ Moments moments(RowTile<DTYPE> tile,
                                           const float (&v)[WIDTH<DTYPE>]) {
    Moments m;
#pragma unroll
    for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) {
        if (tile.has(k)) {
            m.count += 1.0f;
            m.mean += v[k];
        }
    }
    m.mean *= 1.0f / fmaxf(m.count, 1.0f);
#pragma unroll
    for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) {
        if (tile.has(k)) m.squares += (v[k] - m.mean) * (v[k] - m.mean);
    }
    return m;
}

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int cols) {
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);
    const unsigned int step = blockDim.x * WIDTH<DTYPE>;
    float v[WIDTH<DTYPE>], g[WIDTH<DTYPE>], b[WIDTH<DTYPE>];

    Moments m;
    for (unsigned int first = 0; first < cols; first += step) {
        const RowTile<DTYPE> tile{cols, first, threadIdx.x, blockDim.x};
        tile.load(x, v);
        m = merge(m, moments(tile, v));
    }
    m = block_all(m);
    const float scale = rsqrtf(m.squares / cols + epsilon);

    for (unsigned int first = 0; first < cols; first += step) {
        const RowTile<DTYPE> tile{cols, first, threadIdx.x, blockDim.x};
        tile.load(x, v);
        tile.load(gamma, g);
        tile.load(beta, b);
#pragma unroll
        for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) {
            v[k] = (v[k] - m.mean) * scale * g[k] + b[k];
        }
        tile.store(y, v);
    }
}
