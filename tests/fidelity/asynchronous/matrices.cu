// ldmatrix and stmatrix with rows at any distance, and instructions for warps that access no
// memory. See probes.cuh. a: bytes from a row of a matrix to the next, b: how often.
#include "probes.cuh"

#define PLACE const uint32_t row = at(tile) + (threadIdx.x & 31) * a + threadIdx.x / 32 * 32 * a;
#define BYTES (static_cast<int>(blockDim.x) * a)

#define STORE_MATRICES(name, matrices, operands)                                                   \
    PROBE(store_##name) {                                                                          \
        PLACE                                                                                      \
        fetch(tile, in, BYTES);                                                                    \
        __syncthreads();                                                                           \
        const uint32_t w = threadIdx.x * 65539, x = w + 1, y = w + 2, z = w + 3;                   \
        _Pragma("unroll 1") for (int i = 0; i < b; ++i)                                            \
            asm volatile("stmatrix.sync.aligned.m8n8." matrices ".shared.b16 [%0], " operands ";"  \
                         ::"r"(row), "r"(w), "r"(x), "r"(y), "r"(z) : "memory");                   \
        __syncthreads();                                                                           \
        tell(out, digest(tile, BYTES));                                                            \
    }
STORE_MATRICES(1, "x1", "{%1}")
STORE_MATRICES(2, "x2", "{%1, %2}")
STORE_MATRICES(4, "x4", "{%1, %2, %3, %4}")
STORE_MATRICES(1_transposed, "x1.trans", "{%1}")
STORE_MATRICES(2_transposed, "x2.trans", "{%1, %2}")
STORE_MATRICES(4_transposed, "x4.trans", "{%1, %2, %3, %4}")

#define LOAD_MATRICES(name, matrices, results)                                                     \
    PROBE(load_##name) {                                                                           \
        PLACE                                                                                      \
        fetch(tile, in, BYTES);                                                                    \
        __syncthreads();                                                                           \
        uint32_t sum = 0, w = 0, x = 0, y = 0, z = 0;                                              \
        _Pragma("unroll 1") for (int i = 0; i < b; ++i) {                                          \
            asm volatile("ldmatrix.sync.aligned.m8n8." matrices ".shared.b16 " results ", [%4];"   \
                         : "+r"(w), "+r"(x), "+r"(y), "+r"(z) : "r"(row) : "memory");              \
            sum = sum * 31 + w + 3 * x + 5 * y + 7 * z;                                            \
        }                                                                                          \
        tell(out, sum);                                                                            \
    }
LOAD_MATRICES(1, "x1", "{%0}")
LOAD_MATRICES(2, "x2", "{%0, %1}")
LOAD_MATRICES(4, "x4", "{%0, %1, %2, %3}")
LOAD_MATRICES(1_transposed, "x1.trans", "{%0}")
LOAD_MATRICES(4_transposed, "x4.trans", "{%0, %1, %2, %3}")

PROBE(elect) {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < b; ++i) {
        uint32_t chosen;
        asm volatile("{ .reg .pred p; .reg .b32 lane;\n"
                     "elect.sync lane|p, -1;\n"
                     "selp.u32 %0, 1, 0, p; }" : "=r"(chosen)::"memory");
        sum += chosen << i;
    }
    tell(out, sum != 0);
}

// One warpgroup gives registers back, and two others take them.
extern "C" __global__ void __launch_bounds__(384, 1) move_registers(ARRAYS, NUMBERS) {
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    tell(out, threadIdx.x);
}

// Without a launch that depends on this one, and without one that this depends on.
PROBE(dependent_launches) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    tell(out, threadIdx.x);
}

PROBE(fence) {
#pragma unroll 1
    for (int i = 0; i < b; ++i) show_to_copies();
    tell(out, threadIdx.x);
}

PROBE(empty_group) {
#pragma unroll 1
    for (int i = 0; i < b; ++i) end_of_copies();
    tell(out, threadIdx.x);
}
