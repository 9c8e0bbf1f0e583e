// The thread that requests tiles from the tensor memory accelerator: for v1 to v3.
#pragma once

#include "gemm_bf16/ring.cuh"
#include "gemm_bf16/tile_order.cuh"
#include "products.cuh"

// All tiles that a cluster of two blocks takes, one after another, for the block of number `rank` in
// it: its own rows of a, and its half of the rows of b, which it sends to both.
template <unsigned int M, unsigned int N, unsigned int STAGES>
__device__ __forceinline__ void request_tiles(Ring<M, N, STAGES>& ring, Place<STAGES> place,
                                              const CUtensorMap& map_a, const CUtensorMap& map_b,
                                              unsigned int rank, unsigned int first,
                                              unsigned int clusters, unsigned int across,
                                              unsigned int down, unsigned int steps) {
    const unsigned int half = rank * N / 2;
    for (unsigned int tile = first; tile < across * down; tile += clusters) {
        const uint2 at = place_of_tile(tile, across, down);
        const unsigned int row = (2 * at.y + rank) * M, column = at.x * N + half;
        for (unsigned int step = 0; step < steps; step++, place.next()) {
            Tiles<M, N>& tiles = ring.tiles[place.index];
            Barrier& present = ring.present[place.index];
            // At first every slot is free: the phase before the first counts as complete.
            ring.free[place.index].wait(place.parity ^ 1);
            present.arrive_and_expect(sizeof tiles);
            load_tile(tiles.a, map_a, row, step * DEPTH, present);
            load_tile_to(0b11, tiles.b + half * 128, map_b, column, step * DEPTH, present);
        }
    }
}
