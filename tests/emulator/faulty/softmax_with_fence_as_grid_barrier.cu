// __threadfence() orders this thread's own accesses; it waits for no other thread.
// LAUNCH k<<<4, 64>>>(float[256], float[4], float[256])
extern "C" __global__ void k(const float* in, float* partials, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t] = expf(in[i] * 0.01f);
    __syncthreads();
    for (unsigned k = 32; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) partials[blockIdx.x] = s[0];  // OTHER
    __threadfence();
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += partials[b];  // FAULT: race
    out[i] = expf(in[i] * 0.01f) / sum;
}
