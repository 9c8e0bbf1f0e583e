// Lanes of one warp wait at different barriers.
// LAUNCH k<<<1, 32>>>(float[32])
extern "C" __global__ void k(float* out) {
    __shared__ float s[32];
    unsigned t = threadIdx.x;
    s[t] = t;
    if (t % 2) {
        __syncthreads();  // FAULT: divergent barrier
        out[t] = s[t - 1];
    } else {
        __syncthreads();  // FAULT: divergent barrier
        out[t] = s[t + 1] + 1;
    }
}
