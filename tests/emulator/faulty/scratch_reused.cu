// Two block reductions in a row share their scratch array with no barrier between them.
// LAUNCH k<<<3, 128>>>(float[384], float[6])
__device__ __forceinline__ float block_sum(float x) {
    __shared__ float sums[4];
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;  // FAULT: race
    __syncthreads();
    return sums[0] + sums[1] + sums[2] + sums[3];  // OTHER
}
extern "C" __global__ void k(const float* in, float* out) {
    float x = in[blockIdx.x * 128 + threadIdx.x];
    float a = block_sum(x);
    float b = block_sum(x * x);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = a;
        out[2 * blockIdx.x + 1] = b;
    }
}
