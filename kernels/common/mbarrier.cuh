// Barriers in shared memory that also wait for bytes: `mbarrier`, compute capability 9.0.
//
// A barrier goes through phases. A phase ends when the barrier has received its number of arrivals,
// and all bytes that were announced for it. A waiting thread names the phase by its parity: 0 for
// the first, 1 for the second, 0 for the third.
#pragma once

#include <cstdint>

class Barrier {
    std::uint64_t state;

    __device__ __forceinline__ unsigned int address() const {
        return static_cast<unsigned int>(__cvta_generic_to_shared(&state));
    }

public:
    // Called by one thread, before any other uses it; a barrier of the block must follow.
    __device__ __forceinline__ void init(unsigned int arrivals) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                     :: "r"(address()), "r"(arrivals) : "memory");
    }

    __device__ __forceinline__ void arrive() {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address()) : "memory");
    }

    // Arrives at the barrier at the same address in the shared memory of another block, or of this
    // one, given its number in the cluster. This does not publish the thread's writes: that would
    // take `.release.cluster`, which each time waits for all writes to global memory and empties
    // the L1 cache.
    __device__ __forceinline__ void arrive_at(unsigned int rank) {
        asm volatile(
            "{\n"
            ".reg .b32 there;\n"
            "mapa.shared::cluster.u32 there, %0, %1;\n"
            "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
            "}"
            :: "r"(address()), "r"(rank) : "memory");
    }

    // Arrives, and announces bytes that copies will bring.
    __device__ __forceinline__ void arrive_and_expect(unsigned int bytes) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(address()), "r"(bytes) : "memory");
    }

    // Waits until the phase of this parity has ended.
    __device__ __forceinline__ void wait(unsigned int parity) const {
        asm volatile(
            "{\n"
            ".reg .pred ended;\n"
            "again:\n"
            "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
            "@ended bra done;\n"
            "bra again;\n"
            "done:\n"
            "}"
            :: "r"(address()), "r"(parity) : "memory");
    }

    friend __device__ __forceinline__ unsigned int address_of(const Barrier& barrier) {
        return barrier.address();
    }
};

// Makes the writes of init() visible to the copy engine, and to other blocks of a cluster.
__device__ __forceinline__ void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
