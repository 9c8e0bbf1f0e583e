// output[i] = a[i] + b[i], float32, float16 or bfloat16
//
// Idea: mark all data as used only once. The accesses of v1a and v2b leave data in the L2 cache
// that is not needed again. Marked as streaming (ld.global.cs, st.global.cs), it is evicted first,
// so written data is flushed to memory while loads are still in flight.
//
// Contract: any n of at least 1 in arrays of at most 32 GiB, whose packs have numbers of 32 bits;
// no shared memory. Any grid that covers n with a pack of 16 bytes per thread. The arrays may start
// anywhere, as in v2b.
//
// From: the cache hints of the PTX ISA ("Cache Operators") and the CUDA C++ Programming Guide.
//
// Measured: H200, n = 2²⁸: float32 0.937× v1a.
#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "elementwise_add/index.cuh"

extern "C" __global__ void add(const DTYPE* a, const DTYPE* b, DTYPE* output, Index n) {
    constexpr unsigned int width = Pack<DTYPE>::width;
    const Index packs = start_on_16_bytes(a, b, output) ? n / width : 0;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;

    if (thread < packs) {
        Pack<DTYPE> x = load_pack_once(a, thread);
        const Pack<DTYPE> y = load_pack_once(b, thread);
#pragma unroll
        for (int j = 0; j < width; j++) x.value[j] += y.value[j];
        store_pack_once(output, thread, x);
    }
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = packs * width + thread; i < n; i += threads) output[i] = a[i] + b[i];
}
