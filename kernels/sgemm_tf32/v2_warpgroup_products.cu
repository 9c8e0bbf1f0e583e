// c = a b, inputs cut to TF32, sums in float32; a is m × k, b is k × n, c is m × n, row-major
//
// Idea: the tensor cores of compute capability 9.0 are twice as fast with `wgmma`, which 128
// threads issue and which reads shared memory itself, as in gemm_bf16/v5: the tensor memory
// accelerator fills a ring of tiles, one warpgroup requests them, two multiply. But for floats it
// requires rows along k, and those of b are not. So cᵀ = bᵀ aᵀ is computed, whose first factor the
// instruction also accepts from registers: threads fetch its words from shared memory in any order.
// v4 launches the same code with tiles of 64 rows: c of 1,024 × 1,024 has 32 tiles of 256 rows, for
// 132 multiprocessors, but 128 of 64.
//
// Contract: any m >= 1, and n and k multiples of 4; tensor maps of a with boxes of 32 × M elements,
// of b with boxes of 32 × 32, and a swizzle of 128 bytes; a block of 384 threads; the grid covers c
// in tiles of M × 128 with (n, m) as its (x, y). STAGES * (128 * (M + 128) + 16) bytes of dynamic
// shared memory. Compute capability 9.0.
//
// From: "Register Fragments for wgmma.mma_async.m64nNk8" in the PTX manual; the transposed product
// is CUTLASS's answer, too.
//
// Measured: H200, m = 4,096, n = 4,096, k = 4,096: 3.02× v1.
#include "gemm_bf16/ring.cuh"
#include "transposed_products.cuh"

constexpr unsigned int N = 128;  // a block's tile is M × N
constexpr unsigned int CONSUMERS = 2, THREADS = 128 * (CONSUMERS + 1);

template <unsigned int M, unsigned int STAGES>
__global__ void __launch_bounds__(THREADS)
    sgemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
          float* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K, group = threadIdx.x / 128;
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
            load_columns(tiles.b, map_b, step * K, blockIdx.x * N, N, present);
        }
        return;
    }

    take_registers<232>();
    float sums[M / 2] = {};
    for (unsigned int step = 0; step < steps; step++, place.next()) {
        ring.present[place.index].wait(place.parity);
        multiply_transposed(sums, ring.tiles[place.index].b + group * 64 * 128,
                            ring.tiles[place.index].a);
        // One thread arrives for the whole warpgroup: a wgmma is one operation.
        if (threadIdx.x % 128 == 0) ring.free[place.index].arrive();
    }
    store_transposed(c, m, n, blockIdx.y * M, blockIdx.x * N + group * 64, sums);
}
