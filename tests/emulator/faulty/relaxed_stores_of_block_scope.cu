// The stores are atomic for the threads of a block, but threads of several blocks collide.
// LAUNCH k<<<2, 32>>>(int[1]=0)
#include <cuda/atomic>
extern "C" __global__ void k(int* last) {
    if (threadIdx.x == 0)
        cuda::atomic_ref<int, cuda::thread_scope_block>(*last).store(  // FAULT: race
            blockIdx.x, cuda::memory_order_relaxed);                   // FAULT: race
}
