// A tile of 64 × 64 floats, transposed by 16 × 16 threads with 16 bytes per access: for v4 and v5.
#pragma once

constexpr unsigned int TILE = 64;
constexpr unsigned int UNITS = TILE / 4;  // float4 per row of the tile; threads in x and in y

// Four words of a row from column `col` on; zeros past the matrix.
__device__ __forceinline__ float4 load4(const float* matrix, unsigned int rows, unsigned int cols,
                                        unsigned int row, unsigned int col) {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row >= rows) return v;
    const float* from = matrix + row * cols + col;
    if (cols % 4 == 0) {
        // col is also a multiple of 4, so all four words exist or none.
        if (col < cols) v = *reinterpret_cast<const float4*>(from);
    } else {
        if (col < cols) v.x = from[0];
        if (col + 1 < cols) v.y = from[1];
        if (col + 2 < cols) v.z = from[2];
        if (col + 3 < cols) v.w = from[3];
    }
    return v;
}

// The counterpart: writes only within the matrix.
__device__ __forceinline__ void store4(float* matrix, unsigned int rows, unsigned int cols,
                                       unsigned int row, unsigned int col, float4 v) {
    if (row >= rows) return;
    float* to = matrix + row * cols + col;
    if (cols % 4 == 0) {
        if (col < cols) *reinterpret_cast<float4*>(to) = v;
    } else {
        if (col < cols) to[0] = v.x;
        if (col + 1 < cols) to[1] = v.y;
        if (col + 2 < cols) to[2] = v.z;
        if (col + 3 < cols) to[3] = v.w;
    }
}

// The tile-th tile of the input, counted by rows and columns of tiles.
__device__ __forceinline__ void transpose_tile(const float* input, float* output,
                                               unsigned int rows, unsigned int cols,
                                               unsigned int tile_row, unsigned int tile_col) {
    __shared__ float4 tile[TILE][UNITS];  // a row is a column of the input
    const unsigned int x = threadIdx.x;
    const unsigned int y = threadIdx.y;

    // 16 lanes read 256 bytes of a row at each of the four loads.
    const unsigned int row = tile_row * TILE + 4 * y;
    const unsigned int col = tile_col * TILE + 4 * x;
    const float4 a = load4(input, rows, cols, row, col);
    const float4 b = load4(input, rows, cols, row + 1, col);
    const float4 c = load4(input, rows, cols, row + 2, col);
    const float4 d = load4(input, rows, cols, row + 3, col);

    // Rows 4x … 4x + 3 of the turned tile, each at unit y, which is at position y ^ x: 16-byte
    // accesses are served for 8 lanes at a time, and 8 neighbours in x then differ in their banks.
    tile[4 * x][y ^ x] = make_float4(a.x, b.x, c.x, d.x);
    tile[4 * x + 1][y ^ x] = make_float4(a.y, b.y, c.y, d.y);
    tile[4 * x + 2][y ^ x] = make_float4(a.z, b.z, c.z, d.z);
    tile[4 * x + 3][y ^ x] = make_float4(a.w, b.w, c.w, d.w);
    __syncthreads();

    // Row 4y + i of the transposed tile has unit x at position x ^ y.
    const unsigned int out_row = tile_col * TILE + 4 * y;
    const unsigned int out_col = tile_row * TILE + 4 * x;
#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        store4(output, cols, rows, out_row + i, out_col, tile[4 * y + i][x ^ y]);
    }
}
