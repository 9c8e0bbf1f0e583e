// c = a b, float32; a is m × k, b is k × n, c is m × n, all row-major
//
// Idea: v0 with the lanes of a warp along a row of c. They read 32 consecutive words of b, four
// sectors per request, and share one word of a; only the meaning of threadIdx.x has changed.
//
// Contract: any m, n, k >= 1 with m k, k n and m n below 2^32; a block of (32, 8) threads; the grid
// covers c with (n, m) as its (x, y). No shared memory.
//
// From: Simon Boehm, "How to Optimize a CUDA Matmul Kernel" (2022), kernel 2.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 9.30× v0.
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, unsigned int m,
                                 unsigned int n, unsigned int k) {
    const unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    const unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;

    float sum = 0.0f;
    for (unsigned int l = 0; l < k; l++) {
        sum += a[row * k + l] * b[l * n + column];
    }
    c[row * n + column] = sum;
}
