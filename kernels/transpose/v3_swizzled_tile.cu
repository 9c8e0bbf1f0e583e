// output = input transposed; input is rows × cols, output cols × rows, both row by row, float32
//
// Idea: v1's tile without its bank conflicts and without v2's padding. The word of row r and column
// c is kept in column c ^ r of its row. For a fixed r that permutes the row's words, for a fixed c
// each r gets a new bank, so rows and columns are both read in one wavefront. A tile stays a power
// of two in size, and rows keep the alignment that wide accesses and copies by hardware need.
//
// Contract: any rows and cols of at least 1 with a product of at most 2^31. A block has 32 ×
// block_rows threads and copies a tile of 32 × 32; block_rows divides 32. The grid covers the input
// with tiles, x along the columns; rows are at most 32 * 65535. 4 KiB of static shared memory.
//
// From: the exclusive-or layouts of NVIDIA's CUTLASS ("Efficient GEMM in CUDA", shared memory
// layouts).
//
// Measured: H200, rows = 2¹⁴, cols = 2¹⁴: 1.84× v1.
constexpr unsigned int TILE = 32;

extern "C" __global__ void transpose(const float* input, float* output, unsigned int rows,
                                     unsigned int cols) {
    __shared__ float tile[TILE][TILE];
    const unsigned int x = threadIdx.x;
    const unsigned int y = threadIdx.y;

    const unsigned int col = blockIdx.x * TILE + x;
    const unsigned int row = blockIdx.y * TILE + y;
    for (unsigned int i = 0; i < TILE; i += blockDim.y) {
        if (row + i < rows && col < cols) tile[y + i][x ^ (y + i)] = input[(row + i) * cols + col];
    }
    __syncthreads();

    // The block's tile of the output: here x runs along the rows of the input.
    const unsigned int out_col = blockIdx.y * TILE + x;
    const unsigned int out_row = blockIdx.x * TILE + y;
    for (unsigned int i = 0; i < TILE; i += blockDim.y) {
        if (out_row + i < cols && out_col < rows) {
            output[(out_row + i) * rows + out_col] = tile[x][(y + i) ^ x];
        }
    }
}
