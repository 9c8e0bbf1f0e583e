// keep[i] = 1 if no kept box j < i overlaps box i by more than `threshold`, else 0; boxes are
// sorted by score
//
// Idea: v3 decides in the order of the boxes, with a barrier of the whole grid every 512. But a box
// does not depend on all earlier ones, only on the few that overlap it, and those are usually
// decided long before. So each thread takes a box and waits for nothing else: the box is out as
// soon as one of them is kept, and kept as soon as all of them are out.
//
// Decisions are published in two bits per box, kept and out, which are only ever set. A bit is all
// that a thread needs from another one, so relaxed atomics are enough, and no fence is needed.
//
// For this, the mask of overlaps.cuh is turned around: a word says which of 64 boxes would suppress
// box i. The words of neighbouring boxes are neighbours, so that a warp's accesses are contiguous.
//
// Words are numbered by a ticket, as in scan/v4_look_back.cu: a box waits for boxes of smaller
// numbers, and these belong to blocks that are already running.
//
// Contract: any 1 <= n < 2^22, overlapping_before before decide; blocks of 64 threads, a grid of
// (ceil(n / 64), ceil(n / 64)) and one of ceil(n / 64). `decisions` has two words per 64 boxes.
// boxes are x1, y1, x2, y2 and begin on a 16-byte boundary.
//
// From: v3. A box is decided like a vertex in the parallel greedy maximal independent set of Guy
// Blelloch, Jeremy Fineman and Julian Shun, "Greedy Sequential Maximal Independent Set and Matching
// are Parallel on Average" (2012), which also shows why the waits are short.
//
// Measured: H200, n = 2¹⁵, crowd = 256: 1.53× v3.
#include <cuda/atomic>

#include "nms/overlaps.cuh"

using Word = unsigned long long;
using Shared = cuda::atomic_ref<Word, cuda::thread_scope_device>;

constexpr unsigned int LOADED = 16;  // words of the mask that a thread has in registers

// Word g of box i: which of boxes 64 g .. 64 g + 63 come before it and overlap it. It is at
// mask[g n + i]; words behind the box are neither written nor read.
extern "C" __global__ void overlapping_before(const float4* boxes, Word* mask, Word* decisions,
                                              unsigned int* ticket, unsigned int n,
                                              float threshold) {
    if (blockIdx.x > blockIdx.y) return;  // a whole block of later boxes
    __shared__ float4 others[64];
    const unsigned int first = blockIdx.x * 64, i = blockIdx.y * 64 + threadIdx.x;
    if (first + threadIdx.x < n) others[threadIdx.x] = boxes[first + threadIdx.x];
    if (blockIdx.x == 0 && threadIdx.x < 2) decisions[2 * blockIdx.y + threadIdx.x] = 0;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *ticket = 0;
    __syncthreads();
    if (i >= n) return;

    const float4 box = boxes[i];
    const unsigned int count = min(64u, i - first);
    Word bits = 0;
    for (unsigned int j = 0; j < count; j++) {
        if (overlap(others[j], box, threshold)) bits |= 1ull << j;
    }
    mask[static_cast<size_t>(blockIdx.x) * n + i] = bits;
}

extern "C" __global__ void decide(const Word* mask, int* keep, Word* decisions,
                                  unsigned int* ticket, unsigned int n) {
    __shared__ unsigned int drawn;
    if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1);
    __syncthreads();
    const unsigned int word = drawn, i = 64 * word + threadIdx.x;
    const unsigned int half = threadIdx.x / 32 * 32;  // the warp's bits of the word

    bool open = i < n, is_out = false;
    for (unsigned int first = 0; first <= word; first += LOADED) {
        Word waits[LOADED];  // for these boxes
#pragma unroll
        for (unsigned int k = 0; k < LOADED; k++) {
            const bool there = open && first + k <= word;
            waits[k] = there ? mask[static_cast<size_t>(first + k) * n + i] : 0;
        }
        const bool is_last = first + LOADED > word;

        bool is_waiting;
        do {
            is_waiting = false;
#pragma unroll
            for (unsigned int k = 0; k < LOADED; k++) {
                if (waits[k] == 0 || is_out) continue;
                Word* const of_word = decisions + 2 * (first + k);
                is_out = waits[k] & Shared(of_word[0]).load(cuda::memory_order_relaxed);
                waits[k] &= ~Shared(of_word[1]).load(cuda::memory_order_relaxed);
                is_waiting |= waits[k] != 0;
            }
            is_waiting &= !is_out;

            // All lanes of the warp publish what they know together.
            const bool is_kept = open && is_last && !is_waiting && !is_out;
            const Word kept = __ballot_sync(0xffffffffu, is_kept);
            const Word out = __ballot_sync(0xffffffffu, open && is_out);
            open &= !is_kept && !is_out;
            if (threadIdx.x % 32 == 0) {
                if (kept) {
                    Shared(decisions[2 * word]).fetch_or(kept << half, cuda::memory_order_relaxed);
                }
                if (out) {
                    Shared(decisions[2 * word + 1]).fetch_or(out << half,
                                                             cuda::memory_order_relaxed);
                }
            }
        } while (__any_sync(0xffffffffu, is_waiting));
    }
    if (i < n) keep[i] = !is_out;
}
