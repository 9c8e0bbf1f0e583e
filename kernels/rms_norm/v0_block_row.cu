// output[r][c] = input[r][c] / sqrt(mean square of row r + epsilon) * gamma[c]; rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: the definition, a block per row. One pass adds up the squares, a second one writes the
// output. There is no mean to subtract first, so unlike a layer norm it needs one reduction.
// Arithmetic is in float32 for every type, because 256² overflows float16.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory.
//
// From: Biao Zhang and Rico Sennrich, "Root Mean Square Layer Normalization" (2019).
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 796 µs ± 0.068 %, float16 627 µs ± 0.17 %, bfloat16 627 µs ± 0.18 %.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common/all_reduce.cuh"
#include "common/row.cuh"

__global__ void rms_norm(const DTYPE* input, const DTYPE* gamma, DTYPE* output, float epsilon,
                         unsigned int cols) {
    const DTYPE* x = input + row_start(blockIdx.x, cols);
    DTYPE* y = output + row_start(blockIdx.x, cols);

    float squares = 0.0f;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        squares += static_cast<float>(x[i]) * static_cast<float>(x[i]);
    }
    const float scale = rsqrtf(block_all<Sum>(squares) / cols + epsilon);

    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        y[i] = static_cast<DTYPE>(static_cast<float>(x[i]) * scale * static_cast<float>(gamma[i]));
    }
}
