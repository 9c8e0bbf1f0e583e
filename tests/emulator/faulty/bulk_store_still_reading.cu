// The tile is overwritten before its copy to global memory has read it.
// LAUNCH k<<<2, 64>>>(float[256])
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
extern "C" __global__ void k(float* x) {
    __shared__ alignas(16) float s[64];
    unsigned t = threadIdx.x;
    for (int n = 0; n < 2; n++) {
        s[t] = n * t;  // FAULT: race
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256; "
                         "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;"
                         ::"l"(x + (2 * blockIdx.x + n) * 64), "r"(at(s)) : "memory");
        __syncthreads();
    }
}
