// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: v1 with 16-byte accesses, four floats or eight halves. The elements of a pack are first
// reduced to their own mean and squares, which takes no division, and then merged with the thread's
// own: one division per pack.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory. All buffers are 16-byte aligned, as every device
// allocation is; rows need not be (common/row_packs.cuh).
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.62× v1, float16 2.45× v1, bfloat16 2.42× v1.
#include "common/row_packs.cuh"
#include "layer_norm/moments.cuh"

// The moments of a pack.
__device__ __forceinline__ Moments moments(const float (&v)[WIDTH<DTYPE>]) {
    Moments m{WIDTH<DTYPE>, 0.0f, 0.0f};
#pragma unroll
    for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) m.mean += v[k] / WIDTH<DTYPE>;
#pragma unroll
    for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) m.squares += (v[k] - m.mean) * (v[k] - m.mean);
    return m;
}

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int cols) {
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);
    const RowPacks<DTYPE> row(row_start(blockIdx.x, cols), cols);
    float v[WIDTH<DTYPE>], g[WIDTH<DTYPE>], b[WIDTH<DTYPE>];

    Moments m;
    for (unsigned int i = threadIdx.x; i < row.packs; i += blockDim.x) {
        row.load(x, i, v);
        m = merge(m, moments(v));
    }
    const float single = row.load_single(x, threadIdx.x);
    if (row.has_single(threadIdx.x)) m = with(m, single);
    m = block_all(m);
    const float scale = rsqrtf(m.squares / cols + epsilon);

    for (unsigned int i = threadIdx.x; i < row.packs; i += blockDim.x) {
        row.load(x, i, v);
        row.load_weights(gamma, i, g);
        row.load_weights(beta, i, b);
#pragma unroll
        for (unsigned int k = 0; k < WIDTH<DTYPE>; k++) {
            v[k] = (v[k] - m.mean) * scale * g[k] + b[k];
        }
        row.store(y, i, v);
    }
    row.store_single(y, threadIdx.x,
                     (single - m.mean) * scale * row.load_single(gamma, threadIdx.x) +
                         row.load_single(beta, threadIdx.x));
}
