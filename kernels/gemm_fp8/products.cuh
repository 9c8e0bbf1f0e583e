// Products of a warpgroup of 8-bit floats, E4M3: `wgmma` as in common/warpgroup.cuh, with factors of
// one byte. A product is 32 bytes deep there and here, so tiles of rows of 128 bytes have the same
// order and descriptors.
#pragma once

#include "common/product_registers.cuh"
#include "common/warpgroup.cuh"

constexpr unsigned int DEPTH = 128;  // of a tile, in elements
constexpr unsigned int PRODUCTS = DEPTH / 32;

// sums = a bᵀ + (ADD ? sums : 0), of 64 × 32 and N × 32 elements, N = 64, 128 or 256. A lane holds the
// same sums as with 16-bit factors.
template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[32], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 "
                 "{" NAMED_0_TO_31 "}, %32, %33, %34, 1, 1;"
                 : SUMS_0_TO_31 : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[64], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 "
                 "{" NAMED_0_TO_63 "}, %64, %65, %66, 1, 1;"
                 : SUMS_0_TO_63 : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[128], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 "
                 "{" NAMED_0_TO_127 "}, "
                 "%128, %129, %130, 1, 1;"
                 : SUMS_0_TO_127 : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

