// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, float16
//
// Idea: v1 with both products on tensor cores. A warp has 16 queries and keeps them, their scores,
// weights and sums as fragments; a lane holds the weights of a score tile exactly where the next
// product expects its left factor, so they are used in place, rounded to halves. Only k and v pass
// through shared memory; ldmatrix fetches fragments from there, those of v transposed.
//
// Contract: any heads below 2^16, n >= 1, d = D from 1 to 128, with heads n d below 2^32; a block
// of 128 threads; a grid of (ceil(n / 64), heads). 2 * 64 * (D, rounded up to 16, + 8) halves of
// static shared memory. Compute capability 8.0.
//
// From: Dao, "FlashAttention-2" (2023), which divides the queries among the warps; "Matrix
// Fragments for mma.m16n8k16" and "ldmatrix" in the PTX manual.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float16 7.20× v1.
#include "attention/fragments.cuh"

constexpr unsigned int KEYS = 64, THREADS = 128;

// Rows first .. first + 64 of a head's n × D, with zeros past the end.
template <unsigned int D, unsigned int WIDTH, unsigned int PITCH>
__device__ __forceinline__ void load_tile(__half (&tile)[KEYS][PITCH], const __half* from,
                                          unsigned int first, unsigned int n) {
    if constexpr (D % 8 == 0) {
        for (unsigned int i = threadIdx.x; i < KEYS * WIDTH / 8; i += THREADS) {
            const unsigned int row = i / (WIDTH / 8), column = i % (WIDTH / 8) * 8;
            uint4 eight = make_uint4(0, 0, 0, 0);
            if (first + row < n && column < D) {
                eight = *reinterpret_cast<const uint4*>(from + (first + row) * D + column);
            }
            *reinterpret_cast<uint4*>(&tile[row][column]) = eight;
        }
    } else {
        for (unsigned int i = threadIdx.x; i < KEYS * WIDTH; i += THREADS) {
            const unsigned int row = i / WIDTH, column = i % WIDTH;
            const bool inside = first + row < n && column < D;
            tile[row][column] = inside ? from[(first + row) * D + column] : __half(0.0f);
        }
    }
}

template <unsigned int D>
__global__ void __launch_bounds__(THREADS) attention(const __half* q, const __half* k,
                                                     const __half* v, __half* o, unsigned int n) {
    constexpr unsigned int WIDTH = (D + 15) / 16 * 16;
    constexpr unsigned int PITCH = WIDTH + 8;  // 16 bytes more: see fragments.cuh
    __shared__ __align__(16) __half tile_k[KEYS][PITCH];
    __shared__ __align__(16) __half tile_v[KEYS][PITCH];
    const unsigned int warp = threadIdx.x / 32;
    const unsigned int head = blockIdx.y * n * D;

    Queries<D, 1> queries(q + head, blockIdx.x * 64 + warp * 16, n);
    for (unsigned int key = 0; key < n; key += KEYS) {
        load_tile<D, WIDTH, PITCH>(tile_k, k + head, key, n);
        load_tile<D, WIDTH, PITCH>(tile_v, v + head, key, n);
        __syncthreads();
        queries.attend<PITCH>(&tile_k[0][0], &tile_v[0][0], n - key);
        __syncthreads();  // all have read before the tiles are overwritten
    }
    queries.store(o + head);
}
