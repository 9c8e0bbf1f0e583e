// c = a b, inputs cut to TF32, sums in float32; a is m × k, b is k × n, c is m × n, row-major
//
// Idea: tensor maps require rows aligned to 16 bytes, so v2 to v4 leave odd sizes to v1. Here the
// factors are first copied to slightly longer rows, and v3 does the rest. The copies cost one read
// and one write per word; the product reads it dozens of times.
//
// Contract: any m, n, k >= 1, and inputs of less than 2^32 elements. `padded` has `rows` rows of
// `columns`, rounded up to a multiple of 4; blocks of 256 threads, one for each row. The product is
// computed as in v3, with tensor maps of the copies: they have the shapes of a and b, and the
// padded rows' strides. Compute capability 9.0.
//
// From: the padding that cuBLAS's documentation recommends for tensor cores.
//
// Measured: H200, m = 4,095, n = 4,095, k = 4,095: 4.18× v1.
#include "v3_persistent_clusters.cu"

extern "C" __global__ void copy_to_padded_rows(const float* matrix, float* padded,
                                               unsigned int columns) {
    const unsigned int pitch = (columns + 3) / 4 * 4;
    matrix += blockIdx.x * columns;
    padded += blockIdx.x * pitch;
    constexpr unsigned int IN_FLIGHT = 8;
    for (unsigned int first = threadIdx.x; first < columns; first += IN_FLIGHT * blockDim.x) {
        float words[IN_FLIGHT];
#pragma unroll
        for (unsigned int i = 0; i < IN_FLIGHT; i++) {
            const unsigned int column = first + i * blockDim.x;
            if (column < columns) words[i] = matrix[column];
        }
#pragma unroll
        for (unsigned int i = 0; i < IN_FLIGHT; i++) {
            const unsigned int column = first + i * blockDim.x;
            if (column < columns) padded[column] = words[i];
        }
    }
}
