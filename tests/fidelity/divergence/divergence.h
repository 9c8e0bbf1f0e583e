// Shared by these kernels: each changes one word of every lane of a single warp, on paths that
// follow from masks of lanes. The results do not matter; only the lanes' paths do.

#pragma once

#define ON(mask) ((mask) >> lane & 1)
// one: always 1, but the compiler cannot know it. `number` times it has no known range.
#define KERNEL(name)                                                                                 \
    extern "C" __global__ void name(const unsigned int* x, unsigned int* y, unsigned int a,          \
                                    unsigned int b, unsigned int c, unsigned int d,                  \
                                    unsigned int trips, unsigned int one)
#define START                                                                                        \
    const unsigned int lane = threadIdx.x;                                                           \
    const unsigned int number = (ON(a) + 2 * ON(b) + 4 * ON(c)) * one;                               \
    unsigned int k = x[lane] + number;
#define END y[lane] = k;

// A loop, so a branch around it is never made a predicate. All lanes run as many iterations.
__device__ __forceinline__ unsigned int repeat(unsigned int k, unsigned int trips,
                                               unsigned int factor, unsigned int term) {
#pragma unroll 1
    for (unsigned int i = 0; i < trips; ++i) k = k * factor + term;
    return k;
}
