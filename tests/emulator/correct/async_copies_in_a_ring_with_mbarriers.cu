// Each thread's copies signal an mbarrier; a second one signals that a stage may be refilled.
// LAUNCH k<<<2, 64>>>(float[1024], float[128]=0)
// CHECK (a[1].reshape(2, 64) == was[0].reshape(2, 8, 64)[:, :, ::-1].sum(1)).all()
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");
}
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ float tile[2][64];
    __shared__ unsigned long long full[2], empty[2];
    unsigned t = threadIdx.x;
    if (t == 0)
        for (int n = 0; n < 2; n++) init(&full[n], 64), init(&empty[n], 64);
    __syncthreads();
    in += blockIdx.x * 512;
    float sum = 0;
    for (unsigned n = 0; n < 9; n++) {
        if (n < 8) {
            if (n >= 2) wait(&empty[n & 1], (n / 2 - 1) & 1);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(&tile[n & 1][t])),
                         "l"(in + n * 64 + t) : "memory");
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&full[n & 1]))
                         : "memory");
        }
        if (n == 0) continue;
        const unsigned last = n - 1;
        wait(&full[last & 1], last / 2 & 1);
        sum += tile[last & 1][63 - t];
        arrive(&empty[last & 1]);
    }
    out[blockIdx.x * 64 + t] = sum;
}
