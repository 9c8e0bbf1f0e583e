// The mbarrier waits for more threads than there are.
// LAUNCH k<<<2, 64>>>(float[128])
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void arrive(unsigned long long* b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");  // FAULT: deadlock
}
extern "C" __global__ void k(float* x) {
    __shared__ unsigned long long b;
    unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t == 0) init(&b, 65);
    __syncthreads();
    arrive(&b);
    wait(&b, 0);
    x[i] += 1;
}
