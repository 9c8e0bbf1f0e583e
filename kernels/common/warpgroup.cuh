// Products of a warpgroup: `wgmma`, with which 128 threads multiply tiles in shared memory. It
// exists only for compute capability 9.0, in code for the target sm_90a.
//
// The instruction only starts a product. The tensor cores continue by themselves, and read shared
// memory through their own path (the asynchronous proxy). Therefore this order is required:
//
//   - show_to_tensor_cores() makes writes by ordinary stores or cp.async visible to that path, then
//     a barrier;
//   - begin_products() before the first product, and before one whose sums were accessed since;
//   - end_products() after the last one closes a group;
//   - wait_for_products() before the sums are read or the tiles overwritten.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

// A tile of rows of 128 bytes, 64 elements along k, is stored with its units of 16 bytes in a
// different order in each row: unit u of row r is at position u ^ (r % 8). Eight rows of one unit,
// which the tensor cores read together, then lie in all 32 banks, as does a row. This returns the
// offset of a unit in bytes.
__device__ __forceinline__ unsigned int swizzled(unsigned int row, unsigned int unit) {
    return row * 128 + (unit ^ row % 8) * 16;
}

// The descriptor of such a tile: its address, in units of 16 bytes; the stride between groups of
// eight rows, 1,024 bytes, at bit 32; at bit 62 a 1, which selects the order above. The tile begins
// at a multiple of 1,024 bytes. (PTX ISA, "Matrix Descriptor Format".)
__device__ __forceinline__ unsigned long long describe(const void* tile) {
    const unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3ffff) >> 4 | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// How much to add to a descriptor for the next product's 32 bytes along k, within rows of 128
// bytes.
constexpr unsigned long long NEXT_32_BYTES = 32 >> 4;

__device__ __forceinline__ void show_to_tensor_cores() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void end_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until all but the newest `groups` are complete.
template <int groups>
__device__ __forceinline__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(groups) : "memory");
}

#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define SIXTY_FOUR(i) SIXTEEN(i), SIXTEEN(i + 16), SIXTEEN(i + 32), SIXTEEN(i + 48)
#define REGISTERS_0_TO_63                                                                          \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_64_TO_127                                                                        \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "       \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "         \
    "%125, %126, %127"
#define PRODUCT_OF_128(type)                                                                       \
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " "                  \
                 "{" REGISTERS_0_TO_63 "}, %64, %65, 1, 1, 1, 0, 0;"                               \
                 : SIXTY_FOUR(0) : "l"(a), "l"(b))
#define REGISTERS_0_TO_31                                                                          \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PRODUCT_OF_64(type)                                                                        \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " "                   \
                 "{" REGISTERS_0_TO_31 "}, %32, %33, 1, 1, 1, 0, 0;"                               \
                 : SIXTEEN(0), SIXTEEN(16) : "l"(a), "l"(b))
#define PRODUCT_OF_256(type)                                                                       \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " "                  \
                 "{" REGISTERS_0_TO_63 ", " REGISTERS_64_TO_127 "}, %128, %129, 1, 1, 1, 0, 0;"    \
                 : SIXTY_FOUR(0), SIXTY_FOUR(64) : "l"(a), "l"(b))

// sums += a bᵀ, of 64 × 16 and N × 16 elements, N = 64, 128 or 256. Lane 4 g + t of the warpgroup's
// warp w holds [16 w + g][8 j + 2 t] in sums[4 j], its right neighbour in sums[4 j + 1], and those of
// row 16 w + g + 8 in sums[4 j + 2] and sums[4 j + 3].
template <typename T>
__device__ __forceinline__ void multiply(float (&sums)[32], unsigned long long a,
                                         unsigned long long b) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        PRODUCT_OF_64("bf16");
    } else {
        PRODUCT_OF_64("f16");
    }
}

template <typename T>
__device__ __forceinline__ void multiply(float (&sums)[64], unsigned long long a,
                                         unsigned long long b) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        PRODUCT_OF_128("bf16");
    } else {
        PRODUCT_OF_128("f16");
    }
}

template <typename T>
__device__ __forceinline__ void multiply(float (&sums)[128], unsigned long long a,
                                         unsigned long long b) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        PRODUCT_OF_256("bf16");
    } else {
        PRODUCT_OF_256("f16");
    }
}

// The same for floats, of which the instruction uses the upper 19 bits: 64 × 8 elements from
// registers and 256 × 8 from shared memory. Lane 4 g + t of warp w gives [16 w + g][t], [16 w + g +
// 8][t], [16 w + g][t + 4] and [16 w + g + 8][t + 4].
__device__ __forceinline__ void multiply_tf32(float (&sums)[128], const float (&a)[4],
                                              unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
                 "{" REGISTERS_0_TO_63 ", " REGISTERS_64_TO_127 "}, "
                 "{%128, %129, %130, %131}, %132, 1, 1, 1;"
                 : SIXTY_FOUR(0), SIXTY_FOUR(64)
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(b));
}

// sums += a b, of 64 × 16 halves from registers and 16 × 64 from shared memory, summed over the
// rows of b. a has pairs of neighbours where the sums of 64 × 16 would be.
__device__ __forceinline__ void multiply_rows(float (&sums)[32], const unsigned int (&a)[4],
                                              unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{" REGISTERS_0_TO_31 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : SIXTEEN(0), SIXTEEN(16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef PRODUCT_OF_256
#undef PRODUCT_OF_128
#undef REGISTERS_64_TO_127
#undef REGISTERS_0_TO_63
#undef PRODUCT_OF_64
#undef REGISTERS_0_TO_31
#undef SIXTY_FOUR
#undef SIXTEEN
#undef FOUR

// Moves registers between the warpgroups of a block: those that multiply take the ones that the
// copying one releases. Called by all warps of a warpgroup; a multiple of 8.
template <int registers>
__device__ __forceinline__ void give_registers_back() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(registers));
}

template <int registers>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(registers));
}
