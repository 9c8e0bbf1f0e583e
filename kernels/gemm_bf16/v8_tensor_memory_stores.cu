// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: a lane of v7 writes pairs of elements, so a warp's store writes 16 bytes in each of eight
// rows, half of a sector. Here a warpgroup puts its sums into shared memory, and one thread has the
// tensor memory accelerator write them in whole rows, while the next tile is multiplied. The 64 KiB
// for that cost the ring one of its four slots.
//
// Contract: any m >= 1, and n and k multiples of 8; tensor maps of a and b with boxes of 64 ×
// 128 elements, of c with boxes of 64 × 64, and a swizzle of 128 bytes; a block of 384 threads,
// clusters of 2 blocks, and any number of them. 208 KiB and 48 bytes of dynamic shared memory.
// Compute capability 9.0.
//
// From: the epilogues of CUTLASS for sm_90.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.045× v7, float16 1.043× v7.
#include "cluster.cuh"
#include "ring.cuh"
#include "staged_sums.cuh"
#include "tile_order.cuh"

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
        staged[group].store(map_c, (BLOCKS * at.y + rank) * M + group * 64, at.x * N, sums);
    }
    wait_for_stores();
    meet_in_cluster();
}
