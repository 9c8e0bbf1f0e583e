// One thread of each block takes a lock in global memory.
// LAUNCH k<<<6, 32>>>(unsigned[1]=0, float[1]=0)
// CHECK a[1][0] == 15
extern "C" __global__ void k(unsigned* lock, float* total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0u, 1u) != 0u) {
        }
        __threadfence();
        *total = *total + blockIdx.x;
        __threadfence();
        atomicExch(lock, 0u);
    }
}
