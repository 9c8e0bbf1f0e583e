// c = a b, square row-major float32 matrices of any n >= 1, four ways
//
// Launch: one thread for each element of c (of tile_by_four: for each four in a row), in blocks of
// the tile's shape; grid ceil_div(n, tile) × ceil_div(n, tile).
// From: CUDA C++ Programming Guide, "Shared Memory"; siboehm/SGEMM_CUDA for the ladder.

// A thread reads a row of a (the whole warp the same word) and a column of b (the warp a row).
extern "C" __global__ void naive(const float* a, const float* b, float* c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// Both tiles pass through shared memory, zero past the matrix's end. What differs: PTX reads a's
// row word by word, one wavefront each; the assembler merges four neighbours into one LDS.128, the
// same for all lanes of a row, which takes two wavefronts instead of four.
template <int TILE>
__device__ __forceinline__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        a_tile[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.0f;
        b_tile[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; ++j) sum += a_tile[y][j] * b_tile[j][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void tile_16(const float* a, const float* b, float* c, int n) {
    tiled<16>(a, b, c, n);  // a warp is two rows of the tile
}

extern "C" __global__ void tile_32(const float* a, const float* b, float* c, int n) {
    tiled<32>(a, b, c, n);
}

// Block 8 × 32: a thread computes four neighbours of a row and reads b's tile 16 bytes at a time,
// in PTX already. The assembler again merges four loads of a's row into one.
extern "C" __global__ void tile_by_four(const float* a, const float* b, float* c, int n) {
    constexpr int TILE = 32;
    __shared__ float a_tile[TILE][TILE];
    __shared__ float4 b_tile[TILE][TILE / 4];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE + 4 * x, row = blockIdx.y * TILE + y;
    float sum[4] = {};
    for (int k = 0; k < n; k += TILE) {
        float of_b[4];
        for (int i = 0; i < 4; ++i) {
            int across = k + 4 * x + i;
            a_tile[y][4 * x + i] = row < n && across < n ? a[row * n + across] : 0.0f;
            of_b[i] = k + y < n && column + i < n ? b[(k + y) * n + column + i] : 0.0f;
        }
        b_tile[y][x] = make_float4(of_b[0], of_b[1], of_b[2], of_b[3]);
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; ++j) {
            float4 of_row = b_tile[j][x];
            sum[0] += a_tile[y][j] * of_row.x;
            sum[1] += a_tile[y][j] * of_row.y;
            sum[2] += a_tile[y][j] * of_row.z;
            sum[3] += a_tile[y][j] * of_row.w;
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        if (row < n && column + i < n) c[row * n + column + i] = sum[i];
    }
}
