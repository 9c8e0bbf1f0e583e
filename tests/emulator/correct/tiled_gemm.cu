// Both barriers are present.
// LAUNCH k<<<(2, 2), (16, 16)>>>(float[1024], float[1024], float[1024], 32)
// CHECK np.allclose(a[2].reshape(32, 32), was[0].reshape(32, 32) @ was[1].reshape(32, 32))
extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], r[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        r[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[y][i] * r[i][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
