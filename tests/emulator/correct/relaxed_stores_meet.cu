// Atomic stores may collide, in one step and in any order, as may atomic loads: nothing is torn.
// LAUNCH k<<<3, 64>>>(int[1]=0, int[1]=0, int[192])
// CHECK a[0][0] in range(192) and a[1][0] in range(192) and (a[2] >= 0).all()
#include <cuda/atomic>

template <cuda::thread_scope scope>
__device__ void put(int& word, int value) {
    cuda::atomic_ref<int, scope>(word).store(value, cuda::memory_order_relaxed);
}
extern "C" __global__ void k(int* last, int* last_by_asm, int* out) {
    __shared__ int s[2];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t < 2) s[t] = 0;
    __syncthreads();
    put<cuda::thread_scope_device>(*last, i);
    put<cuda::thread_scope_block>(s[0], t);
    unsigned at = __cvta_generic_to_shared(&s[1]);
    asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(at), "r"(t) : "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(last_by_asm), "r"(i) : "memory");
    int seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(last_by_asm) : "memory");
    int own = cuda::atomic_ref<int, cuda::thread_scope_block>(s[0]).load(cuda::memory_order_relaxed);
    __syncthreads();
    out[i] = seen + own + s[0] + s[1];
}
