// The block meets at an mbarrier, phase after phase, using the phase's parity.
// LAUNCH k<<<2, 96>>>(float[192])
// CHECK (a[0].reshape(2, 96) == np.roll(was[0].reshape(2, 96), -5, 1)).all()
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
extern "C" __global__ void k(float* x) {
    __shared__ unsigned long long b;
    __shared__ float s[96];
    unsigned t = threadIdx.x, i = blockIdx.x * 96 + t;
    if (t == 0) init(&b, 96);
    __syncthreads();
    float v = x[i];
    for (unsigned phase = 0; phase < 10; phase++) {
        if (phase % 2 == 0) s[t] = v;
        if (phase % 2 == 1) v = s[(t + 1) % 96];
        arrive(&b);
        wait(&b, phase & 1);
    }
    x[i] = v;
}
