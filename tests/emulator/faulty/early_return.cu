// Threads past the end leave before the barrier at which the rest of their block waits.
// LAUNCH k<<<2, 64>>>(float[100], float[100], 100)
extern "C" __global__ void k(const float* in, float* out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= n) return;
    s[t] = in[i];
    __syncthreads();  // FAULT: divergent barrier
    out[i] = s[t / 2];
}
