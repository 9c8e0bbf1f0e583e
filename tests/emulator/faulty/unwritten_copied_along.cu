// Thread 63 reads an uninitialised element, which reaches the output by way of other arrays.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[65], turned[64];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    turned[63 - t] = s[t + 1] - s[t];  // FAULT: uninitialised
    __syncthreads();
    out[blockIdx.x * 64 + t] = turned[t];  // OTHER
}
