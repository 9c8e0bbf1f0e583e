// keep[i] = 1 if no kept box j < i overlaps box i by more than `threshold`, else 0; boxes are
// sorted by score
//
// Idea: v2 keeps one multiprocessor busy and all others idle. Two parts of its work are of unlike
// kind. What 512 boxes do to each other is a chain, and short: every block takes these decisions
// for itself, so that nobody has to be told. What the kept ones do to all later boxes is most of
// the work and no chain: four words of each row, a sector, are a block's. One barrier of the grid
// stands between one 512 and the next; the mask of the next is on its way before it.
//
// Contract: any 1 <= n < 2^20; overlaps: see overlaps.cuh; scan: blocks of 512 threads, at most as
// many as are on the multiprocessors at once, on a card that does nothing else; no dynamic shared
// memory. removed is a word for every 64 boxes, and barrier two words; all are zero before the
// launch, and zero again after it.
//
// From: v2; the blocking is that of a parallel triangular solve. The barrier: see
// softmax/v3_grid_barrier.cu.
//
// Measured: not yet.
#include <cuda/atomic>

#include "nms/overlaps.cuh"

using Word = unsigned long long;
using Count = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;

constexpr unsigned int BOXES = 512, WORDS = BOXES / 64;  // decided upon together
constexpr unsigned int OWNED = 4;                        // words of each row that a block goes on with

// All blocks arrive for the step-th time before any goes on, and then see what all threads wrote
// before.
__device__ __forceinline__ void grid_barrier(unsigned int* barrier, unsigned int step) {
    __syncthreads();  // all of the block's writes come before its arrival
    if (threadIdx.x == 0) {
        Count arrived(barrier[0]);
        arrived.fetch_add(1, cuda::memory_order_acq_rel);
        while (arrived.load(cuda::memory_order_acquire) < step * gridDim.x) {
        }
    }
    __syncthreads();  // and hands on what thread 0 has seen
}

// Nobody looks at the count and at the last of the removed any more when the last block leaves.
__device__ __forceinline__ void leave(unsigned int* barrier, Word* last, unsigned int count) {
    if (threadIdx.x == 0) {
        Count arrived(barrier[0]), left(barrier[1]);
        if (left.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
            arrived.store(0, cuda::memory_order_relaxed);
            left.store(0, cuda::memory_order_relaxed);
            for (unsigned int w = 0; w < count; w++) last[w] = 0;
        }
    }
}

// Which of 64 boxes are kept, of which those in `gone` are out: a chain of 64 decisions. Every lane
// takes them for itself, with the words of the 64 rows in registers.
__device__ __forceinline__ Word decide(Word gone, const Word (&among)[BOXES][WORDS],
                                       unsigned int word) {
    // Of the first 32 decisions only the lower half of `gone` is a chain.
    unsigned int low = static_cast<unsigned int>(gone), high = static_cast<unsigned int>(gone >> 32);
#pragma unroll
    for (unsigned int i = 0; i < 32; i++) {
        const Word row = among[64 * word + i][word];
        if (!(low & 1u << i)) {
            low |= static_cast<unsigned int>(row);
            high |= static_cast<unsigned int>(row >> 32);
        }
    }
#pragma unroll
    for (unsigned int i = 0; i < 32; i++) {
        const Word row = among[64 * word + 32 + i][word];
        if (!(high & 1u << i)) high |= static_cast<unsigned int>(row >> 32);
    }
    return ~(static_cast<Word>(high) << 32 | low);
}

// What any lane of the warp has, to each of them.
__device__ __forceinline__ Word warp_or(Word value) {
#pragma unroll
    for (unsigned int bit = 16; bit > 0; bit /= 2) {
        value |= __shfl_xor_sync(0xffffffffu, value, bit);
    }
    return value;
}

extern "C" __global__ void scan(const Word* mask, int* keep, Word* removed, unsigned int* barrier,
                                unsigned int n) {
    __shared__ Word among[BOXES][WORDS];  // whom each of the 512 suppresses of them
    __shared__ Word gone[WORDS], of_warps[BOXES / 32][OWNED];
    const unsigned int words = (n + 63) / 64, tid = threadIdx.x;

    // A thread's row of the 512; what lies below the diagonal was never written.
    const auto fetch = [&](unsigned int first) {
        const unsigned int row = 64 * first + tid;
#pragma unroll
        for (unsigned int w = 0; w < WORDS; w++) {
            const bool there = row < n && w >= tid / 64 && first + w < words;
            among[tid][w] = there ? mask[static_cast<size_t>(row) * words + first + w] : 0;
        }
    };

    fetch(0);
    for (unsigned int first = 0, step = 1; first < words; first += WORDS, step++) {
        if (tid < WORDS) gone[tid] = first + tid < words ? removed[first + tid] : 0;
        __syncthreads();

        // The two warps that have the rows of a word decide it, and say whom that suppresses.
        bool is_kept = false;
        for (unsigned int word = 0; word < WORDS; word++) {
            if (tid / 64 == word) {
                is_kept = decide(gone[word], among, word) >> tid % 64 & 1;
                for (unsigned int w = word + 1; w < WORDS; w++) {
                    const Word found = warp_or(is_kept ? among[tid][w] : 0);
                    if (tid % 32 == 0 && found) atomicOr(&gone[w], found);
                }
            }
            __syncthreads();
        }
        const unsigned int row = 64 * first + tid;
        if (blockIdx.x == 0 && row < n) keep[row] = is_kept;
        if (first + WORDS >= words) {
            leave(barrier, removed + first, words - first);
            return;
        }
        fetch(first + WORDS);  // nobody reads `among` any more, and it has the barrier's time

        // The block's words of what comes after.
        const Word* const mine = mask + static_cast<size_t>(row) * words;
        for (unsigned int w = blockIdx.x * OWNED; w < words; w += gridDim.x * OWNED) {
            if (w < first + WORDS) continue;
            Word found[OWNED] = {};
            if (is_kept) {
#pragma unroll
                for (unsigned int k = 0; k < OWNED; k++) {
                    if (w + k < words) found[k] = mine[w + k];
                }
            }
#pragma unroll
            for (unsigned int k = 0; k < OWNED; k++) {
                found[k] = warp_or(found[k]);
                if (tid % 32 == 0) of_warps[tid / 32][k] = found[k];
            }
            __syncthreads();
            if (tid < OWNED && w + tid < words) {
                Word all = removed[w + tid];
                for (unsigned int warp = 0; warp < BOXES / 32; warp++) all |= of_warps[warp][tid];
                removed[w + tid] = all;
            }
            __syncthreads();  // before `of_warps` serves again
        }
        grid_barrier(barrier, step);
        if (blockIdx.x == 0 && tid < WORDS) removed[first + tid] = 0;  // all have read it
    }
}
