// The lanes of a warp no longer run in lockstep: each level needs a __syncwarp().
// LAUNCH k<<<2, 128>>>(float[256], float[2])
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 128 + t];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];  // FAULT: race
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];  // FAULT: race
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
