// The padding only avoids bank conflicts and is never read.
// LAUNCH k<<<(3, 2), (16, 16)>>>(float[1536], float[1536], 48, 32)
// CHECK (a[1].reshape(48, 32) == was[0].reshape(32, 48).T).all()
extern "C" __global__ void k(const float* in, float* out, int width, int height) {
    __shared__ float s[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    out[y * height + x] = s[threadIdx.x][threadIdx.y];
}
