// The next tile is copied into a ring slot while others still read the previous one.
// LAUNCH k<<<2, 96>>>(float[1024], float[128]=0)
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");  // FAULT: deadlock
}
__device__ void load(void* to, const void* from, unsigned bytes, unsigned long long* b) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                 "[%3];" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");  // FAULT: race
}
extern "C" __global__ void k(const float* in, float* out) {
    __shared__ alignas(128) float tile[2][64];
    __shared__ unsigned long long full[2];
    unsigned t = threadIdx.x;
    if (t == 0)
        for (int n = 0; n < 2; n++) init(&full[n], 1);
    __syncthreads();
    in += blockIdx.x * 512;
    if (t >= 64) {
        if (t == 64)
            for (unsigned n = 0; n < 8; n++) {
                if (n >= 2) wait(&full[n & 1], (n / 2 - 1) & 1);
                load(tile[n & 1], in + n * 64, 256, &full[n & 1]);
            }
        return;
    }
    float sum = 0;
    for (unsigned n = 0; n < 8; n++) {
        wait(&full[n & 1], n / 2 & 1);
        sum += tile[n & 1][t];  // FAULT: race
    }
    out[blockIdx.x * 64 + t] = sum;
}
