// Products of floats on tensor cores that preserve nearly all bits of a float. The tensor cores use
// the upper 19 bits of a float, which is TF32. The value of the other bits is itself a float, so a
// b = (A + α)(B + β) = A B + A β + α B + α β, where α β is negligible: three products. The lower
// bits need not be cleared to get A. The omitted part of a product, α β and the lower bits of α and
// β, is at most 2^-20 of it. Compute capability 8.0.
//
// From: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
// the FP32 theoretical peak performance" (2022).
#pragma once

// The bits that the tensor cores ignore.
__device__ __forceinline__ float low_bits(float x) {
    return x - __uint_as_float(__float_as_uint(x) & 0xffffe000);
}

// Words of a factor, and the part of each that the tensor cores ignore.
template <unsigned int COUNT>
struct Split {
    float high[COUNT], low[COUNT];

    template <typename... Words>
    __device__ __forceinline__ Split(Words... words) : high{words...} {
        static_assert(sizeof...(words) == COUNT);
#pragma unroll
        for (unsigned int i = 0; i < COUNT; i++) low[i] = low_bits(high[i]);
    }
};

// sums += a b for 16 × 8 and 8 × 8 numbers. Lane 4 g + t holds the sums [g][2t], [g][2t + 1], [g +
// 8][2t] and [g + 8][2t + 1]; of a [g][t], [g + 8][t], [g][t + 4] and [g + 8][t + 4]; of b [t][g]
// and [t + 4][g].
__device__ __forceinline__ void multiply_tf32(float (&sums)[4], const float (&a)[4], float b0,
                                              float b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// The same with nearly all bits, for b's words i and i + 1; the small products first.
template <unsigned int COUNT>
__device__ __forceinline__ void multiply_three_tf32(float (&sums)[4], const Split<4>& a,
                                                    const Split<COUNT>& b, unsigned int i = 0) {
    multiply_tf32(sums, a.low, b.high[i], b.high[i + 1]);
    multiply_tf32(sums, a.high, b.low[i], b.low[i + 1]);
    multiply_tf32(sums, a.high, b.high[i], b.high[i + 1]);
}
