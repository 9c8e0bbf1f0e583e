// Kernels that check memory around a timed launch, outside its events: they fill it, detect by a
// hash whether any bit has changed, and compare results with their bounds.
//
// A Region is a stretch of memory. Every kernel takes an array of them and works on all at once:
// grid (any, regions), block 256.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

struct Region {
    unsigned char* start;
    unsigned long long bytes;
    unsigned int is_zeroed;  // zero is what it must be filled with, whatever the pattern
    unsigned int unused;
};

// Writes `pattern`, four bytes, repeatedly; or zeros if the region is to be zero. A region starts
// 16-byte aligned; of a last incomplete word its first bytes are written.
extern "C" __global__ void fill_regions(const Region* regions, unsigned int pattern) {
    const Region region = regions[blockIdx.y];
    const unsigned int word = region.is_zeroed ? 0 : pattern;
    const unsigned long long vectors = region.bytes / 16;
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    const unsigned long long first = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    uint4* const words = reinterpret_cast<uint4*>(region.start);
    for (unsigned long long i = first; i < vectors; i += threads) {
        words[i] = make_uint4(word, word, word, word);
    }
    const unsigned int rest = region.bytes % 16;
    if (first < rest) {
        region.start[16 * vectors + first] = static_cast<unsigned char>(word >> (8 * (first % 4)));
    }
}

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the
// finaliser of SplitMix64, which changes half of the bits on average when one changes.
__device__ __forceinline__ unsigned long long mixed(unsigned long long x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Adds to hashes[region] a sum over its words, each mixed with its position: the same for the same
// bits in any order of addition, and different for others except with probability 2^-64. hashes are
// zero before the launch.
extern "C" __global__ void hash_regions(const Region* regions, unsigned long long* hashes) {
    const Region region = regions[blockIdx.y];
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    const unsigned long long first = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    constexpr unsigned long long odd = 0x9e3779b97f4a7c15ull;
    unsigned long long sum = 0;

    const bool is_aligned = reinterpret_cast<unsigned long long>(region.start) % 16 == 0;
    const unsigned long long vectors = is_aligned ? region.bytes / 16 : 0;
    const ulonglong2* const words = reinterpret_cast<const ulonglong2*>(region.start);
    for (unsigned long long i = first; i < vectors; i += threads) {
        const ulonglong2 v = words[i];
        sum += mixed(v.x + (2 * i + 1) * odd) + mixed(v.y + (2 * i + 2) * odd);
    }
    for (unsigned long long i = 16 * vectors + first; i < region.bytes; i += threads) {
        sum += mixed(region.start[i] + (i + 0x8000000000000000ull) * odd);
    }

    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0 && sum) atomicAdd(&hashes[blockIdx.y], sum);
}

// Random floats in [-0.25, 0.75), for data that is only moved: zeros draw less power than data.
extern "C" __global__ void fill_noise(float* values, unsigned long long count) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < count; i += threads) {
        values[i] = static_cast<float>(mixed(i) >> 40) / 16777216.0f - 0.25f;
    }
}

// The outcome of comparing results with their reference. worst: the largest error as a share of its
// bound, as a float's bits, which are ordered like the numbers if none is negative.
struct Judged {
    unsigned int wrong;
    unsigned int worst;
};

// Adds to *judged how many of `count` results are further from the reference than the bound allows,
// and to *judged the worst error. NaN is wrong. is_scalar: bound is one number for all. Zero before
// the launch; grid any, block 256.
template <typename T>
__device__ __forceinline__ void judge(const T* results, const double* reference,
                                      const double* bound, unsigned int is_scalar,
                                      unsigned long long count, Judged* judged) {
    const unsigned long long threads = 1ull * gridDim.x * blockDim.x;
    unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int wrong = 0;
    double worst = 0.0;
    for (; i < count; i += threads) {
        const double error = fabs(static_cast<double>(results[i]) - reference[i]);
        const double allowed = bound[is_scalar ? 0 : i];
        if (!(error <= allowed)) ++wrong;
        if (error > 0.0) worst = fmax(worst, error / allowed);
    }
    if (wrong) atomicAdd(&judged->wrong, wrong);
    if (worst > 0.0) atomicMax(&judged->worst, __float_as_uint(__double2float_ru(worst)));
}

#define JUDGE(name, type)                                                                        \
    extern "C" __global__ void judge_##name(const type* results, const double* reference,        \
                                            const double* bound, unsigned int is_scalar,         \
                                            unsigned long long count, Judged* judged) {          \
        judge(results, reference, bound, is_scalar, count, judged);                              \
    }
JUDGE(float64, double)
JUDGE(float32, float)
JUDGE(int64, long long)
JUDGE(int32, int)
JUDGE(int16, short)
JUDGE(int8, signed char)
JUDGE(uint64, unsigned long long)
JUDGE(uint32, unsigned int)
JUDGE(uint16, unsigned short)
JUDGE(uint8, unsigned char)
JUDGE(bool, unsigned char)

// The small floats become doubles via float.
#define JUDGE_SMALL(name, type)                                                            \
    struct as_##name {                                                                           \
        type value;                                                                              \
        __device__ explicit operator double() const { return static_cast<float>(value); }        \
    };                                                                                           \
    JUDGE(name, as_##name)
JUDGE_SMALL(float16, __half)
JUDGE_SMALL(bfloat16, __nv_bfloat16)
JUDGE_SMALL(float8_e4m3, __nv_fp8_e4m3)
JUDGE_SMALL(float8_e5m2, __nv_fp8_e5m2)
