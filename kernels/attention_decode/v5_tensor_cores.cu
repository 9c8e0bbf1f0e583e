// o = softmax(q k^T / sqrt(d)) v, one query per sequence and head; q and o are batch × heads × d, k
// and v batch × kv_heads × n × d, row-major, float16 or bfloat16, and heads / kv_heads heads in a
// row share a kv head
//
// Idea: v4 multiplies each number of the cache G times on the FP32 units, after converting it to a
// float, and that is most of its instructions. Here the group's queries are rows of a tensor core's
// factor, padded to 16. Each warp has its own ring of tiles, which only its lanes write and read,
// so it waits for no other warp before the end.
//
// Contract: any n >= 1, d = D a multiple of 16, heads / kv_heads = G up to 16, with n d below 2^32,
// and batch heads d times the number of parts, too; q, k and v are 16-byte aligned, as every device
// allocation is; KEYS a multiple of 16, part of 4 KEYS; a block of 128 threads; a grid of (ceil(n /
// part), batch kv_heads). The larger of 16 STAGES KEYS (D + 8) and 16 G (D + 2) bytes of dynamic
// shared memory. combine: a block of D threads, a grid of batch heads. Compute capability 8.0.
//
// From: Dao et al., "Flash-Decoding for long-context inference" (2023); PackGQA of
// Dao-AILab/flash-attention, hopper/pack_gqa.h, which packs a group's heads as rows; attention/v3.
//
// Measured: H100 80GB HBM3, batch = 16, heads = 32, kv_heads = 8, n = 8,192, d = 128: float16 1.004× v4 (the same within 1 %), bfloat16 1.011× v4.
#include "common/async_copy.cuh"
#include "group_fragments.cuh"
#include "parts.cuh"

constexpr unsigned int THREADS = 128, WARPS = THREADS / 32;

// Rows are padded by 16 bytes: eight neighbouring ones lie in different banks.
template <unsigned int D, unsigned int KEYS>
struct Tile {
    __half rows[KEYS][D + 8];  // for either type's bits

    __device__ __forceinline__ const __half* at(unsigned int row, unsigned int column) const {
        return &rows[row][column];
    }

    // A lane's part of requesting the first `count` rows at `from`; the others are zeros.
    template <typename T>
    __device__ __forceinline__ void ask(const T* from, unsigned int count) {
#pragma unroll
        for (unsigned int i = threadIdx.x % 32; i < KEYS * D / 8; i += 32) {
            const unsigned int row = i / (D / 8), column = i % (D / 8) * 8;
            const bool is_there = row < count;
            copy_16(&rows[row][column], is_there ? from + row * D + column : from,
                    is_there ? 16 : 0);
        }
    }
};

template <typename T, unsigned int D, unsigned int G, unsigned int KEYS, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    attention(const T* q, const T* k, const T* v, float* part_values, float2* part_states,
              unsigned int n, unsigned int part) {
    constexpr unsigned int STEP = WARPS * KEYS;  // keys of a block
    struct Stage {
        Tile<D, KEYS> k, v;
    };
    extern __shared__ __align__(16) unsigned char memory[];
    const unsigned int warp = threadIdx.x / 32;
    Stage* ring = reinterpret_cast<Stage*>(memory) + warp * STAGES;
    const unsigned long long cache = row_start(blockIdx.y, n * D);
    const unsigned int last = min(n, (blockIdx.x + 1) * part);
    const unsigned int first = blockIdx.x * part + warp * KEYS;  // this warp's first tile

    const auto ask = [&](unsigned int step) {
        const unsigned int key = first + step * STEP;
        if (key < last) {
            ring[step % STAGES].k.ask(k + cache + key * D, last - key);
            ring[step % STAGES].v.ask(v + cache + key * D, last - key);
        }
        commit_copies();
    };
    for (unsigned int step = 0; step < STAGES - 1; step++) ask(step);

    GroupOfQueries<T, D, G, KEYS> queries(q + blockIdx.y * G * D);
    for (unsigned int step = 0; first + step * STEP < last; step++) {
        wait_for_all_but<STAGES - 2>();
        __syncwarp();  // what all lanes have asked for is there; all are done with the step before
        ask(step + STAGES - 1);
        const Stage& present = ring[step % STAGES];
        queries.attend(present.k, present.v, last - (first + step * STEP));
    }
    // The rings' memory is free for the sums once all warps are done with their tiles.
    wait_for_all_but<0>();
    __syncthreads();
    auto& of_warps = *reinterpret_cast<OfWarps<WARPS, G, D>*>(memory);
    queries.put(of_warps);
    __syncthreads();
    store_part(of_warps, part_values, part_states, blockIdx.y * G, blockIdx.x, gridDim.x);
}
