// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: in v5 two blocks, one below the other, read the same tiles of b from the L2 cache. Here
// they form a cluster: each requests half of such a tile, and the half goes to both. So a block
// fetches 32 KiB per step instead of 48. A slot is free once the consumers of both blocks are done
// with it.
//
// Contract: any m, n >= 1, and k a multiple of 8; tensor maps of a and b with boxes of 64 × 128
// elements and a swizzle of 128 bytes; a block of 384 threads, and clusters of 1 × 2 blocks; the
// grid covers c in tiles of 128 × 256 with (n, m) as its (x, y), and has an even number of rows.
// 192 KiB and 64 bytes of dynamic shared memory. Compute capability 9.0.
//
// From: "cp.async.bulk.tensor" in the PTX manual, `.multicast::cluster`.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.029× v5, float16 1.05× v5.
#include "cluster.cuh"
#include "ring.cuh"
#include "warpgroup_sums.cuh"

constexpr unsigned int M = 128, N = 256;  // of a block's tile
constexpr unsigned int BLOCKS = 2;         // of a cluster, one below the other
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K;
    const unsigned int group = threadIdx.x / 128;
    if (threadIdx.x == 0) ring.init(BLOCKS * CONSUMERS);
    meet_in_cluster();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<40>();
        const unsigned int part = rank_in_cluster() * N / BLOCKS;  // of b's rows, this block's
        for (unsigned int step = 0; threadIdx.x % 128 == 0 && step < steps; step++, place.next()) {
            Tiles<M, N>& tiles = ring.tiles[place.index];
            Barrier& present = ring.present[place.index];
            // At first every slot is free: the phase before the first counts as complete.
            ring.free[place.index].wait(place.parity ^ 1);
            present.arrive_and_expect(sizeof tiles);
            load_tile(tiles.a, map_a, blockIdx.y * M, step * K, present);
            load_tile_to((1 << BLOCKS) - 1, tiles.b + part * 128, map_b, blockIdx.x * N + part,
                         step * K, present);
        }
        meet_in_cluster();
        return;
    }

    take_registers<232>();
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
    meet_in_cluster();

    store_sums(c, m, n, blockIdx.y * M + group * 64, blockIdx.x * N, sums);
}
