// y[c * rows + r] = x[r * columns + c]: a float32 matrix transposed, three ways
//
// Launch: block 32 × 8, grid ceil_div(columns, 32) × ceil_div(rows, 32). A block moves a tile of
// 32 × 32; a thread moves 4 elements of it, 8 rows apart.
// From: Mark Harris, "An Efficient Matrix Transpose in CUDA C/C++" (NVIDIA developer blog, 2013).

constexpr int TILE = 32, ROWS = 8;

// Reads rows and writes columns: every lane's store touches a different sector.
extern "C" __global__ void direct(const float* x, float* y, int rows, int columns) {
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (c < columns && r + j < rows) y[c * rows + r + j] = x[(r + j) * columns + c];
    }
}

// Through shared memory, so that global memory is read and written in rows. The tile is read in
// columns: PAD = 0 puts a column into one bank (32 wavefronts), PAD = 1 into 32 banks (one).
template <int PAD>
__device__ __forceinline__ void through_tile(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[TILE][TILE + PAD];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (c < columns && r + j < rows) {
            tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * columns + c];
        }
    }
    __syncthreads();
    int to_c = blockIdx.y * TILE + threadIdx.x;  // columns of y are rows of x
    int to_r = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (to_c < rows && to_r + j < columns) {
            y[(to_r + j) * rows + to_c] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}

extern "C" __global__ void tiled(const float* x, float* y, int rows, int columns) {
    through_tile<0>(x, y, rows, columns);
}

extern "C" __global__ void tiled_padded(const float* x, float* y, int rows, int columns) {
    through_tile<1>(x, y, rows, columns);
}
