// Products with a sparse first factor, by single warps and by warpgroups. Each block computes one product from the
// registers of its lanes: lane l of block b has the words that start at `(b * threads + l) *
// words`. A kernel's name ends with the sparsity selector: whose metadata are used.

#include <cstdint>

__device__ const uint32_t* mine(const uint32_t* all, int words) {
    return all + (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * words;
}
__device__ uint32_t* mine(uint32_t* all, int words) { return const_cast<uint32_t*>(mine(const_cast<const uint32_t*>(all), words)); }

#define WORDS_2(P) "r"(P[0]), "r"(P[1])
#define WORDS_4(P) "r"(P[0]), "r"(P[1]), "r"(P[2]), "r"(P[3])

// Sums in four registers: %0 to %3. FACTORS: the registers of each factor.
#define PLACES_2 "{%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, "
#define PLACES_4 "{%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, "
#define PRODUCT(NAME, FACTORS, SELECTOR, INSTRUCTION)                                                           \
    extern "C" __global__ void NAME##_##SELECTOR(const uint32_t* a_words, const uint32_t* b_words,               \
                                                 const uint32_t* metadata, uint32_t* sums) {                     \
        const uint32_t *a = mine(a_words, FACTORS), *b = mine(b_words, FACTORS), m = *mine(metadata, 1);        \
        uint32_t* s = mine(sums, 4);                                                                             \
        asm volatile("mma.sp" INSTRUCTION " {%0, %1, %2, %3}, " PLACES_##FACTORS #SELECTOR ";"                   \
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])                                            \
                     : WORDS_##FACTORS(a), WORDS_##FACTORS(b), "r"(m));                                          \
    }

// Sums of half precision, in two registers.
#define HALF_PLACES_2 "{%2, %3}, {%4, %5}, {%0, %1}, %6, "
#define HALF_PLACES_4 "{%2, %3, %4, %5}, {%6, %7, %8, %9}, {%0, %1}, %10, "
#define HALF_PRODUCT(NAME, FACTORS, SELECTOR, INSTRUCTION)                                                      \
    extern "C" __global__ void NAME##_##SELECTOR(const uint32_t* a_words, const uint32_t* b_words,               \
                                                 const uint32_t* metadata, uint32_t* sums) {                     \
        const uint32_t *a = mine(a_words, FACTORS), *b = mine(b_words, FACTORS), m = *mine(metadata, 1);        \
        uint32_t* s = mine(sums, 4);                                                                             \
        asm volatile("mma.sp" INSTRUCTION " {%0, %1}, " HALF_PLACES_##FACTORS #SELECTOR ";"                      \
                     : "+r"(s[0]), "+r"(s[1])                                                                    \
                     : WORDS_##FACTORS(a), WORDS_##FACTORS(b), "r"(m));                                          \
    }

#define ORDERED "::ordered_metadata.sync.aligned."
#define ANY_ORDER ".sync.aligned."
#define TYPES(D, A, B) ".row.col." D "." A "." B "." D

#define PAIR(NAME, FACTORS, INSTRUCTION) \
    PRODUCT(NAME, FACTORS, 0, INSTRUCTION) PRODUCT(NAME, FACTORS, 1, INSTRUCTION)
#define FOUR(NAME, FACTORS, INSTRUCTION) \
    PAIR(NAME, FACTORS, INSTRUCTION) PRODUCT(NAME, FACTORS, 2, INSTRUCTION) PRODUCT(NAME, FACTORS, 3, INSTRUCTION)

FOUR(f16_16, 2, ORDERED "m16n8k16" TYPES("f32", "f16", "f16"))
PAIR(f16_32, 4, ORDERED "m16n8k32" TYPES("f32", "f16", "f16"))
HALF_PRODUCT(half_16, 2, 1, ORDERED "m16n8k16" TYPES("f16", "f16", "f16"))
HALF_PRODUCT(half_32, 4, 1, ORDERED "m16n8k32" TYPES("f16", "f16", "f16"))
FOUR(bf16_16, 2, ORDERED "m16n8k16" TYPES("f32", "bf16", "bf16"))
PAIR(bf16_32, 4, ORDERED "m16n8k32" TYPES("f32", "bf16", "bf16"))
FOUR(tf32_8, 2, ORDERED "m16n8k8" TYPES("f32", "tf32", "tf32"))
PAIR(tf32_16, 4, ORDERED "m16n8k16" TYPES("f32", "tf32", "tf32"))
PAIR(s8_32, 2, ORDERED "m16n8k32" TYPES("s32", "s8", "s8"))
PRODUCT(s8_64, 4, 0, ORDERED "m16n8k64" TYPES("s32", "s8", "s8"))
PAIR(u8s8_32, 2, ORDERED "m16n8k32" TYPES("s32", "u8", "s8"))
PRODUCT(s8u8_64, 4, 0, ORDERED "m16n8k64" TYPES("s32", "s8", "u8"))
PRODUCT(u8_64_clamped, 4, 0, ORDERED "m16n8k64.row.col.satfinite.s32.u8.u8.s32")
PAIR(s4_64, 2, ORDERED "m16n8k64" TYPES("s32", "s4", "s4"))
PRODUCT(u4_128, 4, 0, ORDERED "m16n8k128" TYPES("s32", "u4", "u4"))
PRODUCT(e4m3_64, 4, 0, ORDERED "m16n8k64" TYPES("f32", "e4m3", "e5m2"))
PAIR(f16_32_any_order, 4, ANY_ORDER "m16n8k32" TYPES("f32", "f16", "f16"))
PRODUCT(s8_64_any_order, 4, 0, ANY_ORDER "m16n8k64" TYPES("s32", "s8", "s8"))

// A warpgroup's product of 64 x 8: its first factor is in registers, its second in 512 bytes of shared memory.
#define GROUP(NAME, SELECTOR, INSTRUCTION, MODES)                                                               \
    extern "C" __global__ void NAME##_##SELECTOR(const uint32_t* a_words, const uint32_t* b_words,               \
                                                 const uint32_t* metadata, uint32_t* sums) {                     \
        __shared__ __align__(128) uint32_t factor[128];                                                          \
        const uint32_t *a = mine(a_words, 4), m = *mine(metadata, 1);                                            \
        uint32_t* s = mine(sums, 4);                                                                             \
        factor[threadIdx.x] = *mine(b_words, 1);                                                                 \
        asm volatile("fence.proxy.async;");                                                                      \
        __syncthreads();                                                                                         \
        const uint64_t start = static_cast<uint32_t>(__cvta_generic_to_shared(factor)) >> 4 & 0x3FFF;            \
        const uint64_t descriptor = start | uint64_t(128 >> 4) << 16 | uint64_t(256 >> 4) << 32;                 \
        asm volatile("{ .reg .pred p;\nsetp.ne.u32 p, 1, 0;\nwgmma.fence.sync.aligned;\n"                        \
                     "wgmma.mma_async.sp.sync.aligned." INSTRUCTION                                              \
                     " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, %9, " #SELECTOR ", p" MODES ";\n"                 \
                     "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0; }"                      \
                     : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])                                            \
                     : WORDS_4(a), "l"(descriptor), "r"(m) : "memory");                                          \
    }
GROUP(group_f16, 0, "m64n8k32.f32.f16.f16", ", 1, 1, 0")
GROUP(group_f16, 1, "m64n8k32.f32.f16.f16", ", 1, 1, 0")
GROUP(group_bf16, 1, "m64n8k32.f32.bf16.bf16", ", 1, 1, 0")
GROUP(group_tf32, 0, "m64n8k16.f32.tf32.tf32", ", 1, 1")
GROUP(group_tf32, 1, "m64n8k16.f32.tf32.tf32", ", 1, 1")
GROUP(group_s8, 0, "m64n8k64.s32.s8.s8", "")
GROUP(group_e4m3, 0, "m64n8k64.f32.e4m3.e5m2", ", 1, 1")
