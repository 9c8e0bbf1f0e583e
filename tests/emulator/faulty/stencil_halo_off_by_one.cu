// The right halo is loaded by the wrong thread, so its last element is never written.
// LAUNCH k<<<2, 64>>>(float[130], float[128])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[66];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = in[i + 1];
    if (t == 0) s[0] = in[i];
    if (t == 62) s[t + 2] = in[i + 2];
    __syncthreads();
    out[i] = s[t] + s[t + 1] + s[t + 2];  // FAULT: uninitialised
}
