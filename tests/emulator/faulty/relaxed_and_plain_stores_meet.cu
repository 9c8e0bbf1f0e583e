// One of two stores to a word is atomic, but the other is not, which makes it a race.
// LAUNCH k<<<1, 64>>>(int[1]=0)
#include <cuda/atomic>
extern "C" __global__ void k(int* last) {
    int t = threadIdx.x;
    if (t < 32)
        cuda::atomic_ref<int>(*last).store(1, cuda::memory_order_relaxed);
    else
        *last = 2;  // FAULT: race
}
