// output = input transposed; input is rows × cols, output cols × rows, both row by row, float32
//
// Idea: one word of padding per row of v1's tile. Rows are 33 words apart, so the words of a column
// lie in 32 different banks, (33 * row + col) % 32 = (row + col) % 32, and reading a column takes
// one wavefront, as reading a row does. It costs 128 bytes of shared memory.
//
// Contract: any rows and cols of at least 1 with a product of at most 2^31. A block has 32 ×
// block_rows threads and copies a tile of 32 × 32; block_rows divides 32. The grid covers the input
// with tiles, x along the columns; rows are at most 32 * 65535. 4.1 KiB of static shared memory.
//
// From: Mark Harris, "An Efficient Matrix Transpose in CUDA C/C++" (NVIDIA developer blog, 2013).
//
// Measured: H200, rows = 2¹⁴, cols = 2¹⁴: 1.85× v1.
constexpr unsigned int TILE = 32;

extern "C" __global__ void transpose(const float* input, float* output, unsigned int rows,
                                     unsigned int cols) {
    __shared__ float tile[TILE][TILE + 1];
    const unsigned int x = threadIdx.x;
    const unsigned int y = threadIdx.y;

    const unsigned int col = blockIdx.x * TILE + x;
    const unsigned int row = blockIdx.y * TILE + y;
    for (unsigned int i = 0; i < TILE; i += blockDim.y) {
        if (row + i < rows && col < cols) tile[y + i][x] = input[(row + i) * cols + col];
    }
    __syncthreads();

    // The block's tile of the output: here x runs along the rows of the input.
    const unsigned int out_col = blockIdx.y * TILE + x;
    const unsigned int out_row = blockIdx.x * TILE + y;
    for (unsigned int i = 0; i < TILE; i += blockDim.y) {
        if (out_row + i < cols && out_col < rows) {
            output[(out_row + i) * rows + out_col] = tile[x][y + i];
        }
    }
}
