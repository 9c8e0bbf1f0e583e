// A lock per bin in shared memory, taken by lanes of all warps; released by a volatile store.
// LAUNCH k<<<2, 64>>>(int[2]=0)
// CHECK (a[0] == 3 * 64).all()
extern "C" __global__ void k(int* out) {
    __shared__ int lock, total;
    if (threadIdx.x == 0) lock = 0, total = 0;
    __syncthreads();
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            total += 3;
            __threadfence_block();
            *(volatile int*)&lock = 0;
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
