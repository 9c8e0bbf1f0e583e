// Products of a warpgroup, wgmma, with both factors in shared memory or the first in registers. See
// probes.cuh. `in` has numbers of the factors' type, whatever the layout makes of them. a and b:
// the descriptors' leading and stride byte offsets, c: their swizzle (0 none, 1 128 bytes, 2 64
// bytes, 3 32 bytes), d: how many products, e: where the second factor begins, f: bytes of shared
// memory.
#include "probes.cuh"

#define S4(i) "+r"(sums[i]), "+r"(sums[i + 1]), "+r"(sums[i + 2]), "+r"(sums[i + 3])
#define S16(i) S4(i), S4(i + 4), S4(i + 8), S4(i + 12)
#define S64(i) S16(i), S16(i + 16), S16(i + 32), S16(i + 48)
#define SUMS_8 S4(0)
#define SUMS_64 S16(0), S16(16)
#define SUMS_128 S64(0)
#define SUMS_256 S64(0), S64(64)
#define R8_(i, j) "%" #i #j
#define R10(i)                                                                                     \
    R8_(i, 0) ", " R8_(i, 1) ", " R8_(i, 2) ", " R8_(i, 3) ", " R8_(i, 4) ", " R8_(i, 5) ", "      \
    R8_(i, 6) ", " R8_(i, 7) ", " R8_(i, 8) ", " R8_(i, 9)
#define FIRST_10 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9"
#define FIRST_60 FIRST_10 ", " R10(1) ", " R10(2) ", " R10(3) ", " R10(4) ", " R10(5)
#define PLACES_8 "{%0, %1, %2, %3}"
#define PLACES_64 "{" FIRST_10 ", " R10(1) ", " R10(2) ", %30, %31}"
#define PLACES_128 "{" FIRST_60 ", %60, %61, %62, %63}"
#define PLACES_256                                                                                 \
    "{" FIRST_60 ", " R10(6) ", " R10(7) ", " R10(8) ", " R10(9) ", " R10(10) ", " R10(11)         \
    ", %120, %121, %122, %123, %124, %125, %126, %127}"
// What follows the sums: the first factor, the second, and whether to add.
#define FACTORS_8 "%4, %5, 1"
#define FACTORS_64 "%32, %33, 1"
#define FACTORS_128 "%64, %65, 1"
#define FACTORS_256 "%128, %129, 1"
#define REGISTERS_8 "{%4, %5, %6, %7}, %8, 1"
#define REGISTERS_64 "{%32, %33, %34, %35}, %36, 1"
#define REGISTERS_128 "{%64, %65, %66, %67}, %68, 1"
#define REGISTERS_256 "{%128, %129, %130, %131}, %132, 1"
#define SPARSE_8 "%4, %5, %6, 0, 1"
#define SPARSE_64 "%32, %33, %34, 0, 1"
#define SPARSE_256 "%128, %129, %130, 0, 1"
#define SPARSE_REGISTERS_64 "{%32, %33, %34, %35}, %36, %37, 0, 1"

#define PRODUCT(name, N, factors, given)                                                           \
    extern "C" __global__ void __launch_bounds__(128) name(ARRAYS, NUMBERS) {                      \
        fetch(tile, in, f);                                                                        \
        show_to_copies();                                                                          \
        __syncthreads();                                                                           \
        const uint64_t first = describe(tile, a, b, c), second = describe(tile + e, a, b, c);      \
        const uint32_t* const words = reinterpret_cast<const uint32_t*>(in);                       \
        const uint32_t w = words[threadIdx.x], x = words[threadIdx.x + 128],                       \
                       y = words[threadIdx.x + 256], z = words[threadIdx.x + 384];                 \
        const uint32_t metadata = 0x44444444;                                                      \
        uint32_t sums[N / 2] = {};                                                                 \
        int i = 0;                                                                                 \
        do {                                                                                       \
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                \
            asm volatile("wgmma.mma_async." factors ";" : SUMS_##N : given : "memory");            \
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                         \
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                         \
        } while (++i < d);                                                                         \
        uint32_t sum = 0;                                                                          \
        _Pragma("unroll") for (i = 0; i < N / 2; ++i) sum = sum * 31 + sums[i];                \
        tell(out, sum);                                                                            \
    }
#define BOTH_SHARED "l"(first), "l"(second)
#define IN_REGISTERS "r"(w), "r"(x), "r"(y), "r"(z), "l"(second)
#define SHARED_PRODUCT(name, N, shape, types, modes)                                               \
    PRODUCT(name##_##N, N,                                                                         \
            "sync.aligned.m64n" #N shape types " " PLACES_##N ", " FACTORS_##N modes, BOTH_SHARED)
#define REGISTER_PRODUCT(name, N, shape, types, modes)                                             \
    PRODUCT(name##_registers_##N, N,                                                               \
            "sync.aligned.m64n" #N shape types " " PLACES_##N ", " REGISTERS_##N modes,            \
            IN_REGISTERS)
#define SPARSE_PRODUCT(name, N, shape, types, modes)                                               \
    PRODUCT(name##_sparse_##N, N,                                                                  \
            "sp.sync.aligned.m64n" #N shape types " " PLACES_##N ", " SPARSE_##N modes,            \
            BOTH_SHARED COMMA "r"(metadata))
#define COMMA ,

#define BF16 "k16", ".f32.bf16.bf16"
#define TF32 "k8", ".f32.tf32.tf32"
#define FP8 "k32", ".f32.e4m3.e4m3"
#define S8 "k32", ".s32.s8.s8"
#define DEPTHS(...) __VA_ARGS__
#define SHARED(name, N, type, modes) SHARED_PRODUCT_(name, N, DEPTHS(type), modes)
#define SHARED_PRODUCT_(...) SHARED_PRODUCT(__VA_ARGS__)
#define REGISTERS(name, N, type, modes) REGISTER_PRODUCT_(name, N, DEPTHS(type), modes)
#define REGISTER_PRODUCT_(...) REGISTER_PRODUCT(__VA_ARGS__)

SHARED(bf16, 8, BF16, ", 1, 1, 0, 0")
SHARED(bf16, 64, BF16, ", 1, 1, 0, 0")
SHARED(bf16, 128, BF16, ", 1, 1, 0, 0")
SHARED(bf16, 256, BF16, ", 1, 1, 0, 0")
SHARED(bf16_transposed, 64, BF16, ", 1, 1, 1, 1")
SHARED(tf32, 8, TF32, ", 1, 1")
SHARED(tf32, 64, TF32, ", 1, 1")
SHARED(tf32, 256, TF32, ", 1, 1")
SHARED(e4m3, 8, FP8, ", 1, 1")
SHARED(e4m3, 128, FP8, ", 1, 1")
SHARED(s8, 8, S8, "")
SHARED(s8, 64, S8, "")
SHARED(s8, 256, S8, "")
REGISTERS(bf16, 8, BF16, ", 1, 1, 0")
REGISTERS(bf16, 128, BF16, ", 1, 1, 0")
REGISTERS(bf16, 256, BF16, ", 1, 1, 0")
REGISTERS(tf32, 64, TF32, ", 1, 1")
REGISTERS(s8, 64, S8, "")
REGISTERS(e4m3, 64, FP8, ", 1, 1")
SPARSE_PRODUCT(bf16, 8, "k32", ".f32.bf16.bf16", ", 1, 1, 0, 0")
SPARSE_PRODUCT(bf16, 64, "k32", ".f32.bf16.bf16", ", 1, 1, 0, 0")
SPARSE_PRODUCT(bf16, 256, "k32", ".f32.bf16.bf16", ", 1, 1, 0, 0")
SPARSE_PRODUCT(s8, 64, "k64", ".s32.s8.s8", "")
PRODUCT(bf16_sparse_registers_64, 64,
        "sp.sync.aligned.m64n64k32.f32.bf16.bf16 " PLACES_64 ", " SPARSE_REGISTERS_64 ", 1, 1, 0",
        IN_REGISTERS COMMA "r"(metadata))

// A loop around the products of one group. If there may be none of them (d = 0), ptxas ends the
// group with a product of nothing: does it cost anything?
extern "C" __global__ void __launch_bounds__(128) loop_of_s8(ARRAYS, NUMBERS) {
    fetch(tile, in, f);
    show_to_copies();
    __syncthreads();
    const uint64_t first = describe(tile, a, b, c), second = describe(tile + e, a, b, c);
    uint32_t sums[4] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
    for (int i = 0; i < d; ++i)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 " PLACES_8 ", " FACTORS_8 ";"
                     : SUMS_8 : "l"(first), "l"(second) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    tell(out, sums[0] + 3 * sums[1] + 5 * sums[2] + 7 * sums[3]);
}
