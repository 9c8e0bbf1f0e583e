// output[r][c] = softmax of row r of input; rows × cols, row by row, float32
//
// Idea: v4's row in the registers of one warp. A row that is short enough needs no block, no
// barrier and no shared memory at all: every lane loads its up to PACKS float4 at once, all of them
// in flight together, and the row is there. The maximum is known before the first exponential, so
// there is nothing to rescale and each exponential is computed once.
//
// Contract: any rows from 1 to 2^31 - 1, and 1 <= cols <= 128 * PACKS. A block is a multiple of 32
// threads, of which each warp takes one row; the grid covers the rows. PACKS is defined as the
// number of float4 per lane. No shared memory. input and output are 16-byte aligned, as every
// device allocation is; rows need not be. Finite input.
//
// From: PyTorch's persistent softmax for rows of up to 1024 elements, which keeps a row in the
// registers of a warp.
//
// Measured: not yet.
#include "common/all_reduce.cuh"
#include "common/row.cuh"

#ifndef PACKS
#error "v5_warp_row_in_registers.cu needs the float4 per lane at compile time: -DPACKS=8"
#endif

extern "C" __global__ void softmax(const float* input, float* output, unsigned int rows,
                                   unsigned int cols) {
    const unsigned int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (r >= rows) return;  // the whole warp or none of it
    const unsigned int lane = threadIdx.x % 32;
    const float* x = input + row_start(r, cols);
    float* y = output + row_start(r, cols);
    const Row<4> row(row_start(r, cols), cols);
    const float4* x4 = reinterpret_cast<const float4*>(x + row.head);
    float4* y4 = reinterpret_cast<float4*>(y + row.head);

    // What is past the end is the lowest float: no maximum, and 0 as an exponential.
    constexpr float none = Max::identity;
    float4 v[PACKS];
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const unsigned int i = 32 * p + lane;
        v[p] = i < row.packs ? x4[i] : make_float4(none, none, none, none);
    }
    float single = lane < row.singles ? x[row.single(lane)] : none;

    float max = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        max = fmaxf(fmaxf(fmaxf(v[p].x, v[p].y), fmaxf(v[p].z, v[p].w)), max);
    }
    max = warp_all<Max>(max);

    single = expf(single - max);
    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        v[p] = make_float4(expf(v[p].x - max), expf(v[p].y - max), expf(v[p].z - max),
                           expf(v[p].w - max));
        sum += (v[p].x + v[p].y) + (v[p].z + v[p].w);
    }
    const float scale = 1.0f / warp_all<Sum>(sum);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const unsigned int i = 32 * p + lane;
        if (i < row.packs) {
            y4[i] = make_float4(v[p].x * scale, v[p].y * scale, v[p].z * scale, v[p].w * scale);
        }
    }
    if (lane < row.singles) y[row.single(lane)] = single * scale;
}
