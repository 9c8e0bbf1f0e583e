// c = a bᵀ, sums in float32; a is m × k, b is n × k, both of 8-bit floats, c is m × n, row-major
//
// Idea: a product of 1,024 × 1,024 has 16 of v1's tiles for 66 clusters. Tiles of 256 × 64 are four
// times as many, and their short steps overlap: a warpgroup asks for a step's products, and only then
// waits for those of the step before and returns their slot.
//
// Contract: as v1, with boxes of 128 × 32 elements of b. 208 KiB and 128 bytes of dynamic shared
// memory. Compute capability 9.0.
//
// From: gemm_bf16/v9_narrow_tiles.cu and v10_narrow_overlapping_steps.cu.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 0.569× v1, float16 0.569× v1.
#include "gemm_bf16/cluster.cuh"
#include "gemm_bf16/staged_sums.cuh"
#include "producer.cuh"

constexpr unsigned int M = 128, N = 64;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 8;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         const __grid_constant__ CUtensorMap map_c, unsigned int m, unsigned int n,
         unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto* staged = reinterpret_cast<Staged<N>*>(memory);
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(staged + CONSUMERS);
    const unsigned int steps = (k + DEPTH - 1) / DEPTH, group = threadIdx.x / 128;
    // A cluster computes tiles of 256 × 64; a block the upper or the lower half.
    const unsigned int rank = rank_in_cluster();
    const unsigned int across = (n + N - 1) / N, down = (m + BLOCKS * M - 1) / (BLOCKS * M);
    const unsigned int first = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    if (threadIdx.x == 0) ring.init(BLOCKS * CONSUMERS);
    meet_in_cluster();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        if (threadIdx.x % 128 == 0) {
            request_tiles(ring, place, map_a, map_b, rank, first, clusters, across, down, steps);
        }
        meet_in_cluster();
        return;
    }

    for (unsigned int tile = first; tile < across * down; tile += clusters) {
        float sums[N / 2] = {};
        unsigned int last = 0;  // the slot of the step before
        // A thread for each block arrives for the warpgroup: a wgmma is one operation.
        const auto give_back_last = [&] {
            if (threadIdx.x % 128 < BLOCKS) ring.free[last].arrive_at(threadIdx.x % 128);
        };
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
            wait_for_products<1>();
            if (step > 0) give_back_last();
            last = place.index;
        }
        wait_for_products<0>();
        give_back_last();
        const uint2 at = place_of_tile(tile, across, down);
        staged[group].store(map_c, (BLOCKS * at.y + rank) * M + group * 64, at.x * N, sums);
    }
    wait_for_stores();
    meet_in_cluster();
}
