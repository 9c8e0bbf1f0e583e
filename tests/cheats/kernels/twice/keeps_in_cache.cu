// Asks the L2 cache to keep the input, so that it is there after the flush.
// Must gain nothing, and must get a remark.
extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    if (i >= n) return;
    float mine;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"
                 : "=f"(mine)
                 : "l"(x + i), "l"(policy));
    y[i] = 2.0f * mine;
}
