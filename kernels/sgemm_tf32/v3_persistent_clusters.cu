// c = a b, inputs cut to TF32, sums in float32; a is m × k, b is k × n, c is m × n, row-major
//
// Idea: adjacent blocks of v2 fetch the same rows of a, and while one writes its part of c its
// tensor cores are idle. Here two of them form a cluster, and each fetches half of these rows for
// both; and a block remains resident and computes one tile after another, so the next tile's copies
// are in flight while this one is written. As in gemm_bf16/v6 and v7.
//
// Contract: any m, n and k >= 1; tensor maps of a with boxes of 32 × 128 elements, of b with boxes
// of 32 × 32, and a swizzle of 128 bytes, whose rows begin at multiples of 16 bytes; a block of 384
// threads, clusters of 2 blocks, and any number of them. 192 KiB and 64 bytes of dynamic shared
// memory. Compute capability 9.0.
//
// From: CUTLASS's persistent kernels for sm_90.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 1.015× v2.
#include "gemm_bf16/cluster.cuh"
#include "gemm_bf16/ring.cuh"
#include "gemm_bf16/tile_order.cuh"
#include "transposed_products.cuh"

constexpr unsigned int M = 256, N = 128;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, side by side
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
          float* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K, group = threadIdx.x / 128;
    // A cluster computes tiles of 256 × 256; a block the left or the right half.
    const unsigned int rank = rank_in_cluster();
    const unsigned int across = (n + BLOCKS * N - 1) / (BLOCKS * N), down = (m + M - 1) / M;
    const unsigned int first = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    if (threadIdx.x == 0) ring.init(BLOCKS * CONSUMERS);
    meet_in_cluster();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<40>();
        const unsigned int part = rank * M / BLOCKS;  // of a's rows, this block's
        const bool asks = threadIdx.x % 128 == 0;
        for (unsigned int tile = first; asks && tile < across * down; tile += clusters) {
            const uint2 at = place_of_tile(tile, across, down);
            for (unsigned int step = 0; step < steps; step++, place.next()) {
                Tiles<M, N>& tiles = ring.tiles[place.index];
                Barrier& present = ring.present[place.index];
                // At first every slot is free: the phase before the first counts as complete.
                ring.free[place.index].wait(place.parity ^ 1);
                present.arrive_and_expect(sizeof tiles);
                load_tile_to((1 << BLOCKS) - 1, tiles.a + part * 128, map_a, at.y * M + part,
                             step * K, present);
                load_columns(tiles.b, map_b, step * K, (BLOCKS * at.x + rank) * N, N, present);
            }
        }
        meet_in_cluster();
        return;
    }

    take_registers<232>();
    for (unsigned int tile = first; tile < across * down; tile += clusters) {
        float sums[M / 2] = {};
        for (unsigned int step = 0; step < steps; step++, place.next()) {
            ring.present[place.index].wait(place.parity);
            multiply_transposed(sums, ring.tiles[place.index].b + group * 64 * 128,
                                ring.tiles[place.index].a);
            // A thread for each block arrives for the warpgroup: a wgmma is one operation.
            if (threadIdx.x % 128 < BLOCKS) ring.free[place.index].arrive_at(threadIdx.x % 128);
        }
        const uint2 at = place_of_tile(tile, across, down);
        store_transposed(c, m, n, at.y * M, (BLOCKS * at.x + rank) * N + group * 64, sums);
        __syncwarp();  // some lanes may have had nothing to write, and a product is for all of them
    }
    meet_in_cluster();
}
