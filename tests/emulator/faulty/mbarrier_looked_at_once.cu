// The phase is tested, but the result is ignored.
// LAUNCH k<<<2, 64>>>(float[128])
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
extern "C" __global__ void k(float* x) {
    __shared__ unsigned long long b;
    __shared__ float s[64];
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&b, 65);
    __syncthreads();
    s[t] = x[i];
    arrive(&b);
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over) : "r"(at(&b)) : "memory");
    x[i] = s[63 - t] + over;  // FAULT: race
}
