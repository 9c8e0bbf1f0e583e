// Each half of the block waits for the other at a barrier of its own.
// LAUNCH k<<<1, 64>>>(int[64])
extern "C" __global__ void k(int* out) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // FAULT: deadlock
        out[threadIdx.x] = 1;
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");  // OTHER
        out[threadIdx.x] = 2;
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}
