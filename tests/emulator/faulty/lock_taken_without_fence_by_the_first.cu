// The first to take the lock is the one without a fence: that it went first is a matter of luck.
// LAUNCH k<<<2, 32>>>(unsigned[1]=0, float[1]=0)
extern "C" __global__ void k(unsigned* lock, float* total) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    if (blockIdx.x != 0) __threadfence();
    *total = *total + 1;  // FAULT: race
    __threadfence();
    atomicExch(lock, 0u);
}
