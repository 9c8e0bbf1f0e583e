// A tile is processed in shared memory and copied back in one bulk copy.
// LAUNCH k<<<2, 64>>>(float[128])
// CHECK (a[0] == 2 * was[0]).all()
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
                 "@!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ void load(void* to, const void* from, unsigned bytes, unsigned long long* b) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
                 "[%3];" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
extern "C" __global__ void k(float* x) {
    __shared__ alignas(16) float s[64];
    __shared__ unsigned long long b;
    unsigned t = threadIdx.x;
    x += blockIdx.x * 64;
    if (t == 0) init(&b, 1), load(s, x, 256, &b);
    __syncthreads();
    wait(&b, 0);
    s[t] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t) return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(x), "r"(at(s))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
}
