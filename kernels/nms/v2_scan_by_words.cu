// keep[i] = 1 if no kept box j < i overlaps box i by more than `threshold`, else 0; boxes are
// sorted by score
//
// Idea: v1 waits for memory and for two barriers at each box. But the suppressions among 64 boxes
// are in 64 words of the mask: every thread decides about them by itself, in registers, with one
// wait for all the words. Then the threads go through the rows of the kept ones, with independent
// loads. Two barriers per 64 boxes remain.
//
// Contract: any 1 <= n < 2^20; overlaps: see overlaps.cuh; scan: one block of 64 threads or more,
// with a word of 8 bytes of dynamic shared memory for every 64 boxes.
//
// From: v1, blocked like a triangular solve.
//
// Measured: H200, n = 2¹⁵, crowd = 256: 1.26× v1.
#include "nms/overlaps.cuh"

extern "C" __global__ void scan(const unsigned long long* mask, int* keep, unsigned int n) {
    extern __shared__ unsigned long long removed[];
    __shared__ unsigned long long among[64];  // of the 64 boxes, whom each suppresses of them
    const unsigned int words = (n + 63) / 64, tid = threadIdx.x;
    for (unsigned int w = tid; w < words; w += blockDim.x) removed[w] = 0;

    for (unsigned int word = 0; word < words; word++) {
        const unsigned int first = 64 * word, count = min(64u, n - first);
        const unsigned long long* rows = mask + static_cast<size_t>(first) * words;
        if (tid < 64) among[tid] = tid < count ? rows[tid * words + word] : 0;
        __syncthreads();

        unsigned long long gone = removed[word], kept = 0;
#pragma unroll 8
        for (unsigned int i = 0; i < count; i++) {
            if (gone >> i & 1) continue;
            kept |= 1ull << i;
            gone |= among[i];
        }
        if (tid < count) keep[first + tid] = kept >> tid & 1;

        // Each word belongs to a thread, and this one is no longer used: no barrier in between.
        for (unsigned int w = word + 1 + tid; w < words; w += blockDim.x) {
            unsigned long long found = 0;
#pragma unroll 16  // so that 16 loads are under way, of kept boxes' rows only
            for (unsigned int i = 0; i < 64; i++) {
                if (kept >> i & 1) found |= rows[i * words + w];
            }
            removed[w] |= found;
        }
        __syncthreads();  // `among` has been read, and the next word is complete
    }
}
