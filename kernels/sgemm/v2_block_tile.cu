// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: a block needs 32 rows of a and 32 columns of b, and each of their words 32 times. It loads
// them into shared memory first, in strips as deep as fit, and global memory delivers each word
// once per block. v2 fills all the shared memory that a block may have, so an SM holds one block,
// and nothing computes while that waits for its strips. v3 launches the same code with strips of
// 32: 8 KiB per block, two blocks per SM, and one computes while the other waits.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of (32, 32) threads with
// 2 * 32 * depth floats of dynamic shared memory; the grid covers c with (n, m) as its (x, y).
//
// From: "Shared Memory" in the CUDA C++ Programming Guide (v3); v2 is the same with as few barriers
// as the memory allows.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 1.36× v1.
constexpr unsigned int TILE = 32;

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, unsigned int m,
                                 unsigned int n, unsigned int k, unsigned int depth) {
    extern __shared__ float strips[];
    float* strip_a = strips;                 // [TILE][depth]
    float* strip_b = strips + TILE * depth;  // [depth][TILE]
    const unsigned int row = blockIdx.y * TILE + threadIdx.y;
    const unsigned int column = blockIdx.x * TILE + threadIdx.x;

    float sum = 0.0f;
    for (unsigned int first = 0; first < k; first += depth) {
        const unsigned int count = min(depth, k - first);
        // Consecutive threads read consecutive words, of a along its row. Missing rows and columns
        // become zeros: every thread takes part in every barrier.
        for (unsigned int l = threadIdx.x; l < count; l += TILE) {
            strip_a[threadIdx.y * depth + l] = row < m ? a[row * k + first + l] : 0.0f;
        }
        for (unsigned int l = threadIdx.y; l < count; l += TILE) {
            strip_b[l * TILE + threadIdx.x] = column < n ? b[(first + l) * n + column] : 0.0f;
        }
        __syncthreads();

        // A warp has one threadIdx.y: it reads one word of a, and 32 neighbours of b.
        for (unsigned int l = 0; l < count; l++) {
            sum += strip_a[threadIdx.y * depth + l] * strip_b[l * TILE + threadIdx.x];
        }
        __syncthreads();  // all have read before the strips are overwritten
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
