// output[r][c] = (input[r][c] - mean) / sqrt(variance + epsilon) * gamma[c] + beta[c], mean and
// variance over row r; rows × cols, row by row, float32, float16 or bfloat16
//
// Idea: the definition, a block per row, in three passes: the row's mean, then its variance about
// that mean, then the output. Arithmetic is in float32 for every element type.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory.
//
// From: Jimmy Lei Ba, Jamie Ryan Kiros and Geoffrey Hinton, "Layer Normalization" (2016). Two block
// reductions that use the same shared words need a barrier between them; a published version
// without it has a race. Here block_all() begins with it.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 907 µs ± 0.16 %, float16 742 µs ± 0.088 %, bfloat16 741 µs ± 0.19 %.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/all_reduce.cuh"
#include "common/row.cuh"

__global__ void layer_norm(const DTYPE* input, const DTYPE* gamma, const DTYPE* beta,
                           DTYPE* output, float epsilon, unsigned int cols) {
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);

    float sum = 0.0f;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        sum += static_cast<float>(x[i]);
    }
    const float mean = block_all<Sum>(sum) / cols;

    float squares = 0.0f;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float d = static_cast<float>(x[i]) - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(block_all<Sum>(squares) / cols + epsilon);

    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        const float d = static_cast<float>(x[i]) - mean;
        y[i] = static_cast<DTYPE>(d * scale * static_cast<float>(gamma[i]) +
                                  static_cast<float>(beta[i]));
    }
}
