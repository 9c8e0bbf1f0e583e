// One copy through a tensor map, and everything around the box: shared memory after a load, and the
// tensor after a store or a reduction. `load_3` is a load through a map of three dimensions.

#include <cuda.h>

#include <cstdint>

constexpr int ROOM = 16384;       // bytes of shared memory that are recorded
constexpr unsigned OLD = 0xA5A5A5A5;  // what they hold before a load

__device__ uint32_t in_shared(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void begin(unsigned char* box, uint64_t* arrived, const unsigned char* given) {
    for (int i = threadIdx.x; i < ROOM / 16; i += blockDim.x)
        reinterpret_cast<uint4*>(box)[i] =
            given ? reinterpret_cast<const uint4*>(given)[i] : make_uint4(OLD, OLD, OLD, OLD);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(in_shared(arrived)));
    asm volatile("fence.proxy.async;");
    __syncthreads();
}

__device__ void expect(uint64_t* arrived, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(arrived)), "r"(bytes));
}

// Waits for the box, but no longer than any copy takes; returns whether all of the expected bytes have arrived.
__device__ bool arrive(uint64_t* arrived) {
    const long long start = clock64();
    uint32_t done = 0;
    while (!done && clock64() - start < 400000)
        asm volatile(
            "{ .reg .pred p;\n"
            "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\n"
            "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(in_shared(arrived)) : "memory");
    __syncthreads();
    return done;
}

__device__ void record(const unsigned char* box, unsigned char* out) {
    for (int i = threadIdx.x; i < ROOM / 16; i += blockDim.x)
        reinterpret_cast<uint4*>(out)[i] = reinterpret_cast<const uint4*>(box)[i];
}

__device__ void end_of_store() {
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#define AT_1 "{%2}"
#define AT_2 "{%2, %3}"
#define AT_3 "{%2, %3, %4}"
#define AT_4 "{%2, %3, %4, %5}"
#define AT_5 "{%2, %3, %4, %5, %6}"
#define GIVEN "r"(in_shared(box)), "l"(&map), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e)

#define LOAD(RANK)                                                                                             \
    extern "C" __global__ void load_##RANK(const __grid_constant__ CUtensorMap map, int a, int b, int c, int d,     \
                                           int e, unsigned char* out, int bytes) {                                    \
        extern __shared__ __align__(1024) unsigned char box[];                                                 \
        __shared__ uint64_t arrived;                                                                           \
        begin(box, &arrived, nullptr);                                                                         \
        if (threadIdx.x == 0) {                                                                                \
            expect(&arrived, bytes);                                                                           \
            asm volatile("cp.async.bulk.tensor." #RANK "d.shared::cluster.global.mbarrier::complete_tx::bytes" \
                         " [%0], [%1, " AT_##RANK "], [%7];" ::GIVEN, "r"(in_shared(&arrived)) : "memory");     \
        }                                                                                                      \
        out[ROOM] = arrive(&arrived);                                                                          \
        record(box, out);                                                                                      \
    }

#define STORE(NAME, RANK, INSTRUCTION)                                                                          \
    extern "C" __global__ void NAME##_##RANK(const __grid_constant__ CUtensorMap map, int a, int b, int c, int d,    \
                                             int e, const unsigned char* given) {                                      \
        extern __shared__ __align__(1024) unsigned char box[];                                                  \
        __shared__ uint64_t arrived;                                                                            \
        begin(box, &arrived, given);                                                                            \
        if (threadIdx.x == 0) {                                                                                 \
            asm volatile(INSTRUCTION ".bulk_group [%1, " AT_##RANK "], [%0];" ::GIVEN : "memory");              \
            end_of_store();                                                                                     \
        }                                                                                                       \
    }

#define COPY "cp.async.bulk.tensor."
#define REDUCE "cp.reduce.async.bulk.tensor."
#define TO ".global.shared::cta."

LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5)
STORE(store, 1, COPY "1d.global.shared::cta")
STORE(store, 2, COPY "2d.global.shared::cta")
STORE(store, 3, COPY "3d.global.shared::cta")
STORE(store, 4, COPY "4d.global.shared::cta")
STORE(store, 5, COPY "5d.global.shared::cta")
STORE(add, 1, REDUCE "1d" TO "add")
STORE(min, 1, REDUCE "1d" TO "min")
STORE(max, 1, REDUCE "1d" TO "max")
STORE(add, 2, REDUCE "2d" TO "add")

// A reduction without a tensor map.
#define BULK(NAME, OPERATION)                                                                                  \
    extern "C" __global__ void NAME(unsigned char* tensor, const unsigned char* given, int bytes) {            \
        extern __shared__ __align__(1024) unsigned char box[];                                                 \
        __shared__ uint64_t arrived;                                                                           \
        begin(box, &arrived, given);                                                                           \
        if (threadIdx.x == 0) {                                                                                \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." OPERATION " [%0], [%1], %2;" ::"l"( \
                             tensor), "r"(in_shared(box)), "r"(bytes) : "memory");                             \
            end_of_store();                                                                                    \
        }                                                                                                      \
    }

BULK(bulk_min_f16, "min.f16")
BULK(bulk_max_f16, "max.f16")
BULK(bulk_min_bf16, "min.bf16")
BULK(bulk_max_bf16, "max.bf16")
BULK(bulk_add_f16, "add.noftz.f16")
BULK(bulk_add_bf16, "add.noftz.bf16")
BULK(bulk_add_f32, "add.f32")
BULK(bulk_add_f64, "add.f64")
