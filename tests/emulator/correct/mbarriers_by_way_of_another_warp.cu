// Thread 0 overwrites its warp's inputs: a second warp has awaited the reads, and signals it.
// LAUNCH k<<<2, 64>>>(float[256], float[64]=0)
// CHECK (a[1].reshape(2, 32) == was[0].reshape(2, 4, 32)[:, :, ::-1].sum(1)).all()
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
    __shared__ float tile[32];
    __shared__ unsigned long long filled, read, done;
    unsigned t = threadIdx.x;
    if (t == 0) init(&filled, 1), init(&read, 32), init(&done, 1);
    __syncthreads();
    in += blockIdx.x * 128;
    float sum = 0;
    for (unsigned n = 0; n < 4; n++) {
        if (t >= 32) {
            wait(&read, n & 1);
            if (t == 32) arrive(&done);
            continue;
        }
        if (t == 0) {
            if (n > 0) wait(&done, n - 1 & 1);
            for (unsigned i = 0; i < 32; i++) tile[i] = in[32 * n + i];
            arrive(&filled);
        }
        wait(&filled, n & 1);
        sum += tile[31 - t];
        arrive(&read);
    }
    if (t < 32) out[blockIdx.x * 32 + t] = sum;
}
