// output[r][c] = softmax of row r of input; rows × cols, row by row, float32
//
// Idea: each element crosses the bus once in each direction. v3 reads the row again in its second
// pass and relies on the caches for that; here the first pass keeps it in shared memory. Each
// thread reads back only what it wrote itself, so this needs no barrier: shared memory serves as
// registers that an index can reach.
//
// Contract: any rows and cols from 1 to 2^31 - 1, as long as cols + 4 floats fit into the shared
// memory of a block, which the launch gives as dynamic shared memory. A block of 32 to 1024
// threads, a multiple of 32, for each row. input and output are 16-byte aligned, as every device
// allocation is; rows need not be. Finite input.
//
// From: PyTorch's softmax over rows, whose forward kernel has a path that keeps the row in shared
// memory.
//
// Measured: H200, rows = 2¹⁶, cols = 4,096: float32 1.01× v3 (unclear).
#include "common/row.cuh"
#include "common/running_softmax.cuh"

extern "C" __global__ void softmax(const float* input, float* output, unsigned int cols) {
    extern __shared__ float4 kept[];
    const float* x = input + row_start(blockIdx.x, cols);
    float* y = output + row_start(blockIdx.x, cols);
    const Row<4> row(row_start(blockIdx.x, cols), cols);
    const float4* x4 = reinterpret_cast<const float4*>(x + row.head);
    float4* y4 = reinterpret_cast<float4*>(y + row.head);

    Running r;
    float single = 0.0f;
    for (unsigned int i = threadIdx.x; i < row.packs; i += blockDim.x) {
        const float4 v = x4[i];
        kept[i] = v;
        r = with(r, v);
    }
    if (threadIdx.x < row.singles) {
        single = x[row.single(threadIdx.x)];
        r = with(r, single);
    }
    r = block_all(r);

    const float scale = 1.0f / r.sum;
    for (unsigned int i = threadIdx.x; i < row.packs; i += blockDim.x) {
        const float4 v = kept[i];
        y4[i] = make_float4(expf(v.x - r.max) * scale, expf(v.y - r.max) * scale,
                            expf(v.z - r.max) * scale, expf(v.w - r.max) * scale);
    }
    if (threadIdx.x < row.singles) {
        y[row.single(threadIdx.x)] = expf(single - r.max) * scale;
    }
}
