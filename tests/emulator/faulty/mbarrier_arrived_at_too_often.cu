// A thread arrives for three threads when only two arrivals are left.
// LAUNCH k<<<2, 64>>>(float[128])
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
extern "C" __global__ void k(float* x) {
    __shared__ unsigned long long b;
    if (threadIdx.x == 0) {
        init(&b, 2);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(at(&b)) : "memory");  // FAULT: mbarrier
    }
    x[blockIdx.x * 64 + threadIdx.x] = 1;
}
