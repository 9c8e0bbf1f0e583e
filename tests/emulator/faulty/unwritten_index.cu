// Threads of the second half have no index: they use whatever the memory contains.
// LAUNCH k<<<1, 64>>>(float[64], float[64])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ int from[64];
    int t = threadIdx.x;
    if (t < 32) from[t] = 63 - t;
    __syncthreads();
    int at = from[t];                // FAULT: uninitialised
    out[t] = in[(at - 1) * 123457];  // OTHER
}
