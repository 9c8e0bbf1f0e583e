// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, float16
//
// Idea: while a warpgroup of v5 computes exponentials, it gives the tensor cores no work; only the
// other warpgroups do. Here the next tile's scores are started before this tile's values are added,
// and the next exponentials are computed during that addition.
//
// Contract: any heads below 2^16, n >= 1, d = D a multiple of 8 up to 64, with heads n d below 2^32;
// tensor maps of d × n × heads with a swizzle of 128 bytes and boxes of 64 elements × 192 rows for
// q, and × 128 rows for k and v; a block of 512 threads; a grid of (ceil(n / 192), heads). 152 KiB
// and 104 bytes of dynamic shared memory. Compute capability 9.0.
//
// From: Shah et al., "FlashAttention-3" (2024), its pipelining within a warpgroup.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float16 0.978× v5.
#include "warpgroup_attention.cuh"

constexpr unsigned int CONSUMERS = 3, QUERIES = 64 * CONSUMERS, STAGES = 4;
constexpr unsigned int THREADS = 128 * (CONSUMERS + 1);

template <unsigned int D>
__global__ void __launch_bounds__(THREADS)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, __half* o, unsigned int n) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<Tiles<D, QUERIES, STAGES>*>(memory);
    const unsigned int group = threadIdx.x / 128;
    if (threadIdx.x == 0) tiles.init();
    __syncthreads();

    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<32>();
        if (threadIdx.x % 128 == 0) {
            tiles.produce(map_q, map_k, map_v, blockIdx.y, blockIdx.x * QUERIES, n);
        }
        return;
    }

    take_registers<160>();
    Attention<D> attention;
    float scores[KEYS / 2];
    unsigned int weights[KEYS / 16][4];
    tiles.queries_present.wait(0);
    tiles.keys_present[0].wait(0);
    attention.begin_scores(scores, tiles.queries, group * 64, tiles.keys[0]);
    wait_for_products<0>();
    attention.softmax(scores, n);
    attention.rescale(weights, scores);
    for (unsigned int tile = 1; tile * KEYS < n; tile++) {
        const unsigned int i = tile % STAGES, before = (tile - 1) % STAGES;
        tiles.keys_present[i].wait(tile / STAGES % 2);
        attention.begin_scores(scores, tiles.queries, group * 64, tiles.keys[i]);
        tiles.values_present[before].wait((tile - 1) / STAGES % 2);
        attention.begin_outputs(weights, tiles.values[before]);
        wait_for_products<1>();  // for the scores
        attention.softmax(scores, n - tile * KEYS);
        wait_for_products<0>();
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (threadIdx.x % 128 == 0) tiles.free[before].arrive();
        attention.rescale(weights, scores);
    }
    const unsigned int last = (n - 1) / KEYS;
    tiles.values_present[last % STAGES].wait(last / STAGES % 2);
    attention.begin_outputs(weights, tiles.values[last % STAGES]);
    wait_for_products<0>();
    attention.store(o + blockIdx.y * n * D, blockIdx.x * QUERIES + group * 64, n);
}
