// volatile does no harm if __syncwarp() orders the lanes.
// LAUNCH k<<<2, 64>>>(float[128], float[2])
// CHECK (a[1] == was[0].reshape(2, 64).sum(axis=1)).all()
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ volatile float s[64];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        for (int d = 32; d > 0; d /= 2) {
            float y = s[t + d];
            __syncwarp();
            s[t] += y;
            __syncwarp();
        }
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
