// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: while a block of v6 writes its tile of c, and while the next one starts, its
// multiprocessor multiplies nothing. Here a grid of as many clusters as fit remains resident and
// takes one tile after another: the producer already requests the next tile while the consumers
// write. The order of the tiles is chosen so that concurrent tiles share their inputs in the L2
// cache.
//
// Contract: any m, n >= 1, and k a multiple of 8; tensor maps of a and b with boxes of 64 × 128
// elements and a swizzle of 128 bytes; a block of 384 threads, clusters of 2 blocks, and any
// number of them. 192 KiB and 64 bytes of dynamic shared memory. Compute capability 9.0.
//
// From: CUTLASS's persistent tile schedulers.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.038× v6, float16 1.044× v6.
#include "cluster.cuh"
#include "ring.cuh"
#include "tile_order.cuh"
#include "warpgroup_sums.cuh"

constexpr unsigned int M = 128, N = 256;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K, group = threadIdx.x / 128;
    // A cluster computes tiles of 256 × 256; a block the upper or the lower half.
    const unsigned int rank = rank_in_cluster();
    const unsigned int across = (n + N - 1) / N, down = (m + BLOCKS * M - 1) / (BLOCKS * M);
    const unsigned int first = blockIdx.x / BLOCKS, clusters = gridDim.x / BLOCKS;
    if (threadIdx.x == 0) ring.init(BLOCKS * CONSUMERS);
    meet_in_cluster();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<40>();
        const unsigned int part = rank * N / BLOCKS;  // of b's rows, this block's
        const bool asks = threadIdx.x % 128 == 0;
        for (unsigned int tile = first; asks && tile < across * down; tile += clusters) {
            const uint2 at = place_of_tile(tile, across, down);
            const unsigned int row = (BLOCKS * at.y + rank) * M, column = at.x * N;
            for (unsigned int step = 0; step < steps; step++, place.next()) {
                Tiles<M, N>& tiles = ring.tiles[place.index];
                Barrier& present = ring.present[place.index];
                // At first every slot is free: the phase before the first counts as complete.
                ring.free[place.index].wait(place.parity ^ 1);
                present.arrive_and_expect(sizeof tiles);
                load_tile(tiles.a, map_a, row, step * K, present);
                load_tile_to((1 << BLOCKS) - 1, tiles.b + part * 128, map_b, column + part,
                             step * K, present);
            }
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
            for (unsigned int i = 0; i < K / 16; i++) {
                multiply<DTYPE>(sums, tile_a + i * NEXT_32_BYTES, tile_b + i * NEXT_32_BYTES);
            }
            end_products();
            wait_for_products<0>();
            // A thread for each block arrives for the warpgroup: a wgmma is one operation.
            if (threadIdx.x % 128 < BLOCKS) ring.free[place.index].arrive_at(threadIdx.x % 128);
        }
        const uint2 at = place_of_tile(tile, across, down);
        store_sums(c, m, n, (BLOCKS * at.y + rank) * M + group * 64, at.x * N, sums);
        __syncwarp();  // some lanes may have had nothing to write, and a product is for all of them
    }
    meet_in_cluster();
}
