// A barrier that only half of the block reaches; the other half waits at the next one.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = in[i];
    if (t < 32) {
        __syncthreads();  // FAULT: divergent barrier
        out[i] = s[t + 32];
    }
    __syncthreads();  // OTHER
    if (t >= 32) out[i] = s[t - 32];
}
