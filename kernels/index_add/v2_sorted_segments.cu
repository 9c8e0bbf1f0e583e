// output[t][c] = sum of source[r][c] over all r with index[r] = t; source is rows × cols, row by
// row, float32, float16 or bfloat16
//
// Idea: group the rows by target, and then add them up without atomics: each target's sum is formed
// in registers and written once. Only the index is sorted, by counting: how many rows each target
// has, a stretch of slots for each, then every row's number into a slot of its target's stretch.
// The atomics of that are on integers, one per row instead of one per element. The stretches lie in
// any order, and so do rows within one, so no scan is needed: each warp reserves the slots for its
// targets from a common total.
//
// float16 and bfloat16 gain most: their sums are float32 until they are written, with one rounding.
//
// Contract: any rows, cols and targets from 1 to 2^31 - 64, and index from 0 to targets - 1.
// `clear`, `count`, `reserve` and `place`: grids that cover targets, rows, targets, rows; `reserve`
// in blocks of a multiple of 32. `add_segments`: a block of 32 to 1024 threads, a multiple of 32,
// for each target, with a float of dynamic shared memory for each thread.
//
// From: counting sort; PyTorch's embedding backward, which sorts its index and adds up segments.
//
// Measured: H200, rows = 2²⁰, cols = 64, targets = 2²⁰, stretch = 1: 0.315× v0.
#include "index_add/counting_sort.cuh"
#include "index_add/segments.cuh"

__global__ void add_segments(const DTYPE* source, const int* order, const int* counts,
                             const int* ends, DTYPE* output, unsigned int cols) {
    const int end = ends[blockIdx.x];
    add_segment(source, order, end - counts[blockIdx.x], end, output, cols);
}
