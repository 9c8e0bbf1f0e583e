// y[p][i][j] = x[p][i / 2][j / 2], float32: planes of h × w become planes of 2h × 2w
//
// Idea: a thread takes two neighbours of x, and each of its two stores is 16 bytes, the maximum: a
// warp writes 512 consecutive bytes of one row and of the next. (Four neighbours of x would give
// 16-byte loads, but stores with gaps between the lanes.)
//
// Contract: any rows (planes * h) and w >= 1 with 4 rows w below 2^32; any block; the blocks cover
// x with two elements of a row per thread. VECTOR: w is even. Otherwise every other row of y is not
// aligned to 16 bytes, and a thread stores pairs as in v1. x begins on an 8-byte boundary and y on
// one of 16. No shared memory.
//
// From: "Increase Performance with Vectorized Memory Access" (NVIDIA blog, 2013).
//
// Measured: H200, planes = 64, h = 1,024, w = 1,024: 0.995× v1 (the same within 1 %).
template <bool VECTOR>
__global__ void upsample(const float* x, float* y, unsigned int rows, unsigned int w) {
    const unsigned int per_row = (w + 1) / 2;  // threads
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * per_row) return;
    const unsigned int row = at / per_row, column = at % per_row;
    if (VECTOR) {
        const float2 two = reinterpret_cast<const float2*>(x)[at];
        const float4 four = make_float4(two.x, two.x, two.y, two.y);
        float4* y4 = reinterpret_cast<float4*>(y);
        y4[2 * row * per_row + column] = four;
        y4[(2 * row + 1) * per_row + column] = four;
    } else {
        float2* y2 = reinterpret_cast<float2*>(y);
        for (unsigned int j = 2 * column; j < min(2 * column + 2, w); j++) {
            const float one = x[row * w + j];
            y2[2 * row * w + j] = make_float2(one, one);
            y2[(2 * row + 1) * w + j] = make_float2(one, one);
        }
    }
}
