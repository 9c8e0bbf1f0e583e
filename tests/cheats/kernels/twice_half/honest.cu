// Honest: halves are loaded, doubled and stored as halves.
#include <cuda_fp16.h>

extern "C" __global__ void run(const __half* x, __half* y, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hadd(x[i], x[i]);
}
