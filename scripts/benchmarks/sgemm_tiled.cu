// C = A B, square, row-major, n a multiple of 64: tiles of 64 x 64 in shared memory, moved as float4;
// each of 256 threads computes 4 x 4 elements.
//   sgemm: grid [n / 64, n / 64], block 256, args [a, b, c, n]
extern "C" __global__ void sgemm(const float* a, const float* b, float* c, unsigned int n) {
    __shared__ float4 a_tile[64][4];  // 64 rows of 16 columns
    __shared__ float4 b_tile[16][16];  // 16 rows of 64 columns
    const unsigned int tid = threadIdx.x;
    const unsigned int row = blockIdx.y * 64, column = blockIdx.x * 64;
    const unsigned int my_row = tid / 16 * 4, my_column = tid % 16;
    float sum[4][4] = {};

    for (unsigned int k = 0; k < n; k += 16) {
        a_tile[tid / 4][tid % 4] =
            *reinterpret_cast<const float4*>(&a[(row + tid / 4) * n + k + tid % 4 * 4]);
        b_tile[tid / 16][tid % 16] =
            *reinterpret_cast<const float4*>(&b[(k + tid / 16) * n + column + tid % 16 * 4]);
        __syncthreads();
#pragma unroll
        for (unsigned int i = 0; i < 16; ++i) {
            const float4 y = b_tile[i][my_column];
#pragma unroll
            for (unsigned int r = 0; r < 4; ++r) {
                const float x = reinterpret_cast<const float*>(a_tile[my_row + r])[i];
                sum[r][0] += x * y.x;
                sum[r][1] += x * y.y;
                sum[r][2] += x * y.z;
                sum[r][3] += x * y.w;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (unsigned int r = 0; r < 4; ++r) {
        *reinterpret_cast<float4*>(&c[(row + my_row + r) * n + column + my_column * 4]) =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
}
