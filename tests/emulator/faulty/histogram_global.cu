// The same in global memory, where blocks collide too.
// LAUNCH k<<<4, 32>>>(unsigned[128], unsigned[128])
extern "C" __global__ void k(const unsigned* in, unsigned* bins) {
    bins[in[blockIdx.x * 32 + threadIdx.x] % 32] += 1;  // FAULT: race
}
