// An atomic addition without a result, for every element type and for pairs of 16 bits.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ __forceinline__ void add_atomically(T* to, T value) {
    atomicAdd(to, value);
}

// Before compute capability 9.0 no card adds bfloat16 to memory. There atomicAdd() is a loop of
// compare-and-swap whose first, ordinary read races with the additions of other threads. Here a
// compare-and-swap that changes nothing reads.
#if __CUDA_ARCH__ < 900
template <typename Bits, typename T>
__device__ __forceinline__ void add_by_swapping(T* to, T value) {
    Bits* bits = reinterpret_cast<Bits*>(to);
    Bits found = atomicCAS(bits, Bits(0), Bits(0)), assumed;
    do {
        assumed = found;
        const T sum = reinterpret_cast<const T&>(assumed) + value;
        found = atomicCAS(bits, assumed, reinterpret_cast<const Bits&>(sum));
    } while (found != assumed);
}

__device__ __forceinline__ void add_atomically(__nv_bfloat16* to, __nv_bfloat16 value) {
    add_by_swapping<unsigned short>(to, value);
}

__device__ __forceinline__ void add_atomically(__nv_bfloat162* to, __nv_bfloat162 value) {
    add_by_swapping<unsigned int>(to, value);
}
#endif
