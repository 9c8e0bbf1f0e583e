// Computes in half precision; the rest of a float's precision is lost, which exceeds the bound.
// Must be refused: its result is wrong.
#include <cuda_fp16.h>

extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __half2float(__hmul(__float2half(2.0f), __float2half(x[i])));
}
