// o = softmax(q k^T / sqrt(d)) v, one query per sequence and head; q and o are batch × heads × d, k
// and v batch × kv_heads × n × d, row-major, float16 or bfloat16, and heads / kv_heads heads in a
// row share a kv head
//
// Idea: v5's lanes compute an address for each 16 bytes that they request. Here one lane requests a
// warp's whole tile, in two or four instructions; the tensor memory accelerator computes the
// addresses, places the rows without conflicts for ldmatrix, and signals their arrival.
//
// Contract: any n >= 1, d = D of 64 or 128, heads / kv_heads = G up to 16, with n d below 2^32, and
// batch heads d times the number of parts, too; tensor maps of d × n × batch kv_heads with a
// swizzle of 128 bytes and boxes of 64 × KEYS elements; KEYS a multiple of 16, part of 4 KEYS; a
// block of 128 threads; a grid of (ceil(n / part), batch kv_heads). The larger of 16 STAGES KEYS D
// and 16 G (D + 2) bytes of dynamic shared memory, and 32 STAGES. combine: a block of D threads, a
// grid of batch heads. Compute capability 9.0.
//
// From: "Tensor Memory Access" in the CUDA C++ Programming Guide; Shah et al., "FlashAttention-3"
// (2024).
//
// Measured: H100 80GB HBM3, batch = 16, heads = 32, kv_heads = 8, n = 8,192, d = 128: float16 1.043× v5, bfloat16 1.042× v5.
#include "boxes.cuh"

template <typename T, unsigned int D, unsigned int G, unsigned int KEYS, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    attention(const T* q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, float* part_values, float2* part_states,
              unsigned int n, unsigned int part) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& rings = *reinterpret_cast<Rings<D, G, KEYS, STAGES>*>(memory);
    attend_to_boxes(rings, q, map_k, map_v, n, part);
    store_part(rings.of_warps, part_values, part_states, blockIdx.y * G, blockIdx.x, gridDim.x);
}
