// Asynchronous copies whose threads arrive at an mbarrier when they have completed.
// LAUNCH k<<<2, 64>>>(float[128], float[128])
// CHECK (a[1] == was[0].reshape(2, 64)[:, ::-1].reshape(-1)).all()
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float s[64];
    __shared__ unsigned long long b;
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&b, 64);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&s[t])), "l"(in + i) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&b)) : "memory");
    wait(&b, 0);
    out[i] = s[63 - t];
}
