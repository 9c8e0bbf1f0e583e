// The block that has the lock may still see the old total: no fence follows the acquisition.
// LAUNCH k<<<4, 32>>>(unsigned[1]=0, float[1]=0)
extern "C" __global__ void k(unsigned* lock, float* total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0u, 1u) != 0u) {  // OTHER
        }
        *total = *total + 1;  // FAULT: race
        __threadfence();
        atomicExch(lock, 0u);
    }
}
