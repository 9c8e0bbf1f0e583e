// output[t][c] = sum of source[r][c] over all r with index[r] = t; source is rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: a thread for each element of source, and an atomic addition to its element of the output.
// It does not matter which rows share a target: the L2 cache performs the additions. Rows with the
// same target wait for each other there, and their order differs from run to run, and so do the
// last bits. In float16 and bfloat16 each addition rounds to 16 bits.
//
// Contract: any rows, cols and targets from 1 to 2^31 - 64, and index from 0 to targets - 1. Any
// grid and block. output must be zero before it, which the step `zero` ensures. No shared memory.
//
// From: PyTorch's index_add_ on a GPU, which does this.
//
// Measured: H200, rows = 2²⁰, cols = 64, targets = 2²⁰, stretch = 1: 305 µs ± 0.13 %.
#include "elementwise_add/index.cuh"
#include "index_add/atomic_add.cuh"
#include "index_add/zero.cuh"

__global__ void add(const DTYPE* source, const int* index, DTYPE* output, unsigned int rows,
                    unsigned int cols) {
    const Index n = static_cast<Index>(rows) * cols;
    const Index start = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = start; i < n; i += step) {
        const Index target = index[i / cols];
        add_atomically(&output[target * cols + i % cols], source[i]);
    }
}
