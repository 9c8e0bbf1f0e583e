// Each block stores its sum to the same word.
// LAUNCH k<<<4, 32>>>(float[128], float[1])
extern "C" __global__ void k(const float* in, float* out) {
    float x = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);
    if (threadIdx.x == 0) out[0] = x;  // FAULT: race
}
