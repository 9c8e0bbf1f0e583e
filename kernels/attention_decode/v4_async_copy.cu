// o = softmax(q k^T / sqrt(d)) v, one query per sequence and head; q and o are batch × heads × d, k
// and v batch × kv_heads × n × d, row-major, and heads / kv_heads heads in a row share a kv head
//
// Idea: v3 waits for its rows before it requests more. Here each lane has the next STAGES - 1 of
// its packs in flight to shared memory, which takes no registers. It reads only packs that it has
// requested itself, so no barrier is needed.
//
// Contract: any n >= 1, d = D a power of two up to 32 packs of 16 bytes, heads / kv_heads = G up to
// 8, with n d below 2^32, and batch heads d times the number of parts, too; T is float, __half or
// __nv_bfloat16; q, k and v are 16-byte aligned, as every device allocation is; a block of 256
// threads; a grid of (ceil(n / part), batch kv_heads). 8192 STAGES bytes of dynamic shared memory,
// and 32 G (D + 2) of static. combine: a block of D threads, a grid of batch heads. Compute
// capability 8.0.
//
// From: "Asynchronous Data Copies" in the CUDA C++ Programming Guide; Ye et al., "FlashInfer:
// Efficient and Customizable Attention Engine for LLM Inference Serving" (2025), its decode kernel.
//
// Measured: H100 80GB HBM3, batch = 16, heads = 32, kv_heads = 8, n = 8,192, d = 128: float16 1.20× v3, bfloat16 1.22× v3, float32 0.9996× v3 (the same within 1 %).
#include "common/async_copy.cuh"
#include "packs.cuh"
#include "parts.cuh"

template <typename T, unsigned int D, unsigned int G, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    attention(const T* q, const T* k, const T* v, float* part_values, float2* part_states,
              unsigned int n, unsigned int part) {
    using Queries = PackOfQueries<T, D, G>;
    constexpr unsigned int STEP = WARPS * Queries::ROWS;  // rows per block
    extern __shared__ __align__(16) unsigned char memory[];
    auto& ring = *reinterpret_cast<Pack<T>(*)[STAGES][2][THREADS]>(memory);
    __shared__ OfWarps<WARPS, G, D> of_warps;
    const unsigned long long cache = row_start(blockIdx.y, n * D);
    const unsigned int first = blockIdx.x * part, last = min(n, first + part);
    const unsigned int row = threadIdx.x / Queries::LANES;  // within a step
    const unsigned int pack = threadIdx.x % Queries::LANES;

    const auto ask = [&](unsigned int step) {
        const unsigned int key = first + step * STEP + row;
        const unsigned int valid = key < last ? 16 : 0;
        const unsigned int from = valid == 0 ? 0 : key * D + pack * Pack<T>::width;
        copy_16(&ring[step % STAGES][0][threadIdx.x], k + cache + from, valid);
        copy_16(&ring[step % STAGES][1][threadIdx.x], v + cache + from, valid);
        commit_copies();
    };
#pragma unroll
    for (unsigned int step = 0; step < STAGES - 1; step++) ask(step);

    Queries queries(q + blockIdx.y * G * D);
    for (unsigned int step = 0; first + step * STEP < last; step++) {
        wait_for_all_but<STAGES - 2>();
        ask(step + STAGES - 1);  // into the slot of the previous step
        queries.attend(load_pack(ring[step % STAGES][0][0].value, threadIdx.x),
                       load_pack(ring[step % STAGES][1][0].value, threadIdx.x),
                       first + step * STEP + row < last);
    }
    queries.put(of_warps);
    __syncthreads();
    store_part(of_warps, part_values, part_states, blockIdx.y * G, blockIdx.x, gridDim.x);
}
