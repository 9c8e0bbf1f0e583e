// output[0] = sum of a[i] * b[i], i < n, float16, summed in halves
//
// Idea: the hardware has an atomic for two halves in an aligned word, but not for one. So v1b's
// atomic is done on the target's whole word: the sum is added to the target's half, and −0.0 to the
// other, which changes no number (+0.0 would turn a −0.0 there into +0.0). This is one atomic in
// the L2 cache instead of a compare-and-swap loop.
//
// The word has to belong to the array: if the target is its first or last half and the other half
// of the word is not part of it, the trick would touch other memory. Here the sum is computed in
// `pair`, a whole word, and `take` copies it to the output.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. a and b are 4-byte aligned, as every device allocation is, and so is
// pair. zero and take are one thread each, launched before and after.
//
// From: fastAtomicAdd() of PyTorch (aten/src/ATen/native/cuda/KernelUtils.cuh).
//
// Measured: H200, n = 2²⁸: float16 2.04× v1b.
#include "dot/block_total.cuh"

#include <cstdint>

// *target += value; the aligned word that holds *target must belong to the same array.
__device__ __forceinline__ void fast_atomic_add(__half* target, __half value) {
    const bool high = reinterpret_cast<std::uintptr_t>(target) % 4 == 2;
    const __half nothing = __ushort_as_half(0x8000);  // −0.0
    const __half2 both = high ? __half2(nothing, value) : __half2(value, nothing);
    atomicAdd(reinterpret_cast<__half2*>(target - high), both);
}

extern "C" __global__ void zero(__half* pair) {
    pair[0] = pair[1] = __half(0.0f);
}

extern "C" __global__ void dot(const __half* a, const __half* b, __half* pair, unsigned int n) {
    const __half2* a2 = reinterpret_cast<const __half2*>(a);
    const __half2* b2 = reinterpret_cast<const __half2*>(b);
    const unsigned int threads = gridDim.x * blockDim.x;
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;

    __half2 sums = __float2half2_rn(0.0f);
    for (unsigned int i = thread; i < n / 2; i += threads) sums = __hfma2(a2[i], b2[i], sums);
    __half sum = __low2half(sums) + __high2half(sums);
    // If n is odd, one half is left over.
    if (thread == 0 && n % 2 == 1) sum += a[n - 1] * b[n - 1];

    sum = block_total(sum);
    if (threadIdx.x == 0) fast_atomic_add(pair, sum);
}

extern "C" __global__ void take(const __half* pair, __half* output) {
    *output = pair[0];
}
