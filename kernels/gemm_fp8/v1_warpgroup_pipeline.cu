// c = a bᵀ, sums in float32; a is m × k, b is n × k, both of 8-bit floats, c is m × n, row-major
//
// Idea: the pipeline that gemm_bf16 builds from its v2 to its v8: wgmma, the tensor memory
// accelerator, a warpgroup that only copies, wide tiles, clusters that share them, a persistent grid,
// and stores in whole rows. The tensor cores take bytes twice as fast as halves, without converting
// them. A row of a tile, 128 bytes, is now 128 elements deep: a step has twice the arithmetic for the
// same copies and barriers.
//
// wgmma keeps 14 bits of sums of 8-bit floats, not float32's 24: see v3.
//
// Contract: any m >= 1, n a multiple of 8, k of 16; tensor maps of a and b with boxes of 128 × 128
// elements, of c with boxes of 64 × 64, and a swizzle of 128 bytes; a block of 384 threads, clusters
// of 2 blocks, and any number of them. 208 KiB and 48 bytes of dynamic shared memory. Compute
// capability 9.0.
//
// From: CUTLASS's kernels for sm_90; gemm_bf16/v8_tensor_memory_stores.cu.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 16.1× v0, float16 16.1× v0.
#include "gemm_bf16/cluster.cuh"
#include "gemm_bf16/staged_sums.cuh"
#include "producer.cuh"

constexpr unsigned int M = 128, N = 256;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 3;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, unsigned int m, unsigned int n,
         unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto* staged = reinterpret_cast<Staged<N>*>(memory);
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(staged + CONSUMERS);
    const unsigned int steps = (k + DEPTH - 1) / DEPTH, group = threadIdx.x / 128;
    // A cluster computes tiles of 256 × 256; a block the upper or the lower half.
    const unsigned int rank = rank_in_cluster();
    const unsigned int across = (n + N - 1) / N, down = (m + BLOCKS * M - 1) / (BLOCKS * M);
    const unsigned int first = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    if (threadIdx.x == 0) ring.init(BLOCKS * CONSUMERS);
    meet_in_cluster();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<40>();
        if (threadIdx.x % 128 == 0) {
            request_tiles(ring, place, map_a, map_b, rank, first, clusters, across, down, steps);
        }
        meet_in_cluster();
        return;
    }

    take_registers<232>();
    for (unsigned int tile = first; tile < across * down; tile += clusters) {
        float sums[N / 2] = {};
        for (unsigned int step = 0; step < steps; step++, place.next()) {
            ring.present[place.index].wait(place.parity);
            const Tiles<M, N>& tiles = ring.tiles[place.index];
            const unsigned long long tile_a = describe(tiles.a + group * 64 * 128);
            const unsigned long long tile_b = describe(tiles.b);
            begin_products();
#pragma unroll
            for (unsigned int i = 0; i < PRODUCTS; i++) {
                multiply_bytes(sums, tile_a + i * NEXT_32_BYTES, tile_b + i * NEXT_32_BYTES);
            }
            end_products();
            wait_for_products<0>();
            // A thread for each block arrives for the warpgroup: a wgmma is one operation.
            if (threadIdx.x % 128 < BLOCKS) ring.free[place.index].arrive_at(threadIdx.x % 128);
        }
        const uint2 at = place_of_tile(tile, across, down);
        staged[group].store(map_c, (BLOCKS * at.y + rank) * M + group * 64, at.x * N, sums);
    }
    wait_for_stores();
    meet_in_cluster();
}
