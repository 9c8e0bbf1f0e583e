// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, 16-bit;
// if it is causal, a query attends only to the keys up to its own position
//
// Idea: v8's two warpgroups often compute exponentials at the same time, and then want the tensor
// cores at the same time. Here they take turns: a warpgroup starts the next tile's scores and this
// tile's sums in its turn, and computes exponentials in the other's. That needs both v6's order,
// with the next scores started early, and the turns.
//
// Contract: any heads below 2^16, n >= 1, d = D a multiple of 8 up to 128, with heads n d below 2^32;
// tensor maps of d × n × heads with a swizzle of 128 bytes and boxes of 64 × 128 elements; a block of
// 384 threads; a grid of (ceil(n / 128), heads). 112 KiB of dynamic shared memory per 64 numbers of
// d, rounded up, and 80 bytes. Compute capability 9.0.
//
// From: Shah et al., "FlashAttention-3" (2024), its pingpong scheduling.
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float16 1.027× v8, bfloat16 1.028× v8.
#include "warpgroup_attention.cuh"

constexpr unsigned int CONSUMERS = 2, QUERIES = 64 * CONSUMERS, STAGES = 3;
constexpr unsigned int THREADS = 128 * (CONSUMERS + 1);

// Two warpgroups that take turns. Each has a barrier, at which it meets the other's end of turn.
__device__ __forceinline__ void begin_turn(unsigned int group) {
    asm volatile("bar.sync %0, 256;" :: "r"(group + 1) : "memory");
}

__device__ __forceinline__ void end_turn(unsigned int group) {
    asm volatile("bar.arrive %0, 256;" :: "r"(2 - group) : "memory");
}

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
    const auto softmax = [&](unsigned int tile) {
        const unsigned int keys = tile * KEYS;  // before the tile
        if (CAUSAL) {
            attention.softmax(scores, min(n, row + 1) - keys, min(n, row + 9) - keys);
        } else {
            attention.softmax(scores, n - keys);
        }
    };
    if (group == 1) end_turn(group);  // the first turn is group 0's
    tiles.queries_present.wait(0);
    tiles.keys_present[0].wait(0);
    attention.begin_scores(scores, tiles.queries, group * 64, tiles.keys[0]);
    wait_for_products<0>();
    softmax(0);
    attention.rescale(weights, scores);
    for (unsigned int tile = 1; tile * KEYS < count; tile++) {
        const unsigned int i = tile % STAGES, before = (tile - 1) % STAGES;
        tiles.keys_present[i].wait(tile / STAGES % 2);
        begin_turn(group);
        attention.begin_scores(scores, tiles.queries, group * 64, tiles.keys[i]);
        tiles.values_present[before].wait((tile - 1) / STAGES % 2);
        attention.begin_outputs(weights, tiles.values[before]);
        end_turn(group);
        wait_for_products<1>();  // for the scores
        softmax(tile);
        wait_for_products<0>();
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (threadIdx.x % 128 == 0) tiles.free[before].arrive();
        attention.rescale(weights, scores);
    }
    if (group == 0) begin_turn(group);  // the barrier that group 1 reached last
    const unsigned int last = (count - 1) / KEYS;
    tiles.values_present[last % STAGES].wait(last / STAGES % 2);
    attention.begin_outputs(weights, tiles.values[last % STAGES]);
    wait_for_products<0>();
    attention.store(o + blockIdx.y * n * D, first + group * 64, n);
}
