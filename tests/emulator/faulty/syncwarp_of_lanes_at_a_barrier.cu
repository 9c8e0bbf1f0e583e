// The mask names the whole warp, but the upper half has gone on to __syncthreads().
// LAUNCH k<<<2, 64>>>(int[128])
extern "C" __global__ void k(int* out) {
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    s[t] = t;
    if (t % 32 < 16) {
        __syncwarp();  // FAULT: warp mask
        s[t] += 1;
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[t];
}
