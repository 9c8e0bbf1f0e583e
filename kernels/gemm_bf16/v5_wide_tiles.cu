// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: a consumer of v4 reads 64 rows of a and 128 of b from shared memory for its product, and
// b is the larger part. With tiles of 128 × 256 each row of a serves twice as many products, and
// the grid requests fewer bytes of a: 64 × 256 sums take 128 registers per thread, which is why the
// producer gives up some of its own.
//
// Contract: any m, n >= 1, and k a multiple of 8; tensor maps of a with boxes of 64 × 128
// elements and of b with boxes of 64 × 256, and a swizzle of 128 bytes; a block of 384 threads;
// the grid covers c in tiles of 128 × 256 with (n, m) as its (x, y). 192 KiB and 64 bytes of
// dynamic shared memory. Compute capability 9.0.
//
// From: CUTLASS's cooperative kernels for sm_90.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.17× v4, float16 1.12× v4.
#include "ring.cuh"
#include "warpgroup_sums.cuh"

constexpr unsigned int M = 128, N = 256;  // of a block's tile
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1), STAGES = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K;
    const unsigned int group = threadIdx.x / 128;
    if (threadIdx.x == 0) ring.init(CONSUMERS);
    __syncthreads();

    Place<STAGES> place;
    if (group == CONSUMERS) {  // the producer, of which one thread works
        give_registers_back<40>();
        if (threadIdx.x % 128 != 0) return;
        for (unsigned int step = 0; step < steps; step++, place.next()) {
            Tiles<M, N>& tiles = ring.tiles[place.index];
            Barrier& present = ring.present[place.index];
            // At first every slot is free: the phase before the first counts as complete.
            ring.free[place.index].wait(place.parity ^ 1);
            present.arrive_and_expect(sizeof tiles);
            load_tile(tiles.a, map_a, blockIdx.y * M, step * K, present);
            load_tile(tiles.b, map_b, blockIdx.x * N, step * K, present);
        }
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
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (threadIdx.x % 128 == 0) ring.free[place.index].arrive();
    }

    store_sums(c, m, n, blockIdx.y * M + group * 64, blockIdx.x * N, sums);
}
