// Every block counts into bins of its own in global memory, and into shared ones through a pointer;
// updates that blocks share are atomic for the whole device.
// LAUNCH k<<<4, 64>>>(int[256], unsigned[32]=0, unsigned[8]=0)
// CHECK (a[1] == 8).all() and (a[2] == 32).all()
extern "C" __global__ void k(const int* in, unsigned* own, unsigned* all) {
    __shared__ unsigned bins[8];
    unsigned t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    int bin = in[blockIdx.x * 64 + t] % 8;
    unsigned* mine = &own[blockIdx.x * 8];
    atomicAdd_block(&mine[bin], 1u);
    unsigned* shared = in[0] == 0 ? bins : own;
    atomicAdd_block(&shared[bin], 1u);
    __syncthreads();
    if (t < 8 && mine[t] == bins[t]) atomicAdd(&all[t], bins[t]);
}
