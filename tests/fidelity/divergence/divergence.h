// What the kernels here share: each changes one word of every lane of a single warp, on paths that
// follow from masks of lanes. Nothing is computed that anybody needs; what counts is who goes where.

#pragma once

#define ON(mask) ((mask) >> lane & 1)
// one: always 1, which the compiler does not know. A branch over a `number` times it has no bounds.
#define KERNEL(name)                                                                                 \
    extern "C" __global__ void name(const unsigned int* x, unsigned int* y, unsigned int a,          \
                                    unsigned int b, unsigned int c, unsigned int d,                  \
                                    unsigned int trips, unsigned int one)
#define START                                                                                        \
    const unsigned int lane = threadIdx.x;                                                           \
    const unsigned int number = (ON(a) + 2 * ON(b) + 4 * ON(c)) * one;                               \
    unsigned int k = x[lane] + number;
#define END y[lane] = k;

// A loop, so that what a branch guards is never made a predicate. Every lane makes the same trips.
__device__ __forceinline__ unsigned int repeat(unsigned int k, unsigned int trips,
                                               unsigned int factor, unsigned int term) {
#pragma unroll 1
    for (unsigned int i = 0; i < trips; ++i) k = k * factor + term;
    return k;
}
