// output = input transposed; input is rows × cols, output cols × rows, both row by row, float32
//
// Idea: neighbouring blocks write beside each other. Blocks start in the order of blockIdx.x, and those
// that run at the same time should touch neighbouring memory, but only one side can have that. v4's
// read beside each other, and each writes 256 bytes in rows far apart. Scattered reads cost less.
//
// Contract: v4's, except that x goes along the rows: the grid covers the input with tiles, and cols
// are at most 64 * 65535.
//
// From: Greg Ruetsch and Paulius Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009),
// on the order of the blocks, there for the sake of partition camping.
//
// Measured: H200, rows = 2¹⁴, cols = 2¹⁴: 1.031× v4.
#include "transpose/float4_tile.cuh"

extern "C" __global__ void transpose(const float* input, float* output, unsigned int rows,
                                     unsigned int cols) {
    transpose_tile(input, output, rows, cols, blockIdx.x, blockIdx.y);
}
