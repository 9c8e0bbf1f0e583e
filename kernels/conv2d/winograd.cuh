// Winograd's F(2 × 2, 3 × 3), for v7 and v8: tiles of 2 × 2 elements of y are computed from 4 × 4
// of x with 16 products per channel instead of 36. With weights g and a patch d of x, a tile is Aᵀ
// ((G g Gᵀ) · (Bᵀ d B)) A, where · multiplies element by element and is summed over the channels. A
// matrix is transformed by columns, and the result by rows.
//
// From: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015).
#pragma once

// The number of 2 × 2 tiles in y, and the position of a tile.
struct Layout {
    unsigned int rows, columns, down, across;

    __device__ Layout(unsigned int h, unsigned int w, unsigned int pad)
        : rows(h + 2 * pad - 2),
          columns(w + 2 * pad - 2),
          down((rows + 1) / 2),
          across((columns + 1) / 2) {}
    __device__ unsigned int image(unsigned int tile) const { return tile / (down * across); }
    __device__ unsigned int row(unsigned int tile) const { return tile / across % down * 2; }
    __device__ unsigned int column(unsigned int tile) const { return tile % across * 2; }
};

// A multiple of 4, so that rows are aligned to 16 bytes.
__device__ __forceinline__ unsigned int rounded_up(unsigned int count) {
    return (count + 3) / 4 * 4;
}

// G: three weights as four numbers.
__device__ __forceinline__ void transform_weights(float (&to)[4], float a, float b, float c) {
    const float half = 0.5f * (a + c);
    to[0] = a, to[1] = half + 0.5f * b, to[2] = half - 0.5f * b, to[3] = c;
}

// Bᵀ: four elements of x, from which two of y are computed.
__device__ __forceinline__ void transform_x(float& a, float& b, float& c, float& d) {
    const float sum = b + c, difference = c - b;
    a -= c, d = b - d, b = sum, c = difference;
}

// Bᵀ d B.
__device__ __forceinline__ void transform_patch(float (&d)[4][4]) {
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) transform_x(d[i][0], d[i][1], d[i][2], d[i][3]);
#pragma unroll
    for (unsigned int j = 0; j < 4; j++) transform_x(d[0][j], d[1][j], d[2][j], d[3][j]);
}

// Aᵀ: four sums as two elements of y.
__device__ __forceinline__ float2 transform_back(float a, float b, float c, float d) {
    return make_float2(a + b + c, b - c - d);
}

// Aᵀ times four columns of sums, of which `columns` are Aᵀ already: the tile in this row and column of
// a plane of y. In the last tiles, a row or a column may be missing.
__device__ __forceinline__ void store_tile(float* y, const Layout& layout, unsigned int plane,
                                           unsigned int row, unsigned int column,
                                           const float2 (&columns)[4]) {
    const float2 upper = transform_back(columns[0].x, columns[1].x, columns[2].x, columns[3].x);
    const float2 lower = transform_back(columns[0].y, columns[1].y, columns[2].y, columns[3].y);
    float* to = y + (plane * layout.rows + row) * layout.columns + column;
    const bool has_lower = row + 1 < layout.rows;
    if (layout.columns % 2 == 0) {  // every tile has both columns, and begins at 8 bytes
        *reinterpret_cast<float2*>(to) = upper;
        if (has_lower) *reinterpret_cast<float2*>(to + layout.columns) = lower;
        return;
    }
    const bool has_right = column + 1 < layout.columns;
    to[0] = upper.x;
    if (has_right) to[1] = upper.y;
    if (has_lower) to[layout.columns] = lower.x;
    if (has_lower && has_right) to[layout.columns + 1] = lower.y;
}

// u = G g Gᵀ for every channel of x and y: 16 matrices of c rows and `out` columns, rounded up. The
// grid covers such a matrix with a block for each row and blockDim.x columns.
extern "C" __global__ void make_u(const float* weights, float* u, unsigned int c,
                                  unsigned int out) {
    const unsigned int pitch = rounded_up(out);
    const unsigned int o = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (o >= pitch) return;
    float window[9] = {};
    for (unsigned int i = 0; o < out && i < 9; i++) window[i] = weights[(o * c + channel) * 9 + i];
    float columns[3][4];
#pragma unroll
    for (unsigned int j = 0; j < 3; j++) {
        transform_weights(columns[j], window[j], window[3 + j], window[6 + j]);
    }
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        float row[4];
        transform_weights(row, columns[0][i], columns[1][i], columns[2][i]);
#pragma unroll
        for (unsigned int j = 0; j < 4; j++) u[((4 * i + j) * c + channel) * pitch + o] = row[j];
    }
}
