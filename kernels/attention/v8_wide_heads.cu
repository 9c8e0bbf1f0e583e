// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, 16-bit;
// if it is causal, a query attends only to the keys up to its own position
//
// Idea: v5 for heads of up to 128 numbers, in two boxes of a tensor map: two warpgroups compute,
// because registers do not suffice for three. Half of a causal product's tiles are not requested,
// and only a block's last tile has scores to mask. Blocks with many tiles come first, so the short
// ones fill the end.
//
// Contract: any heads below 2^16, n >= 1, d = D a multiple of 8 up to 128, with heads n d below 2^32;
// tensor maps of d × n × heads with a swizzle of 128 bytes and boxes of 64 × 128 elements; a block of
// 384 threads; a grid of (ceil(n / 128), heads). 112 KiB of dynamic shared memory per 64 numbers of
// d, rounded up, and 80 bytes. Compute capability 9.0.
//
// From: Shah et al., "FlashAttention-3" (2024), its tiles for heads of 128.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float16 0.856× v5, bfloat16 0.856× v5.
#include "warpgroup_attention.cuh"

constexpr unsigned int CONSUMERS = 2, QUERIES = 64 * CONSUMERS, STAGES = 3;
constexpr unsigned int THREADS = 128 * (CONSUMERS + 1);

template <unsigned int D, bool CAUSAL>
__global__ void __launch_bounds__(THREADS)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, DTYPE* o, unsigned int n) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<Tiles<D, QUERIES, STAGES>*>(memory);
    const unsigned int group = threadIdx.x / 128;
    const unsigned int block = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const unsigned int first = block * QUERIES;
    const unsigned int count = CAUSAL && first + QUERIES < n ? first + QUERIES : n;  // of keys
    if (threadIdx.x == 0) tiles.init();
    __syncthreads();

    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<24>();
        if (threadIdx.x % 128 == 0) {
            tiles.produce(map_q, map_k, map_v, blockIdx.y, first, count);
        }
        return;
    }

    take_registers<240>();
    // The upper of this thread's two rows; the other is 8 rows below it.
    const unsigned int row = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    Attention<D, DTYPE> attention;
    float scores[KEYS / 2];
    unsigned int weights[KEYS / 16][4];
    tiles.queries_present.wait(0);
    for (unsigned int tile = 0; tile * KEYS < count; tile++) {
        const unsigned int i = tile % STAGES, parity = tile / STAGES % 2;
        tiles.keys_present[i].wait(parity);
        attention.begin_scores(scores, tiles.queries, group * 64, tiles.keys[i]);
        wait_for_products<0>();
        if (CAUSAL) {
            attention.softmax(scores, min(n, row + 1) - tile * KEYS, min(n, row + 9) - tile * KEYS);
        } else {
            attention.softmax(scores, n - tile * KEYS);
        }
        attention.rescale(weights, scores);
        tiles.values_present[i].wait(parity);
        attention.begin_outputs(weights, tiles.values[i]);
        wait_for_products<0>();
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (threadIdx.x % 128 == 0) tiles.free[i].arrive();
    }
    attention.store(o + blockIdx.y * n * D, first + group * 64, n);
}
