// The same in the style used before Volta: volatile orders the compiler's accesses, not the lanes.
// LAUNCH k<<<2, 64>>>(float[128], float[2])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];  // FAULT: race
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
