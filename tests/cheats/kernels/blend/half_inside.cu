// Computes in half precision, and stays within the bound.
// Must gain nothing, and must get a remark.
#include <cuda_fp16.h>

extern "C" __global__ void run(const float* x, float* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half before = __float2half(x[i > 0 ? i - 1 : 0]),
                 after = __float2half(x[i + 1 < n ? i + 1 : i]),
                 quarter = __float2half(0.25f);
    const __half twice = __hadd(__float2half(x[i]), __float2half(x[i]));
    y[i] = __half2float(__hmul(quarter, __hadd(__hadd(before, after), twice)));
}
