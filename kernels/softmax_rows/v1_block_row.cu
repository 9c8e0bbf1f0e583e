// output[r][c] = softmax of row r of input; rows × cols, row by row, float32
//
// Idea: a block per row. Many warps share a long row, so fewer rows are in progress
// on an SM and each is still in its L1 cache in the next pass. The price is two
// barriers of the block per reduction; for a row shorter than the block, most threads
// are idle.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory. Finite input.
//
// From: the softmax kernels of Andrej Karpathy's llm.c, one of which gives a block to each row.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.30× v0.
#include "common/all_reduce.cuh"
#include "common/row.cuh"

extern "C" __global__ void softmax(const float* input, float* output, unsigned int cols) {
    const float* x = input + row_start(blockIdx.x, cols);
    float* y = output + row_start(blockIdx.x, cols);

    float max = Max::identity;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) max = fmaxf(max, x[i]);
    max = block_all<Max>(max);

    float sum = 0.0f;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - max);
    const float scale = 1.0f / block_all<Sum>(sum);

    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        y[i] = expf(x[i] - max) * scale;
    }
}
