// o = softmax(q k^T / sqrt(d)) v, one query per sequence and head; q and o are batch × heads × d, k
// and v batch × kv_heads × n × d, row-major, and heads / kv_heads heads in a row share a kv head
//
// Idea: v2 with 16 bytes per lane. A row of 64 halves takes eight lanes, a warp handles four keys
// at once, and a score is summed over three shuffles instead of five, for four keys together.
//
// Contract: any n >= 1, d = D a power of two up to 32 packs of 16 bytes, heads / kv_heads = G up to
// 8, with n d below 2^32, and batch heads d times the number of parts, too; T is float, __half or
// __nv_bfloat16; q, k and v are 16-byte aligned, as every device allocation is; a block of 256
// threads; a grid of (ceil(n / part), batch kv_heads). 32 G (D + 2) bytes of static shared memory.
// combine: a block of D threads, a grid of batch heads.
//
// From: "Vectorized Memory Access" by Justin Luitjens, "CUDA Pro Tip: Increase Performance with
// Vectorized Memory Access" (2013).
//
// Measured: H100 80GB HBM3, batch = 16, heads = 32, kv_heads = 8, n = 8,192, d = 128: float16 1.26× v2, bfloat16 1.25× v2, float32 1.012× v2.
#include "packs.cuh"
#include "parts.cuh"

template <typename T, unsigned int D, unsigned int G>
__global__ void __launch_bounds__(THREADS)
    attention(const T* q, const T* k, const T* v, float* part_values, float2* part_states,
              unsigned int n, unsigned int part) {
    using Queries = PackOfQueries<T, D, G>;
    constexpr unsigned int STEP = WARPS * Queries::ROWS;  // rows per block
    __shared__ OfWarps<WARPS, G, D> of_warps;
    const unsigned long long cache = row_start(blockIdx.y, n * D);
    const unsigned int first = blockIdx.x * part, last = min(n, first + part);
    const unsigned int row = threadIdx.x / Queries::LANES;  // within a step
    const unsigned int pack = threadIdx.x % Queries::LANES;

    Queries queries(q + blockIdx.y * G * D);
    for (unsigned int step = first; step < last; step += STEP) {
        const bool is_there = step + row < last;
        const unsigned int key = is_there ? step + row : first;
        queries.attend(load_pack(k + cache + key * D, pack), load_pack(v + cache + key * D, pack),
                       is_there);
    }
    queries.put(of_warps);
    __syncthreads();
    store_part(of_warps, part_values, part_states, blockIdx.y * G, blockIdx.x, gridDim.x);
}
