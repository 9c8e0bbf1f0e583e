// output[i] = sum over k of filter[k] * input[i + k - RADIUS], k = 0 .. 2 * RADIUS, zeros beyond
// the ends, i = 0 .. n - 1, float32
//
// Idea: the next tiles are on their way while this one is multiplied. A block of v3 loads, waits,
// multiplies and ends, so the memory is idle while its threads compute. Here as many blocks as fit
// take one tile after another, and cp.async has two more of them under way. It also writes the
// zeros beyond the ends.
//
// Contract: any 1 <= n <= 2^30; any number of blocks, with dynamic shared memory for three tiles of
// 8 * blockDim.x + 2 * RADIUS floats. RADIUS is defined as 16. input and output are 16-byte
// aligned, as every device allocation is. Compute capability 8.0.
//
// From: "Asynchronous Data Copies" in the CUDA C++ Programming Guide, on multi-stage pipelines.
//
// Measured: H200, n = 2²⁸: 1.11× v3.
#include "common/tile_ring.cuh"
#include "convolve_1d/filter.cuh"

static_assert(RADIUS % 4 == 0, "the halo is float4 too");

constexpr int FOURS = 2;  // float4 of outputs per thread and tile

extern "C" __global__ void convolve(const float* input, float* output, int n) {
    extern __shared__ float4 memory[];
    TileRing<FOURS, RADIUS / 4, 3> ring(memory, input, n);
    for (int tile = blockIdx.x; tile < ring.tiles; tile += gridDim.x) {
        const float4* elements = ring.take();
#pragma unroll
        for (int part = 0; part < FOURS; part++) {
            const int at = part * blockDim.x + threadIdx.x;
            float v[2 * RADIUS + 4];  // output k uses v[k] to v[k + 2 * RADIUS]
            read_window(v, elements + at);
            float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
            for (int k = 0; k <= 2 * RADIUS; k++) {
                sums.x += filter[k] * v[k];
                sums.y += filter[k] * v[k + 1];
                sums.z += filter[k] * v[k + 2];
                sums.w += filter[k] * v[k + 3];
            }
            store_inside(output, 4 * (tile * FOURS * blockDim.x + at), n, sums);
        }
    }
}
