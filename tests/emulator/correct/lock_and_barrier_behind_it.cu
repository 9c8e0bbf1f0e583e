// One thread takes the lock for its block; the barrier after it replaces the fence.
// LAUNCH k<<<4, 64>>>(unsigned[1]=0, int[64]=0)
// CHECK (a[1] == 4).all()
extern "C" __global__ void k(unsigned* lock, int* totals) {
    if (threadIdx.x == 0)
        while (atomicCAS(lock, 0u, 1u) != 0u) {
        }
    __syncthreads();
    totals[threadIdx.x]++;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(lock, 0u);
}
