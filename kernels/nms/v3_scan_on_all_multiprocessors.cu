// keep[i] = 1 if no kept box j < i overlaps box i by more than `threshold`, else 0; boxes are
// sorted by score
//
// Idea: v2 keeps one multiprocessor busy and all others idle. Its work has two different parts. The
// decisions among 512 boxes are a chain, but a short one: every block makes all of them itself, so
// none has to be communicated. The effect of the kept boxes on all later ones is most of the work
// and not a chain: each block handles four words of each row, a sector. One grid barrier separates
// each 512 boxes from the next; the next mask is prefetched before it.
//
// Contract: any 1 <= n < 2^20; overlaps: see overlaps.cuh; scan: blocks of 512 threads, no more
// than are resident at once on an otherwise idle card; no dynamic shared memory. `removed` has a
// word per 64 boxes, `barrier` two words; all are zero before the launch, and zero again after
// it.
//
// From: v2, with the blocking of a parallel triangular solve. The barrier: see
// softmax/v3_grid_barrier.cu.
//
// Measured: H200, n = 2¹⁵, crowd = 256: 4.52× v2.
#include <cuda/atomic>

#include "nms/overlaps.cuh"

using Word = unsigned long long;
using Count = cuda::atomic_ref<unsigned int, cuda::thread_scope_device>;

constexpr unsigned int BOXES = 512, WORDS = BOXES / 64;  // decided upon together
constexpr unsigned int OWNED = 4;                        // words of each row that a block goes on with

// All blocks arrive for the step-th time before any continues, and then see all threads' earlier
// writes.
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

// When the last block leaves, no block reads the count or the last removed words any more.
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

// Which of the 512 boxes are kept; those in `removed` are out. A warp decides, in the order of the
// boxes: the next remaining one is kept, and removes those that it suppresses, from its own 64 in
// `left`, from all in `gone`, of which each lane has a word. What is out costs nothing.
__device__ __forceinline__ void decide(const Word* removed, unsigned int count,
                                       const Word (&among)[BOXES][WORDS], Word (&kept)[WORDS]) {
    const unsigned int lane = threadIdx.x, mine = lane % WORDS;
    Word gone = mine < count ? removed[mine] : ~0ull;
    for (unsigned int word = 0; word < WORDS; word++) {
        Word left = ~__shfl_sync(0xffffffffu, gone, word), chosen = 0;
        while (left) {
            const unsigned int i = __ffsll(static_cast<long long>(left)) - 1;
            const Word(&row)[WORDS] = among[64 * word + i];
            chosen |= 1ull << i;
            left &= ~(row[word] | 1ull << i);
            gone |= row[mine];
        }
        if (lane == 0) kept[word] = chosen;
    }
}

// The OR of all lanes' values, returned to each of them.
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
    __shared__ Word kept[WORDS], of_warps[BOXES / 32][OWNED];
    const unsigned int words = (n + 63) / 64, tid = threadIdx.x;

    // The part of the 512 boxes' rows about these boxes, 64 rows at a time, eight lanes per row.
    // Words below the diagonal were never written.
    const auto fetch = [&](unsigned int first) {
        const unsigned int w = tid % WORDS;
#pragma unroll
        for (unsigned int k = 0; k < WORDS; k++) {
            const unsigned int i = 64 * k + tid / WORDS, row = 64 * first + i;
            const bool there = row < n && w >= k && first + w < words;
            among[i][w] = there ? mask[static_cast<size_t>(row) * words + first + w] : 0;
        }
    };

    fetch(0);
    for (unsigned int first = 0, step = 1; first < words; first += WORDS, step++) {
        __syncthreads();  // `among` is complete
        if (tid < 32) decide(removed + first, words - first, among, kept);
        __syncthreads();
        const bool is_kept = kept[tid / 64] >> tid % 64 & 1;
        const unsigned int row = 64 * first + tid;
        if (blockIdx.x == 0 && row < n) keep[row] = is_kept;
        if (first + WORDS >= words) {
            leave(barrier, removed + first, words - first);
            return;
        }
        fetch(first + WORDS);  // nobody reads `among` any more, and it has the barrier's time

        // The block's words of the later boxes.
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
