// c = a b, sums in float32; a is m × k and b is k × n, each by rows or, if A_TURNED or B_TURNED, by
// columns; c is m × n by rows
//
// Idea: gemm_bf16's pipeline, for every layout. wgmma reads a 16-bit factor in shared memory either
// way: two bits of the instruction say whether its depth runs along the rows of a tile or down its
// columns. So the tensor memory accelerator copies a tile as it is stored, and nothing is turned. Only
// the descriptor and the distance to the next product differ.
//
// Contract: any m, k >= 1, n a multiple of 8, as is whatever is contiguous in a and b; tensor maps of
// all three with boxes of 64 × 64 elements and a swizzle of 128 bytes; a block of 384 threads,
// clusters of 2 blocks, and any number of them. 208 KiB and 48 bytes of dynamic shared memory. Compute
// capability 9.0.
//
// From: "Strides" of wgmma's matrix descriptors in the PTX manual; gemm_bf16/v8_tensor_memory_stores.cu.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192, a_by = 1, b_by = 1: bfloat16 7.08× v0, float16 6.82× v0.
#include "gemm_bf16/cluster.cuh"
#include "gemm_bf16/staged_sums.cuh"
#include "gemm_bf16/tile_order.cuh"
#include "layouts.cuh"

constexpr unsigned int M = 128, N = 256;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 3;

template <bool A_TURNED, bool B_TURNED>
__global__ void __launch_bounds__(THREADS)
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
        const unsigned int part = rank * N / BLOCKS;  // of b's columns, this block's
        const bool asks = threadIdx.x % 128 == 0;
        for (unsigned int tile = first; asks && tile < across * down; tile += clusters) {
            const uint2 at = place_of_tile(tile, across, down);
            const unsigned int row = (BLOCKS * at.y + rank) * M, column = at.x * N + part;
            for (unsigned int step = 0; step < steps; step++, place.next()) {
                Tiles<M, N>& tiles = ring.tiles[place.index];
                Barrier& present = ring.present[place.index];
                // At first every slot is free: the phase before the first counts as complete.
                ring.free[place.index].wait(place.parity ^ 1);
                present.arrive_and_expect(sizeof tiles);
                request_boxes<A_TURNED, M / BOX>(
                    tiles.a, row, step * K, [&](void* to, unsigned int y, unsigned int x) {
                        load_tile(to, map_a, y, x, present);
                    });
                request_boxes<!B_TURNED, N / BLOCKS / BOX>(
                    tiles.b + part * 128, column, step * K,
                    [&](void* to, unsigned int y, unsigned int x) {
                        load_tile_to((1 << BLOCKS) - 1, to, map_b, y, x, present);
                    });
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
            const unsigned long long tile_a = describe_boxes<A_TURNED>(tiles.a + group * BOX_BYTES);
            const unsigned long long tile_b = describe_boxes<!B_TURNED>(tiles.b);
            begin_products();
#pragma unroll
            for (unsigned int i = 0; i < K / 16; i++) {
                multiply_boxes<A_TURNED, !B_TURNED>(sums, tile_a + i * NEXT_SIXTEEN<A_TURNED>,
                                                    tile_b + i * NEXT_SIXTEEN<!B_TURNED>);
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
