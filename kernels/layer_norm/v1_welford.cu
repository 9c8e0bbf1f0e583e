// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: mean and variance in one pass. Each new number moves the mean, and the sum of squares is
// kept relative to it (moments.cuh). v0 passes over the row three times and reduces over the block
// twice; this takes one fewer of each, but a division per element.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory.
//
// From: B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products"
// (Technometrics, 1962).
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 0.976× v0, float16 0.952× v0, bfloat16 0.936× v0.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/row.cuh"
#include "layer_norm/moments.cuh"

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int cols) {
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);

    Moments m;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        m = with(m, static_cast<float>(x[i]));
    }
    m = block_all(m);
    const float scale = rsqrtf(m.squares / cols + epsilon);

    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float d = static_cast<float>(x[i]) - m.mean;
        y[i] = static_cast<DTYPE>(d * scale * static_cast<float>(gamma[i]) +
                                  static_cast<float>(beta[i]));
    }
}
