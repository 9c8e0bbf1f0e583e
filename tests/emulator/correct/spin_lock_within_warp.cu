// Every lane takes the lock in turn: the lane that holds it must make progress (Volta and later).
// LAUNCH k<<<1, 64>>>(unsigned[1]=0, unsigned[1]=0)
// CHECK a[1][0] == sum(range(64)) and a[0][0] == 0
extern "C" __global__ void k(unsigned* lock, unsigned* total) {
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    __threadfence();
    *total += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0u);
}
