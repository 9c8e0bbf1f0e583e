// output[i] = a[i] + b[i], float16 or bfloat16
//
// Idea: 16 bytes in one access for every type; that is eight 16-bit numbers. Nothing is assumed
// about alignment: if an array starts within 16 bytes, as a slice may, a wide access to it would be
// an error. In that case there are no packs, and the loop for leftover elements does everything:
// slower, but correct.
//
// Contract: any n of at least 1 in arrays of at most 32 GiB, whose packs have numbers of 32 bits;
// no shared memory. Any grid that covers n with eight elements per thread. The arrays may start
// anywhere.
//
// From: the vectorised elementwise kernels of PyTorch (aten/src/ATen/native/cuda/Loops.cuh), which
// choose a width by alignment.
//
// Measured: H200, n = 2²⁸: float16 1.30× v1b, bfloat16 1.30× v1b.
#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "elementwise_add/index.cuh"

extern "C" __global__ void add(const DTYPE* a, const DTYPE* b, DTYPE* output, Index n) {
    constexpr unsigned int width = Pack<DTYPE>::width;
    const Index packs = start_on_16_bytes(a, b, output) ? n / width : 0;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (thread < packs) {
        Pack<DTYPE> x = load_pack(a, thread);
        const Pack<DTYPE> y = load_pack(b, thread);
#pragma unroll
        for (int j = 0; j < width; j++) x.value[j] += y.value[j];
        store_pack(output, thread, x);
    }
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = packs * width + thread; i < n; i += threads) output[i] = a[i] + b[i];
}
