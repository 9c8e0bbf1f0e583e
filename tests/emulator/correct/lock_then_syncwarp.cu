// Lanes that are done with the lock wait at __syncwarp() for those that still want it.
// LAUNCH k<<<3, 64>>>(unsigned[6]=0, unsigned[6]=0, unsigned[6])
// CHECK (a[2] == sum(range(32))).all() and (a[0] == 0).all()
extern "C" __global__ void k(unsigned* locks, unsigned* totals, unsigned* out) {
    unsigned w = blockIdx.x * 2 + threadIdx.x / 32, lane = threadIdx.x % 32;
    while (atomicCAS(&locks[w], 0u, 1u) != 0u) {
    }
    __threadfence();
    totals[w] += lane;
    __threadfence();
    atomicExch(&locks[w], 0u);
    __syncwarp();
    if (lane == 0) {
        while (atomicCAS(&locks[w], 0u, 1u) != 0u) {
        }
        out[w] = totals[w];
        atomicExch(&locks[w], 0u);
    }
}
