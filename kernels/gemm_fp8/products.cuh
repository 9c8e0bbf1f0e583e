// Products of a warpgroup of 8-bit floats, E4M3: `wgmma` as in common/warpgroup.cuh, with factors of
// one byte. A product is 32 bytes deep there and here, so tiles of rows of 128 bytes have the same
// order and descriptors.
#pragma once

#include "common/warpgroup.cuh"

constexpr unsigned int DEPTH = 128;  // of a tile, in elements
constexpr unsigned int PRODUCTS = DEPTH / 32;

#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)
#define REGISTERS_0_TO_31                                                                          \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_32_TO_63                                                                         \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_64_TO_127                                                                        \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "       \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "         \
    "%125, %126, %127"

// sums = a bᵀ + (ADD ? sums : 0), of 64 × 32 and N × 32 elements, N = 64, 128 or 256. A lane holds the
// same sums as with 16-bit factors.
template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[32], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 "
                 "{" REGISTERS_0_TO_31 "}, %32, %33, %34, 1, 1;"
                 : SIXTEEN(0), SIXTEEN(16) : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[64], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 "
                 "{" REGISTERS_0_TO_31 ", " REGISTERS_32_TO_63 "}, %64, %65, %66, 1, 1;"
                 : SIXTY_FOUR(0) : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

template <bool ADD = true>
__device__ __forceinline__ void multiply_bytes(float (&sums)[128], unsigned long long a,
                                               unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 "
                 "{" REGISTERS_0_TO_31 ", " REGISTERS_32_TO_63 ", " REGISTERS_64_TO_127 "}, "
                 "%128, %129, %130, 1, 1;"
                 : SIXTY_FOUR(0), SIXTY_FOUR(64)
                 : "l"(a), "l"(b), "n"(static_cast<int>(ADD)));
}

#undef REGISTERS_64_TO_127
#undef REGISTERS_32_TO_63
#undef REGISTERS_0_TO_31
#undef SIXTY_FOUR
#undef SIXTEEN
#undef FOUR
