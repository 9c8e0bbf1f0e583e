// Counting without atomics.
// LAUNCH k<<<2, 64>>>(unsigned[128], unsigned[16])
extern "C" __global__ void k(const unsigned* in, unsigned* bins) {
    __shared__ unsigned s[16];
    unsigned t = threadIdx.x;
    if (t < 16) s[t] = 0;
    __syncthreads();
    s[in[blockIdx.x * 64 + t] % 16] += t;  // FAULT: race
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], s[t]);
}
