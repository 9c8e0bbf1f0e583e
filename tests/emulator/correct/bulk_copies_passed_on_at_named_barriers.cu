// One warp copies tiles in, the next waits for each and signals the third at a barrier of the two.
// LAUNCH k<<<2, 96>>>(float[256], float[64]=0)
// CHECK (a[1].reshape(2, 32) == was[0].reshape(2, 4, 32)[:, :, ::-1].sum(1)).all()
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void load(void* to, const void* from, unsigned bytes, unsigned long long* b) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                 "[%3];" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ void arrive(unsigned long long* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ alignas(16) float tile[2][32];
    __shared__ unsigned long long filled[2], read[2];
    unsigned t = threadIdx.x;
    if (t < 2) init(&filled[t], 1), init(&read[t], 32);
    __syncthreads();
    in += blockIdx.x * 128;
    float sum = 0;
    for (unsigned n = 0; n < 4; n++) {
        const unsigned stage = n & 1, phase = n >> 1;
        if (t == 0) {
            if (n > 1) wait(&read[stage], phase - 1);
            load(tile[stage], in + 32 * n, 128, &filled[stage]);
        } else if (t / 32 == 1) {
            wait(&filled[stage], phase);
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + stage) : "memory");
        } else if (t / 32 == 2) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + stage) : "memory");
            sum += tile[stage][95 - t];
            arrive(&read[stage]);
        }
    }
    if (t / 32 == 2) out[blockIdx.x * 32 + t - 64] = sum;
}
