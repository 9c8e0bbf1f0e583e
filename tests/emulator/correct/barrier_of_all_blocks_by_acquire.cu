// A barrier of all blocks that can be used again at once: the last to arrive advances the
// generation, for which the others wait with acquiring loads.
// LAUNCH k<<<6, 64>>>(float[384], float[384]=0, unsigned[1]=0, unsigned[1]=0, 3)
// CHECK (a[0] == np.roll(was[0], -3 * (100 + 33)) + 6).all() and a[2][0] == 0 and a[3][0] == 6
#include <cuda/atomic>
using Word = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ void all_blocks_meet(Word arrived, Word generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned mine = generation.load(cuda::memory_order_relaxed);
        if (arrived.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
            arrived.store(0, cuda::memory_order_relaxed);
            generation.fetch_add(1, cuda::memory_order_release);
        } else {
            while (generation.load(cuda::memory_order_acquire) == mine) {
            }
        }
    }
    __syncthreads();
}
extern "C" __global__ void k(
    float* x, float* y, unsigned* arrived, unsigned* generation, int rounds
) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int round = 0; round < rounds; round++) {
        y[i] = x[(i + 100) % n] + 1;
        all_blocks_meet(Word(*arrived), Word(*generation));
        x[i] = y[(i + 33) % n] + 1;
        all_blocks_meet(Word(*arrived), Word(*generation));
    }
}
