// output[r][c] = softmax of row r of input; rows × cols, row by row, float32
//
// Idea: v5 for rows that are too long for a warp. The row lies in the registers of a whole block, four
// times as much as v4's threads have under way at a time, and passes through no shared memory; what
// it costs is a barrier on either side of each reduction.
//
// Contract: any rows of at least 1, and 1 <= cols <= 4 PACKS floats per thread, with a product of at
// most 2^31. A block of 32 to 1024 threads, a multiple of 32, for each row. PACKS is defined as the
// number of float4 per thread. No dynamic shared memory. input and output are 16-byte aligned, as
// every device allocation is; rows need not be. Finite input.
//
// From: Triton's fused softmax, which holds a row in the registers of a block.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: 512 µs ± 0.1 %.
#include "common/all_reduce.cuh"
#include "common/row.cuh"

#ifndef PACKS
#error "v6_block_row_in_registers.cu needs the float4 per thread at compile time: -DPACKS=4"
#endif

extern "C" __global__ void softmax(const float* input, float* output, unsigned int cols) {
    const float* x = input + blockIdx.x * cols;
    float* y = output + blockIdx.x * cols;
    const Row<4> row(blockIdx.x * cols, cols);
    const float4* x4 = reinterpret_cast<const float4*>(x + row.head);
    float4* y4 = reinterpret_cast<float4*>(y + row.head);

    // What is past the end is the lowest float: no maximum, and 0 as an exponential.
    constexpr float none = Max::identity;
    float4 v[PACKS];
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const unsigned int i = p * blockDim.x + threadIdx.x;
        v[p] = i < row.packs ? x4[i] : make_float4(none, none, none, none);
    }
    float single = threadIdx.x < row.singles ? x[row.single(threadIdx.x)] : none;

    float max = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        max = fmaxf(fmaxf(fmaxf(v[p].x, v[p].y), fmaxf(v[p].z, v[p].w)), max);
    }
    max = block_all<Max>(max);

    single = expf(single - max);
    float sum = single;
#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        v[p] = make_float4(expf(v[p].x - max), expf(v[p].y - max), expf(v[p].z - max),
                           expf(v[p].w - max));
        sum += (v[p].x + v[p].y) + (v[p].z + v[p].w);
    }
    const float scale = 1.0f / block_all<Sum>(sum);

#pragma unroll
    for (unsigned int p = 0; p < PACKS; p++) {
        const unsigned int i = p * blockDim.x + threadIdx.x;
        if (i < row.packs) {
            y4[i] = make_float4(v[p].x * scale, v[p].y * scale, v[p].z * scale, v[p].w * scale);
        }
    }
    if (threadIdx.x < row.singles) y[row.single(threadIdx.x)] = single * scale;
}
