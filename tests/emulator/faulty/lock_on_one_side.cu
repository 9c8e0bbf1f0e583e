// Even blocks take the lock before they add to the total, odd ones do not.
// LAUNCH k<<<4, 32>>>(unsigned[1]=0, float[1]=0)
extern "C" __global__ void k(unsigned* lock, float* total) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x % 2 == 0) {
        while (atomicCAS(lock, 0u, 1u) != 0u) {
        }
        __threadfence();
        *total = *total + 1;  // FAULT: race
        __threadfence();
        atomicExch(lock, 0u);
    } else {
        *total = *total + 1;  // FAULT: race
    }
}
