// y = a x, float32; a is m × 16, row-major
//
// Idea: rows of 16 words leave half of v0's lanes idle, so a warp takes two rows at once: 32
// consecutive words again. Each half adds up its own products, in four steps instead of five.
//
// Contract: any m >= 1 with 16 m below 2^32, k = 16; a block of a multiple of 32 threads; the
// blocks cover m with two rows per warp. No shared memory.
//
// From: Xiandong Liu, "How to optimize in GPU" (2022): sgemv_v2.
//
// Measured: H200, m = 2²², k = 16: 2.36× v0.
extern "C" __global__ void sgemv(const float* a, const float* x, float* y, unsigned int m,
                                 unsigned int k) {
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int row = thread / 16, j = thread % 16;
    // If m is odd, the last warp has one row. All of its lanes shuffle: a lane without a row has
    // 0.
    float sum = row < m ? a[row * 16 + j] * x[j] : 0.0f;
#pragma unroll
    for (unsigned int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset, 16);
    }
    if (row < m && j == 0) y[row] = sum;
}
