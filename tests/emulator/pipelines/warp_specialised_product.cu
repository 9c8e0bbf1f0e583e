// c = a bᵀ of bfloat16 by a warp-specialised pipeline, as kernels for Hopper are written: one
// warpgroup requests tiles from the TMA unit, two multiply. They synchronise at two barriers per
// slot: `present` signals that its tiles are there, `free` that both warpgroups are done with them.
//
// Setting any of these macros to 0 introduces a bug: WAITS_FOR_TILES, WAITS_FOR_ROOM, WAITS_FOR_PRODUCTS.
#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"

#include <cuda_bf16.h>

constexpr unsigned int M = 128, N = 128, K = 64;  // of a block's tile
constexpr unsigned int THREADS = 384, MULTIPLYING = 2, STAGES = 2;

struct Tiles {
    unsigned char a[M * K * 2];
    unsigned char b[N * K * 2];
};

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         __nv_bfloat16* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Tiles* stages = reinterpret_cast<Tiles*>(memory);
    Barrier* present = reinterpret_cast<Barrier*>(stages + STAGES);
    Barrier* free = present + STAGES;
    const unsigned int steps = (k + K - 1) / K, group = threadIdx.x / 128;

    if (threadIdx.x == 0) {
        for (unsigned int i = 0; i < STAGES; i++) {
            present[i].init(1);
            free[i].init(MULTIPLYING);
        }
        show_barriers();
    }
    __syncthreads();

    if (group == MULTIPLYING) {  // the one that copies
        give_registers_back<40>();
        if (threadIdx.x != 128 * MULTIPLYING) return;
        for (unsigned int step = 0; step < steps; step++) {
            Tiles& tiles = stages[step % STAGES];
            Barrier& barrier = present[step % STAGES];
            // Every slot is free at first: the phase before the first one counts as complete.
            if (WAITS_FOR_ROOM) free[step % STAGES].wait(step / STAGES % 2 ^ 1);
            barrier.arrive_and_expect(sizeof(Tiles));
            load_tile(tiles.a, map_a, blockIdx.y * M, step * K, barrier);
            load_tile(tiles.b, map_b, blockIdx.x * N, step * K, barrier);
        }
        return;
    }
    take_registers<232>();
    float sums[N / 2] = {};
    for (unsigned int step = 0; step < steps; step++) {
        if (WAITS_FOR_TILES) present[step % STAGES].wait(step / STAGES % 2);
        const Tiles& tiles = stages[step % STAGES];
        const unsigned long long tile_a = describe(tiles.a + group * 64 * 128);
        const unsigned long long tile_b = describe(tiles.b);
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < K / 16; i++) {
            multiply<__nv_bfloat16>(sums, tile_a + i * NEXT_32_BYTES, tile_b + i * NEXT_32_BYTES);
        }
        end_products();
        if (WAITS_FOR_PRODUCTS) wait_for_products<0>();
        // One thread arrives for all four warps, whose product is one operation.
        if (threadIdx.x % 128 == 0) free[step % STAGES].arrive();
    }
    wait_for_products<0>();

    const unsigned int lane = threadIdx.x % 32;
    const unsigned int row = blockIdx.y * M + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned int i = 0; i < N / 2; i++) {
        const unsigned int down = row + i / 2 % 2 * 8;
        const unsigned int column = blockIdx.x * N + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (down < m && column < n) c[down * n + column] = __nv_bfloat16(sums[i]);
    }
}
