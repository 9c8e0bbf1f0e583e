// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: the next tiles are on their way while this one is added up. A block of v4 loads, waits, adds
// and ends, so the memory is idle while its threads compute. Here as many blocks as fit take one
// tile after another, and cp.async has two more of them under way. It also writes the zeros
// beyond the ends.
//
// Contract: any 1 <= n <= 2^30; any number of blocks, with dynamic shared memory for three tiles of
// 8 * blockDim.x + 2 * RADIUS floats. RADIUS is defined as a multiple of 4. input and output are
// 16-byte aligned, as every device allocation is. Compute capability 8.0.
//
// From: "Asynchronous Data Copies" in the CUDA C++ Programming Guide, on multi-stage pipelines.
//
// Measured: H200, n = 2²⁸: 1.049× v4.
#include "common/tile_ring.cuh"

#if !defined(RADIUS) || RADIUS % 4 != 0
#error "v5_tiles_in_flight.cu needs a radius that is a multiple of 4: -DRADIUS=16"
#endif

constexpr int FOURS = 2;  // float4 of outputs per thread and tile

extern "C" __global__ void window_sum(const float* input, float* output, int n) {
    extern __shared__ float4 memory[];
    TileRing<FOURS, RADIUS / 4, 3> ring(memory, input, n);
    for (int tile = blockIdx.x; tile < ring.tiles; tile += gridDim.x) {
        const float4* elements = ring.take();
#pragma unroll
        for (int part = 0; part < FOURS; part++) {
            const int at = part * blockDim.x + threadIdx.x;
            float v[2 * RADIUS + 4];  // output k uses v[k] to v[k + 2 * RADIUS]
            read_window(v, elements + at);
            float common = 0.0f;
#pragma unroll
            for (int j = 3; j <= 2 * RADIUS; j++) common += v[j];
            const float4 sums = make_float4(
                common + (v[0] + v[1] + v[2]), common + (v[1] + v[2] + v[2 * RADIUS + 1]),
                common + (v[2] + v[2 * RADIUS + 1] + v[2 * RADIUS + 2]),
                common + (v[2 * RADIUS + 1] + v[2 * RADIUS + 2] + v[2 * RADIUS + 3]));
            store_inside(output, 4 * (tile * FOURS * blockDim.x + at), n, sums);
        }
    }
}
