// The phase completes before its bytes have arrived, since it does not expect them.
// LAUNCH k<<<2, 64>>>(float[128], float[128]=0)
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
    __shared__ alignas(16) float s[64];
    __shared__ unsigned long long b;
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&b, 1);
    __syncthreads();
    if (t == 0) {
        arrive(&b);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, "
                     "[%2];" ::"r"(at(s)), "l"(in + blockIdx.x * 64), "r"(at(&b)) : "memory");
    }
    wait(&b, 0);
    out[i] = s[t];  // FAULT: race
}
