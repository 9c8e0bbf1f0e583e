// No thread sets how many arrivals the mbarrier waits for.
// LAUNCH k<<<2, 64>>>(float[1], float[128])
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
extern "C" __global__ void k(const float* in, float* x) {
    __shared__ unsigned long long b;
    if (in[0] < 0) init(&b, 64);
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&b)) : "memory");  // FAULT: uninitialised
    x[blockIdx.x * 64 + threadIdx.x] = 1;
}
