// output[0] = sum of a[i] * b[i], i < n, float16 or bfloat16, summed in the same type
//
// Idea: the hardware has an atomic for two halves in an aligned word, but not for one; from compute
// capability 9.0 it has one for two numbers of bfloat16. So v1b's atomic is done on the target's
// whole word: the sum is added to the target's half, and −0.0 to the other, which changes no number
// (+0.0 would turn a −0.0 there into +0.0). This is one atomic in the L2 cache instead of a
// compare-and-swap loop, to which bfloat16 still falls back on older cards.
//
// The word has to belong to the array: if the target is its first or last number and the other half
// of the word is not part of it, the trick would touch other memory. Here the sum is computed in
// `pair`, a whole word, and `take` copies it to the output.
//
// Contract: any n of at least 1, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. a and b are 4-byte aligned, as every device allocation is, and so is
// pair. zero and take are one thread each, launched before and after.
//
// From: fastAtomicAdd() of PyTorch (aten/src/ATen/native/cuda/KernelUtils.cuh).
//
// Measured: H200, n = 2²⁸: float16 2.05× v1b, bfloat16 2.01× v1b.
#include "dot/block_total.cuh"
#include "dot/pair.cuh"
#include "elementwise_add/index.cuh"
#include "index_add/atomic_add.cuh"

#include <cstdint>

// *target += value; the aligned word that holds *target must belong to the same array.
__device__ __forceinline__ void fast_atomic_add(DTYPE* target, DTYPE value) {
    const bool high = reinterpret_cast<std::uintptr_t>(target) % 4 == 2;
    const DTYPE nothing(-0.0f);
    const Pair both = high ? Pair(nothing, value) : Pair(value, nothing);
    add_atomically(reinterpret_cast<Pair*>(target - high), both);
}

extern "C" __global__ void zero(DTYPE* pair) {
    pair[0] = pair[1] = DTYPE(0.0f);
}

extern "C" __global__ void dot(const DTYPE* a, const DTYPE* b, DTYPE* pair, Index n) {
    const Pair* a2 = reinterpret_cast<const Pair*>(a);
    const Pair* b2 = reinterpret_cast<const Pair*>(b);
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;

    Pair sums = zeros(DTYPE());
    for (Index i = thread; i < n / 2; i += threads) sums = multiplied_added(a2[i], b2[i], sums);
    DTYPE sum = both(sums);
    // If n is odd, one number is left over.
    if (thread == 0 && n % 2 == 1) sum += a[n - 1] * b[n - 1];

    sum = block_total(sum);
    if (threadIdx.x == 0) fast_atomic_add(pair, sum);
}

extern "C" __global__ void take(const DTYPE* pair, DTYPE* output) {
    *output = pair[0];
}
