// Tiles that are stored with their depth along a row, or along a column: how they are loaded, how the
// tensor cores find their elements, and the product.
//
// The tensor memory accelerator loads boxes of 64 × 64 elements, rows of 128 bytes. A factor's 64
// rows along its depth make one such box either way:
//
//   - deep: a box has 64 of its rows, and each has 64 elements along the depth;
//   - turned: a box has 64 of its columns, and the depth runs down: the tensor cores transpose the
//     elements while they read them, which they can do for 16 bits alone.
#pragma once

#include "common/product_registers.cuh"
#include "common/warpgroup.cuh"
#include "gemm_bf16/ring.cuh"

constexpr unsigned int BOX = 64, BOX_BYTES = BOX * 128;

// Requests COUNT boxes of a factor: its rows from `first` on, each from `depth` on and K deep.
template <bool TURNED, unsigned int COUNT, typename Load>
__device__ __forceinline__ void request_boxes(unsigned char* to, unsigned int first,
                                              unsigned int depth, const Load& load) {
#pragma unroll
    for (unsigned int i = 0; i < COUNT; i++) {
        const unsigned int at = first + i * BOX;
        if (TURNED) {
            load(to + i * BOX_BYTES, depth, at);
        } else {
            load(to + i * BOX_BYTES, at, depth);
        }
    }
}

// The descriptor of a factor's boxes, and what to add to it for the next sixteen elements of its
// depth. Turned, the next box is BOX_BYTES further on; deep, its rows follow those of the one before.
template <bool TURNED>
__device__ __forceinline__ unsigned long long describe_boxes(const unsigned char* boxes) {
    constexpr unsigned long long LEADING = 0x3fffull << 16;
    const unsigned long long deep = describe(boxes);
    return TURNED ? (deep & ~LEADING) | static_cast<unsigned long long>(BOX_BYTES >> 4) << 16 : deep;
}

template <bool TURNED>
constexpr unsigned long long NEXT_SIXTEEN = TURNED ? 16 * 128 >> 4 : NEXT_32_BYTES;

// sums += a b, of 64 × 16 and 16 × 256 elements.
template <bool A_TURNED, bool B_TURNED>
__device__ __forceinline__ void multiply_boxes(float (&sums)[128], unsigned long long a,
                                               unsigned long long b) {
#define PRODUCT(type)                                                                              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " "                  \
                 "{" NAMED_0_TO_127 "}, %128, %129, 1, 1, 1, %130, %131;"                          \
                 : SUMS_0_TO_127                                                                   \
                 : "l"(a), "l"(b), "n"(static_cast<int>(A_TURNED)), "n"(static_cast<int>(B_TURNED)))
    if constexpr (std::is_same_v<DTYPE, __nv_bfloat16>) {
        PRODUCT("bf16");
    } else {
        PRODUCT("f16");
    }
#undef PRODUCT
}
