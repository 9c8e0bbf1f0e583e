// The last block adds up partial sums that it is not guaranteed to see: the fence is missing.
// LAUNCH k<<<4, 32>>>(float[128], float[4], unsigned[1]=0, float[1])
extern "C" __global__ void k(const float* in, float* partials, unsigned* ticket, float* out) {
    float x = in[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(~0u, x, d);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = x;  // OTHER
        if (atomicAdd(ticket, 1u) == gridDim.x - 1) {
            float sum = 0;
            for (unsigned b = 0; b < gridDim.x; b++) sum += partials[b];  // FAULT: race
            *out = sum;
        }
    }
}
