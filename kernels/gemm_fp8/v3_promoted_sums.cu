// c = a bᵀ, sums in float32; a is m × k, b is n × k, both of 8-bit floats, c is m × n, row-major
//
// Idea: sums that are rounded as float32. The tensor cores keep only 14 bits when they add up products
// of 8-bit floats, so v1's error grows with k. Here a warpgroup fetches the sums of each step, 128
// products per element, and adds them to others in float32. A lane has to hold both, so its tile is
// half as wide, and the tensor cores rest while it adds.
//
// Contract: as v1, with boxes of 128 × 64 elements of b. 192 KiB and 80 bytes of dynamic shared
// memory. Compute capability 9.0.
//
// From: DeepSeek-V3 Technical Report (2024), section 3.3.2, "increasing accumulation precision".
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 0.811× v1, float16 0.811× v1.
#include "gemm_bf16/cluster.cuh"
#include "gemm_bf16/staged_sums.cuh"
#include "producer.cuh"

constexpr unsigned int M = 128, N = 128;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 5;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, unsigned int m, unsigned int n,
         unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto* staged = reinterpret_cast<Staged<N>*>(memory);
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(staged + CONSUMERS);
    const unsigned int steps = (k + DEPTH - 1) / DEPTH, group = threadIdx.x / 128;
    // A cluster computes tiles of 256 × 128; a block the upper or the lower half.
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
            float few[N / 2];  // the sums of this step
            begin_products();
            multiply_bytes<false>(few, tile_a, tile_b);
#pragma unroll
            for (unsigned int i = 1; i < PRODUCTS; i++) {
                multiply_bytes(few, tile_a + i * NEXT_32_BYTES, tile_b + i * NEXT_32_BYTES);
            }
            end_products();
            wait_for_products<0>();
            // A thread for each block arrives for the warpgroup: a wgmma is one operation.
            if (threadIdx.x % 128 < BLOCKS) ring.free[place.index].arrive_at(threadIdx.x % 128);
#pragma unroll
            for (unsigned int i = 0; i < N / 2; i++) sums[i] += few[i];
        }
        const uint2 at = place_of_tile(tile, across, down);
        staged[group].store(map_c, (BLOCKS * at.y + rank) * M + group * 64, at.x * N, sums);
    }
    wait_for_stores();
    meet_in_cluster();
}
