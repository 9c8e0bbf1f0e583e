// A table's slot goes from empty to busy to full. A thread that claims it reads nothing that others
// wrote, and needs no fence after its compare-and-swap; a thread that finds it full has one.
// LAUNCH k<<<4, 32>>>(unsigned[16]=0, int[16]=0, int[128])
// CHECK (a[2] == 100 + np.arange(128) % 16).all() and (a[0] == 2).all()
extern "C" __global__ void k(unsigned* states, int* values, int* out) {
    unsigned i = blockIdx.x * 32 + threadIdx.x, slot = i % 16;
    if (atomicCAS(&states[slot], 0u, 1u) == 0u) {
        values[slot] = 100 + slot;
        __threadfence();
        atomicExch(&states[slot], 2u);
    } else {
        while (atomicAdd(&states[slot], 0u) != 2u) {
        }
        __threadfence();
    }
    out[i] = values[slot];
}
