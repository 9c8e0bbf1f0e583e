// Atomics on 64 bits of shared memory, which machine code retries until no other lane intervenes.
// The old value has bits in its upper half, and several lanes use one word.
// LAUNCH k<<<2, 96>>>(unsigned[384])
// CHECK (a[0].reshape(2, 96, 2) == np.bitwise_or.reduce(was[0].reshape(2, 96, 2) | np.uint32([0, 1280]), axis=1)[:, None]).all()
extern "C" __global__ void k(unsigned long long* x) {
    __shared__ unsigned long long all;
    unsigned t = threadIdx.x, i = blockIdx.x * 96 + t;
    if (t == 0) all = 5ull << 40;
    __syncthreads();
    atomicOr(&all, x[i]);
    __syncthreads();
    x[i] = all;
}
