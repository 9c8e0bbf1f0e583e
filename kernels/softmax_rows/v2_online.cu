// output[r][c] = softmax of row r of input; rows × cols, row by row, float32
//
// Idea: maximum and sum in one pass. A thread adds up exponentials relative to the largest number
// so far, and rescales its sum when it meets a larger one. v1 passes over the row three times and
// reduces over the block twice; this takes one fewer of each.
//
// Contract: any rows and cols from 1 to 2^31 - 1. A block of 32 to 1024 threads, a multiple of 32,
// for each row. No dynamic shared memory. Finite input.
//
// From: Maxim Milakov and Natalia Gimelshein, "Online normalizer calculation for softmax" (2018).
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.037× v1.
#include "common/row.cuh"
#include "common/running_softmax.cuh"

extern "C" __global__ void softmax(const float* input, float* output, unsigned int cols) {
    const float* x = input + row_start(blockIdx.x, cols);
    float* y = output + row_start(blockIdx.x, cols);

    Running r;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) r = with(r, x[i]);
    r = block_all(r);

    const float scale = 1.0f / r.sum;
    for (unsigned int i = threadIdx.x; i < cols; i += blockDim.x) {
        y[i] = expf(x[i] - r.max) * scale;
    }
}
