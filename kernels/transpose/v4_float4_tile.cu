// output = input transposed; input is rows × cols, output cols × rows, both row by row, float32
//
// Idea: 16 bytes per access everywhere. A thread takes a patch of 4 × 4 elements as four float4, so
// four loads are in flight, and transposes it in registers, where that costs nothing. Shared memory
// then only puts the patches into the order of the output, in units of float4. The swizzle is v3's,
// over the 16 units of a row.
//
// Contract: any rows and cols of at least 1 with a product of at most 2^31. A block has 16 × 16
// threads and copies a tile of 64 × 64. The grid covers the input with tiles, x along the columns;
// rows are at most 64 * 65535. 16 KiB of static shared memory. A row begins on 16 bytes if its
// length is a multiple of 4: if cols is not, the input is read word by word, and if rows is not,
// the output is written word by word.
//
// From: the float4 accesses of Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized
// Memory Access" (NVIDIA developer blog, 2013), and v3's layout.
//
// Measured: H200, rows = 2¹⁴, cols = 2¹⁴: 1.59× v3.
#include "transpose/float4_tile.cuh"

extern "C" __global__ void transpose(const float* input, float* output, unsigned int rows,
                                     unsigned int cols) {
    transpose_tile(input, output, rows, cols, blockIdx.y, blockIdx.x);
}
