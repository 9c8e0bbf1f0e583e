// The scratch word that holds the maximum is overwritten by the sum while others still read it.
// LAUNCH k<<<2, 128>>>(float[256], float[256])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    float x = in[blockIdx.x * 128 + t];
    s[t] = x;
    __syncthreads();
    for (unsigned d = 64; d > 0; d /= 2) {
        if (t < d) s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    float top = s[0];  // OTHER
    float e = expf(x - top);
    s[t] = e;  // FAULT: race
    __syncthreads();
    for (unsigned d = 64; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    out[blockIdx.x * 128 + t] = e / s[0];
}
