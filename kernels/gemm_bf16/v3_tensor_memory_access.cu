// c = a bᵀ, sums in float32; a is m × k, b is n × k, c is m × n, row-major
//
// Idea: all threads of v2 compute addresses and request 16 bytes at a time, eight times per tile.
// Here one thread requests a whole tile from the tensor memory accelerator by its row and column.
// The unit computes the addresses, swizzles, and fills in zeros outside the matrix; an mbarrier
// signals when all bytes have arrived.
//
// Contract: any m, n >= 1, and k a multiple of 8; tensor maps of a and b with boxes of 64 × 128
// elements and a swizzle of 128 bytes; a block of 256 threads; the grid covers c in tiles of 128
// × 128 with (n, m) as its (x, y). 96 KiB and 48 bytes of dynamic shared memory. Compute capability
// 9.0.
//
// From: "Tensor Memory Access" in the CUDA C++ Programming Guide.
//
// Measured: H200, m = 8,192, n = 8,192, k = 8,192: bfloat16 1.36× v2, float16 1.40× v2.
#include "ring.cuh"
#include "warpgroup_sums.cuh"

constexpr unsigned int M = 128, N = 128;  // of a block's tile
constexpr unsigned int THREADS = 256, STAGES = 3;

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
         DTYPE* c, unsigned int m, unsigned int n, unsigned int k) {
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& ring = *reinterpret_cast<Ring<M, N, STAGES>*>(memory);
    const unsigned int steps = (k + K - 1) / K;
    const bool asks = threadIdx.x == 0;
    if (asks) ring.init(1);
    __syncthreads();

    // Requests the tiles of a step along k; past the end of k they are zeros.
    const auto load_tiles = [&](unsigned int step) {
        Tiles<M, N>& tiles = ring.tiles[step % STAGES];
        Barrier& present = ring.present[step % STAGES];
        present.arrive_and_expect(sizeof tiles);
        load_tile(tiles.a, map_a, blockIdx.y * M, step * K, present);
        load_tile(tiles.b, map_b, blockIdx.x * N, step * K, present);
    };

    for (unsigned int i = 0; asks && i < min(STAGES - 1, steps); i++) load_tiles(i);
    const unsigned int group = threadIdx.x / 128;  // each multiplies 64 of the 128 rows
    float sums[64] = {};
    Place<STAGES> place;
    for (unsigned int step = 0; step < steps; step++, place.next()) {
        ring.present[place.index].wait(place.parity);
        __syncthreads();  // all are done with the tiles before, whose place is the free one
        if (asks && step + STAGES - 1 < steps) load_tiles(step + STAGES - 1);

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
    }

    store_sums(c, m, n, blockIdx.y * M + group * 64, blockIdx.x * N, sums);
}
