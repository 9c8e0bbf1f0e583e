// Blocks run different numbers of rounds, each with its barriers.
// LAUNCH k<<<4, 64>>>(float[256], float[4])
// CHECK (a[1] == was[0].reshape(4, 64).sum(axis=1) * np.arange(1, 5)).all()
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x;
    float total = 0;
    for (unsigned round = 0; round <= blockIdx.x; round++) {
        s[t] = in[blockIdx.x * 64 + t];
        __syncthreads();
        for (unsigned k = 32; k > 0; k /= 2) {
            if (t < k) s[t] += s[t + k];
            __syncthreads();
        }
        total += s[0];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = total;
}
